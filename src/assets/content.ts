import type { NotStored } from "./assets.ts";
import { type ByteReader, openReader, type Steps } from "./byte-reader.ts";
import { isWholeVideo } from "./video.ts";
import { type FoundImage, readJpeg, readPng, readWebp } from "./images.ts";

/** What a file is, by its bytes alone. */
export interface Content {
  readonly mediaType: (typeof MEDIA_TYPES)[Extension];
  readonly extension: Extension;
}

/** The kinds of files that are stored, by the ending of their names. */
export const MEDIA_TYPES = {
  png: "image/png",
  jpg: "image/jpeg",
  webp: "image/webp",
  mp4: "video/mp4",
} as const;
export type Extension = keyof typeof MEDIA_TYPES;

/**
 * The most bytes of one stored file. The largest images that models make are 4096 x 4096 (as PNG at most 48 MiB). The
 * largest videos are 15 s in 1080p (below 100 MB at any usual rate).
 */
export const MAX_FILE_BYTES = { image: 50 * 1024 * 1024, video: 256 * 1024 * 1024 } as const;

type Kind = keyof typeof MAX_FILE_BYTES;

const WANTED: Readonly<Record<Kind, string>> = {
  image: "a PNG, JPEG or WebP image",
  video: "an MP4 video",
};

/** Tells what a file is while its pieces arrive. */
export interface ContentCheck {
  /** Takes the next piece; a sentence once it is clear that the file is not wanted. */
  push(piece: Uint8Array): NotStored | undefined;
  /** Ends the file: what it is where it is whole and of the wanted kind, else a sentence that says what is wrong. */
  end(): Content | NotStored;
}

/**
 * Checks a file of the wanted kind by its bytes alone. An image of one pixel is refused: some providers send it in
 * place of one that they have withheld.
 */
export function openContentCheck(kind: Kind): ContentCheck {
  const reader = openReader();
  const way = readContent(reader, kind);
  let found: Content | NotStored | undefined;
  let length = 0;
  const goOn = (piece?: Uint8Array): void => {
    reader.feed(piece);
    const step = way.next();
    if (step.done === true) found = step.value;
  };
  return {
    push(piece) {
      length += piece.length;
      if (length > MAX_FILE_BYTES[kind])
        found = refuse(`The file is too large; at most ${MAX_FILE_BYTES[kind]} bytes are kept.`);
      else if (found === undefined) goOn(piece);
      return found !== undefined && "notStored" in found ? found : undefined;
    },

    end() {
      // More bytes are not needed: told of the end, the generator returns.
      while (found === undefined) goOn();
      return found;
    },
  };
}

function* readContent(file: ByteReader, kind: Kind): Steps<Content | NotStored> {
  const head = yield* file.peek(HEAD_BYTES);
  if (head.length === 0) return refuse("The file is empty.");
  const format = FORMATS.find(({ begins }) => begins(head));
  if (format === undefined || format.kind !== kind)
    return refuse(`The file is ${format?.name ?? otherName(head)}, not ${WANTED[kind]}.`);
  const wrong = yield* format.faultIn(file);
  if (wrong === "broken") return refuse(`The file begins like ${format.name}, but it is cut off or broken.`);
  if (wrong === "no size") return refuse(`The file is ${format.name} without a size.`);
  if (wrong === "one pixel") return refuse("The image has a single pixel.");
  return { mediaType: MEDIA_TYPES[format.extension], extension: format.extension };
}

/** So many bytes of its beginning tell its kind. */
const HEAD_BYTES = 512;

function refuse(notStored: string): NotStored {
  return { notStored };
}

interface Format {
  readonly name: string;
  readonly kind: Kind;
  readonly extension: Extension;
  begins(head: Uint8Array): boolean;
  /** Reads the file from its beginning, until it is clear what is wrong with it or that nothing is. */
  faultIn(file: ByteReader): Steps<Fault | undefined>;
}

type Fault = "broken" | "no size" | "one pixel";

const FORMATS: readonly Format[] = [
  {
    name: "a PNG image",
    kind: "image",
    extension: "png",
    begins: (head) => hasText(head, 0, "\u0089PNG\r\n\u001a\n"),
    faultIn: ofImage(readPng),
  },
  {
    name: "a JPEG image",
    kind: "image",
    extension: "jpg",
    begins: (head) => hasText(head, 0, "\u00ff\u00d8\u00ff"),
    faultIn: ofImage(readJpeg),
  },
  {
    name: "a WebP image",
    kind: "image",
    extension: "webp",
    begins: (head) => hasText(head, 0, "RIFF") && hasText(head, 8, "WEBP"),
    faultIn: ofImage(readWebp),
  },
  {
    name: "an MP4 video",
    kind: "video",
    extension: "mp4",
    // Other brands of these boxes are images and QuickTime, which not every browser shows.
    begins: (head) => hasText(head, 4, "ftyp") && !NO_VIDEO.has(textAt(head, 8, 4)),
    *faultIn(file) {
      return (yield* isWholeVideo(file)) ? undefined : "broken";
    },
  },
];

function ofImage(read: (file: ByteReader) => Steps<FoundImage>): Format["faultIn"] {
  return function* (file) {
    const found = yield* read(file);
    if (typeof found === "string") return found;
    return found.width === 1 && found.height === 1 ? "one pixel" : undefined;
  };
}

const NO_VIDEO: ReadonlySet<string> = new Set([
  "avif",
  "avis",
  "heic",
  "heix",
  "hevc",
  "mif1",
  "msf1",
  "qt  ",
]);

/** The name of a refused file's kind in sentences for the operator and the client; it shows no byte of the file. */
function otherName(bytes: Uint8Array): string {
  if (hasText(bytes, 0, "GIF8")) return "a GIF image";
  if (hasText(bytes, 4, "ftyp")) return "a QuickTime, HEIC or AVIF file";
  if (hasText(bytes, 0, "\u001aE\u00df\u00a3")) return "a WebM or Matroska video";
  if (hasText(bytes, 0, "BM")) return "a BMP image";
  if (hasText(bytes, 0, "%PDF")) return "a PDF document";
  const head = textAt(bytes, 0, 512)
    .replace(/^\u00ef\u00bb\u00bf/, "")
    .trimStart()
    .toLowerCase();
  if (/^(<\?xml[^>]*>\s*)?(<!--.*?-->\s*)?(<!doctype svg[^>]*>\s*)?<svg/s.test(head)) return "an SVG drawing";
  if (head.startsWith("<")) return "an HTML or XML page";
  if (head.startsWith("{") || head.startsWith("[")) return "JSON text";
  return "of no known kind";
}

function hasText(bytes: Uint8Array, at: number, text: string): boolean {
  return textAt(bytes, at, text.length) === text;
}

/** Bytes as characters of the same numbers. */
function textAt(bytes: Uint8Array, at: number, length: number): string {
  return String.fromCharCode(...bytes.subarray(at, at + length));
}
