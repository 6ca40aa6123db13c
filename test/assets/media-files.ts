import { deflateSync } from "node:zlib";

/** A whole PNG image of this size. The same `shade` gives the same bytes. */
export function pngFile(width = 24, height = 16, shade = 120): Uint8Array {
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  // 8 bits, grey.
  head.set([8, 0, 0, 0, 0], 8);
  const rows = Buffer.alloc((width + 1) * height, shade);
  for (let row = 0; row < height; row += 1) rows[row * (width + 1)] = 0;
  return concat([
    Buffer.from("\u0089PNG\r\n\u001a\n", "latin1"),
    pngChunk("IHDR", head),
    pngChunk("IDAT", deflateSync(rows)),
    pngChunk("IEND", new Uint8Array()),
  ]);
}

/** A chunk of a PNG file with its length and checksum. */
export function pngChunk(type: string, data: Uint8Array): Uint8Array {
  const body = concat([Buffer.from(type, "latin1"), data]);
  return concat([uint32(data.length), body, uint32(Bun.hash.crc32(body))]);
}

const fromBase64 = (text: string): Uint8Array => new Uint8Array(Buffer.from(text, "base64"));

/** 24 x 16, coded in one scan. */
export const JPEG_FILE = fromBase64(
  "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDABsSFBcUERsXFhceHBsgKEIrKCUlKFE6PTBCYFVlZF9VXVtqeJmBanGQc1tdhbWGkJ6jq62rZ4C8ybqmx5moq6T/2wBDARweHigjKE4rK06kbl1upKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKT/wAARCAAQABgDASIAAhEBAxEB/8QAHwAAAQUBAQEBAQEAAAAAAAAAAAECAwQFBgcICQoL/8QAtRAAAgEDAwIEAwUFBAQAAAF9AQIDAAQRBRIhMUEGE1FhByJxFDKBkaEII0KxwRVS0fAkM2JyggkKFhcYGRolJicoKSo0NTY3ODk6Q0RFRkdISUpTVFVWV1hZWmNkZWZnaGlqc3R1dnd4eXqDhIWGh4iJipKTlJWWl5iZmqKjpKWmp6ipqrKztLW2t7i5usLDxMXGx8jJytLT1NXW19jZ2uHi4+Tl5ufo6erx8vP09fb3+Pn6/8QAHwEAAwEBAQEBAQEBAQAAAAAAAAECAwQFBgcICQoL/8QAtREAAgECBAQDBAcFBAQAAQJ3AAECAxEEBSExBhJBUQdhcRMiMoEIFEKRobHBCSMzUvAVYnLRChYkNOEl8RcYGRomJygpKjU2Nzg5OkNERUZHSElKU1RVVldYWVpjZGVmZ2hpanN0dXZ3eHl6goOEhYaHiImKkpOUlZaXmJmaoqOkpaanqKmqsrO0tba3uLm6wsPExcbHyMnK0tPU1dbX2Nna4uPk5ebn6Onq8vP09fb3+Pn6/9oADAMBAAIRAxEAPwDGS39qsJbe1Xo7f2q1Hbe1YwfMZ0sQZ6WvtRWwsAXjGTRTcqUXZs9KGIdj/9k=",
);

/** The same image, coded in several scans. */
export const PROGRESSIVE_JPEG_FILE = fromBase64(
  "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDABsSFBcUERsXFhceHBsgKEIrKCUlKFE6PTBCYFVlZF9VXVtqeJmBanGQc1tdhbWGkJ6jq62rZ4C8ybqmx5moq6T/2wBDARweHigjKE4rK06kbl1upKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKT/wgARCAAQABgDASIAAhEBAxEB/8QAFgABAQEAAAAAAAAAAAAAAAAAAwQA/8QAFgEBAQEAAAAAAAAAAAAAAAAAAgAE/9oADAMBAAIQAxAAAAGJHUGfWa0//8QAGBABAAMBAAAAAAAAAAAAAAAAAAECEhH/2gAIAQEAAQUCyyyiqKuP/8QAFxEAAwEAAAAAAAAAAAAAAAAAAAEDAv/aAAgBAwEBPwHNBUP/xAAYEQACAwAAAAAAAAAAAAAAAAAAAQIRIf/aAAgBAgEBPwFaXFH/xAAUEAEAAAAAAAAAAAAAAAAAAAAg/9oACAEBAAY/Al//xAAXEAEBAQEAAAAAAAAAAAAAAAABABAR/9oACAEBAAE/ISENgc3/2gAMAwEAAgADAAAAEPPv/8QAFhEBAQEAAAAAAAAAAAAAAAAAAAER/9oACAEDAQE/EFbH/8QAFhEBAQEAAAAAAAAAAAAAAAAAAQAR/9oACAECAQE/EHFWLf/EABgQAQEBAQEAAAAAAAAAAAAAAABhAREh/9oACAEBAAE/EJJpIIsfHO6//9k=",
);

/** The same image with loss. */
export const WEBP_FILE = fromBase64(
  "UklGRmgAAABXRUJQVlA4IFwAAADwAwCdASoYABAAPzmKulO0qaWisAgCkCcJbACdMoRwAIToyWAWXtYAAP75LtJSGsGrtS7JPUOFI7Ua67udjvbBavHOhjkGvG2VWrwsUllbvNH3cnNSbV9vrMAAAA==",
);

/** The same image without loss. */
export const LOSSLESS_WEBP_FILE = fromBase64(
  "UklGRkgAAABXRUJQVlA4TDsAAAAvF8ADALkyRPQ/FuNf/+h/JA4jbSPVwft3fPDh4CgobhtJzS3vHn/5YgIS1wfB9ReQRmj8DYVZEwavCgA=",
);

/** The boxes of an MP4 file with one track; its data is not video that plays. */
export function mp4File(
  options: { readonly handler?: string; readonly dataBytes?: number } = {},
): Uint8Array {
  const { handler = "vide", dataBytes = 1_000 } = options;
  return concat([
    FILE_TYPE,
    mp4Box(
      "moov",
      mp4Box("mvhd", new Uint8Array(100)),
      mp4Box(
        "trak",
        mp4Box("tkhd", new Uint8Array(84)),
        mp4Box("mdia", mp4Box("hdlr", new Uint8Array(8), latin1(handler), new Uint8Array(13))),
      ),
    ),
    mp4Box("mdat", new Uint8Array(dataBytes).fill(7)),
  ]);
}

/** A box of an MP4 file around its contents. */
export function mp4Box(type: string, ...contents: readonly Uint8Array[]): Uint8Array {
  const content = concat(contents);
  return concat([uint32(content.length + 8), latin1(type), content]);
}

/** What stands first in an MP4 file. */
export const FILE_TYPE = mp4Box("ftyp", latin1("isom\u0000\u0000\u0002\u0000isomiso2avc1mp41"));

/** The bytes of all parts, one behind the other. */
export function concat(parts: readonly Uint8Array[]): Uint8Array {
  return new Uint8Array(Buffer.concat(parts));
}

function latin1(text: string): Uint8Array {
  return new Uint8Array(Buffer.from(text, "latin1"));
}

function uint32(value: number): Uint8Array {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}
