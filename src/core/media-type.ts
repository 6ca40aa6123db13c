/** Kinds of media that a request can name. */
export type MediaKind = "image" | "audio" | "video";

/** What bytes are, by the numbers at their beginning. */
interface Sniffed {
  readonly kind: MediaKind;
  readonly mediaType: string;
}

/**
 * What a file is, by its content: PNG, JPEG, GIF, WebP; MP4, QuickTime, WebM; MP3, WAV, M4A, Ogg. `undefined` for
 * anything else, SVG among it, which is a program.
 */
export function mediaTypeOf(bytes: Uint8Array): Sniffed | undefined {
  const text = (from: number, to: number): string => String.fromCharCode(...bytes.subarray(from, to));
  const head = text(0, 4);
  if (head === "\u0089PNG" && text(4, 16).startsWith("\r\n\u001a\n") && text(12, 16) === "IHDR")
    return image("png");
  if (head.startsWith("\u00ff\u00d8\u00ff")) return image("jpeg");
  if (head === "GIF8" && /^[79]a$/.test(text(4, 6))) return image("gif");
  if (head === "RIFF" && text(8, 12) === "WEBP") return image("webp");
  if (head === "RIFF" && text(8, 12) === "WAVE") return audio("wav");
  if (head === "OggS" && /vorbis|OpusHead|Speex {3}|\u007fFLAC/.test(text(28, 64))) return audio("ogg");
  if (text(4, 8) === "ftyp") return ofBrand(text(8, 12));
  if (head === "\u001aE\u00df\u00a3" && text(4, 64).includes("webm")) return video("webm");
  if (head.startsWith("ID3") || isMp3Frame(bytes)) return audio("mpeg");
  return undefined;
}

const image = (name: string): Sniffed => ({ kind: "image", mediaType: `image/${name}` });
const audio = (name: string): Sniffed => ({ kind: "audio", mediaType: `audio/${name}` });
const video = (name: string): Sniffed => ({ kind: "video", mediaType: `video/${name}` });

/** Brands of the one container of videos, audio and images; HEIF and AVIF images are none of ours. */
function ofBrand(brand: string): Sniffed | undefined {
  if (brand === "qt  ") return video("quicktime");
  if (/^M4[ABP] $/.test(brand)) return audio("mp4");
  return /^(iso[m2-9]|mp4[12]|avc1|av01|hvc1|hev1|dash|cmf[c2s]|M4V[ HP]|MSNV|F4V |f4v |3gp\w|3g2\w)$/.test(
    brand,
  )
    ? video("mp4")
    : undefined;
}

/** The header of a frame of MPEG audio, layer III, none of whose fields has a value that is not given out. */
function isMp3Frame(bytes: Uint8Array): boolean {
  const [sync = 0, layer = 0, rates = 0] = bytes;
  const isLayer3 = (layer & 0xe6) === 0xe2 && (layer & 0x18) !== 0x08;
  const bitrate = rates >> 4;
  return sync === 0xff && isLayer3 && bitrate !== 0 && bitrate !== 15 && (rates & 0x0c) !== 0x0c;
}
