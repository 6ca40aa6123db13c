import { expect, test } from "bun:test";
import { writeMp4 } from "./mp4.ts";

interface Box {
  readonly type: string;
  readonly content: Uint8Array;
}

/** The boxes that stand one behind the other, from `start` on; none goes beyond the end. */
function boxesIn(bytes: Uint8Array, start = 0): readonly Box[] {
  const boxes: Box[] = [];
  for (let at = start; at < bytes.length;) {
    const length = numbersIn(bytes.subarray(at))[0]!;
    expect(length).toBeGreaterThanOrEqual(8);
    expect(at + length).toBeLessThanOrEqual(bytes.length);
    const type = new TextDecoder().decode(bytes.subarray(at + 4, at + 8));
    boxes.push({ type, content: bytes.subarray(at + 8, at + length) });
    at += length;
  }
  return boxes;
}

function numbersIn(bytes: Uint8Array): readonly number[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  return Array.from({ length: Math.floor(bytes.length / 4) }, (_, i) => view.getUint32(i * 4));
}

const FOLDERS = new Set(["moov", "trak", "mdia", "minf", "dinf", "stbl"]);

function treeOf(boxes: readonly Box[]): unknown {
  return boxes.map(({ type, content }) => (FOLDERS.has(type) ? [type, treeOf(boxesIn(content))] : type));
}

test("an MP4 file has the boxes that players look for, and an index that leads to each frame", () => {
  const frames = [4, 1, 3].map((length, i) => ({
    bytes: new Uint8Array(length).fill(i + 1),
    isKey: i !== 1,
  }));
  const file = writeMp4({
    name: "a track",
    size: { width: 640, height: 360 },
    fps: 12,
    config: new Uint8Array([7, 8]),
    frames,
  });
  const table = ["stsd", "stts", "stss", "stsc", "stsz", "stco"];
  const information = ["vmhd", ["dinf", ["dref"]], ["stbl", table]];
  const track = ["tkhd", ["mdia", ["mdhd", "hdlr", ["minf", information]]]];
  expect(treeOf(boxesIn(file))).toEqual(["ftyp", ["moov", ["mvhd", ["trak", track]]], "mdat"]);

  const found = (names: readonly string[]): Uint8Array =>
    names.reduce((within, name) => boxesIn(within).find(({ type }) => type === name)!.content, file);
  const index = (name: string): Uint8Array => found(["moov", "trak", "mdia", "minf", "stbl", name]);
  const [entry] = boxesIn(index("stsd"), 8);
  expect(entry?.type).toBe("avc1");
  expect(numbersIn(entry!.content)[6]).toBe((640 << 16) | 360);
  expect(boxesIn(entry!.content, 78)).toEqual([{ type: "avcC", content: new Uint8Array([7, 8]) }]);
  expect(numbersIn(index("stts"))).toEqual([0, 1, 3, 1]);
  expect(numbersIn(index("stss"))).toEqual([0, 2, 1, 3]);
  expect(numbersIn(index("stsc"))).toEqual([0, 1, 1, 3, 1]);
  expect(numbersIn(index("stsz"))).toEqual([0, 0, 3, 4, 1, 3]);
  const [, , begin] = numbersIn(index("stco"));
  expect([...file.subarray(begin)]).toEqual([1, 1, 1, 1, 2, 3, 3, 3]);
  // Its time goes by frames: twelve in a second, three in all.
  expect(numbersIn(found(["moov", "mvhd"])).slice(3, 5)).toEqual([12, 3]);
  expect(numbersIn(found(["moov", "trak", "mdia", "mdhd"])).slice(3, 5)).toEqual([12, 3]);
  // What is fixed stands as ISO/IEC 14496-12 has it: 8.2.2, 8.3.2, 8.4.2, 8.4.3, 12.1.2 and 12.1.3.
  const [one, identity] = [0x10000, [0x10000, 0, 0, 0, 0x10000, 0, 0, 0, 0x40000000]];
  const media = ["moov", "trak", "mdia"];
  expect(numbersIn(found(["moov", "mvhd"]))).toEqual(
    [0, 0, 0, 12, 3, one, 0x1000000, 0, 0, ...identity, 0, 0, 0, 0, 0, 0].concat(2),
  );
  expect(numbersIn(found(["moov", "trak", "tkhd"]))).toEqual(
    [3, 0, 0, 1, 0, 3, 0, 0, 0, 0, ...identity].concat(640 << 16, 360 << 16),
  );
  expect(numbersIn(found([...media, "mdhd"]))).toEqual([0, 0, 0, 12, 3, 0x55c40000]);
  const handler = found([...media, "hdlr"]);
  expect(new TextDecoder().decode(handler)).toBe(`${"\0".repeat(8)}vide${"\0".repeat(12)}a track\0`);
  expect(numbersIn(found([...media, "minf", "vmhd"]))).toEqual([1, 0, 0]);
  const references = found([...media, "minf", "dinf", "dref"]);
  expect(numbersIn(references).slice(0, 2)).toEqual([0, 1]);
  expect(boxesIn(references, 8)).toEqual([{ type: "url ", content: new Uint8Array([0, 0, 0, 1]) }]);
  expect(numbersIn(index("stsd")).slice(0, 2)).toEqual([0, 1]);
  expect(numbersIn(entry!.content.slice(0, 76))).toEqual(
    [0, 1, 0, 0, 0, 0, (640 << 16) | 360, 0x480000, 0x480000, 0, one, 0, 0, 0, 0, 0, 0, 0].concat(24),
  );
  expect([...entry!.content.subarray(76, 78)]).toEqual([255, 255]);
  const [type] = boxesIn(file);
  expect(new TextDecoder().decode(type!.content)).toBe("isom\0\0\u0002\0isomiso2avc1mp41");
});
