import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { mediaTypeOf } from "./media-type.ts";

/** Bytes of text whose characters are below 256. */
const of = (text: string): Uint8Array => Uint8Array.from(text, (letter) => letter.charCodeAt(0));
const rest = "\u0000".repeat(64);

const KNOWN: readonly (readonly [string, string])[] = [
  ["\u0089PNG\r\n\u001a\n\u0000\u0000\u0000\rIHDR", "image/png"],
  ["\u00ff\u00d8\u00ff\u00e0", "image/jpeg"],
  ["\u00ff\u00d8\u00ff\u00db", "image/jpeg"],
  ["GIF87a", "image/gif"],
  ["GIF89a", "image/gif"],
  ["RIFF\u0010\u0000\u0000\u0000WEBPVP8 ", "image/webp"],
  ["RIFF\u0010\u0000\u0000\u0000WAVEfmt ", "audio/wav"],
  [`OggS${"\u0000".repeat(24)}\u0001vorbis`, "audio/ogg"],
  [`OggS${"\u0000".repeat(24)}OpusHead`, "audio/ogg"],
  ["ID3\u0004\u0000", "audio/mpeg"],
  ["\u00ff\u00fb\u0090\u0064", "audio/mpeg"],
  ["\u00ff\u00f3\u0040\u00c4", "audio/mpeg"],
  ["\u0000\u0000\u0000\u0020ftypM4A ", "audio/mp4"],
  ["\u0000\u0000\u0000\u0020ftypisom", "video/mp4"],
  ["\u0000\u0000\u0000\u0018ftypmp42", "video/mp4"],
  ["\u0000\u0000\u0000\u0014ftypqt  ", "video/quicktime"],
  ["\u001aE\u00df\u00a3\u009fB\u0086\u0081\u0001B\u0082\u0084webm", "video/webm"],
  [`\u001aE\u00df\u00a3${"\u0000".repeat(56)}webm`, "video/webm"],
];

describe("the beginning of a file tells what it is:", () => {
  for (const [head, mediaType] of KNOWN) {
    test(`${JSON.stringify(head.slice(0, 16))} is ${mediaType}`, () => {
      expect(mediaTypeOf(of(head + rest))).toEqual({ kind: expect.any(String), mediaType });
      expect(mediaTypeOf(of(head + rest))?.kind).toBe(mediaType.split("/")[0] as "image");
    });
  }
});

describe("none of ours:", () => {
  const other: readonly (readonly [string, string])[] = [
    ["nothing", ""],
    ["SVG", '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'],
    ["SVG behind its declaration", '<?xml version="1.0"?><svg/>'],
    ["a page", "<!doctype html><html>"],
    ["JSON", '{"a":1}'],
    ["PDF", "%PDF-1.7"],
    ["a PNG without its header", "\u0089PNG\r\n\u001a\n\u0000\u0000\u0000\rIDAT"],
    ["a PNG's header behind something else", `${"\u0000".repeat(12)}IHDR`],
    ["ZIP", "PK\u0003\u0004"],
    ["gzip", "\u001f\u008b\u0008"],
    ["ELF", "\u007fELF"],
    ["BMP", "BM\u0000\u0000"],
    ["TIFF", "II*\u0000"],
    ["AVIF", "\u0000\u0000\u0000\u0020ftypavif"],
    ["HEIC", "\u0000\u0000\u0000\u0020ftypheic"],
    ["Matroska", `\u001aE\u00df\u00a3\u009fB\u0086\u0081\u0001B\u0082\u0088matroska`],
    ["WebM said behind the first 64 bytes", `\u001aE\u00df\u00a3${"\u0000".repeat(57)}webm`],
    ["AVI", "RIFF\u0010\u0000\u0000\u0000AVI LIST"],
    ["a video in Ogg", `OggS${"\u0000".repeat(24)}\u0080theora`],
    ["AAC", "\u00ff\u00f1\u0050\u0080"],
    ["MPEG audio of another layer", "\u00ff\u00fd\u0090\u0064"],
    ["MPEG audio of no rate, padded and private", "\u00ff\u00fb\u009f\u0064"],
    ["MPEG audio of no rate, private", "\u00ff\u00fb\u009d\u0064"],
    ["MPEG audio of no bit rate", "\u00ff\u00fb\u0000\u0064"],
    ["MPEG audio of a bit rate that is none", "\u00ff\u00fb\u00f0\u0064"],
    ["MPEG audio of no version", "\u00ff\u00eb\u0090\u0064"],
    ["UTF-16", "\u00ff\u00fea\u0000"],
    ["all ones", "\u00ff\u00ff\u00ff\u00ff"],
    ["PNG that lost its line ends", "\u0089PNG\n\u001a\n\u0000\u0000\u0000\rIHDR"],
  ];
  for (const [name, head] of other)
    test(name, () => expect(mediaTypeOf(of(head === "" ? "" : head + rest))).toBeUndefined());

  test("whatever the bytes, and however few, it has an answer", () => {
    fc.assert(fc.property(fc.uint8Array({ maxLength: 80 }), (bytes) => void mediaTypeOf(bytes)));
    for (const [head] of KNOWN) for (let i = 0; i < head.length; i += 1) mediaTypeOf(of(head.slice(0, i)));
  });
});
