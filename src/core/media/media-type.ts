/** Kinds of media that a request can name. */
export type MediaKind = "image" | "audio" | "video";

/** What bytes are, by the numbers at their beginning. */
interface Sniffed {
  readonly kind: MediaKind;
  readonly mediaType: string;
}

/**
 * The type of a file by its content: PNG, JPEG, GIF, WebP; MP4, QuickTime, WebM; MP3, WAV, M4A, Ogg. `undefined` for
 * anything else, also for SVG, which is a program.
 */
export function mediaTypeOf(bytes: Uint8Array): Sniffed | undefined {
  const head = String.fromCharCode(...bytes.subarray(0, 64));
  if (head.startsWith("\u0089PNG\r\n\u001a\n") && /^.{12}IHDR/s.test(head)) return image("png");
  if (head.startsWith("\u00ff\u00d8\u00ff")) return image("jpeg");
  if (/^GIF8[79]a/.test(head)) return image("gif");
  if (/^RIFF.{4}WEBP/s.test(head)) return image("webp");
  if (/^RIFF.{4}WAVE/s.test(head)) return audio("wav");
  if (/^OggS.{24,}(vorbis|OpusHead|Speex {3}|\u007fFLAC)/s.test(head)) return audio("ogg");
  const brand = /^.{4}ftyp(.{0,4})/s.exec(head)?.[1];
  if (brand !== undefined) return ofBrand(brand);
  if (head.startsWith("\u001aE\u00df\u00a3") && head.includes("webm")) return video("webm");
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

/** A header of an MPEG audio frame, layer III, without a reserved value in any field. */
function isMp3Frame(bytes: Uint8Array): boolean {
  const [sync, layer, rates] = bytes as Uint8Array & readonly [number, number, number];
  const isLayer3 = (layer & 0xe6) === 0xe2 && (layer & 0x18) !== 0x08;
  const bitrate = rates >> 4;
  return sync === 0xff && isLayer3 && bitrate !== 0 && bitrate !== 15 && (rates & 0x0c) !== 0x0c;
}
