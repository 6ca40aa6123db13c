import { describe, expect, test } from "bun:test";
import { GatewayError } from "../core/errors.ts";
import { readInput, readLink } from "./media-inputs.ts";

const refusalOf = (read: () => unknown): [kind: string, param: string | undefined] | undefined => {
  try {
    read();
    return undefined;
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    return [error.kind, error.param];
  }
};

describe("what is given to an order of media", () => {
  test("is a link of 8,192 characters, and not of one more", () => {
    const link = (length: number): string => "https://a.example/".padEnd(length, "x");
    for (const read of [readLink, (value: string, path: string) => readInput(value, "video", path)]) {
      expect(refusalOf(() => read(link(8_192), "a"))).toBeUndefined();
      expect(refusalOf(() => read(link(8_193), "a"))).toEqual(["invalid_request_error", "a"]);
    }
  });

  test("is an image of 50 million pixels, and not of one more", () => {
    const png = (width: number, height: number): string => {
      const bytes = Buffer.alloc(33);
      bytes.write("\u0089PNG\r\n\u001a\n\0\0\0\rIHDR", "latin1");
      bytes.writeUInt32BE(width, 16);
      bytes.writeUInt32BE(height, 20);
      return bytes.toString("base64");
    };
    expect(refusalOf(() => readInput(png(10_000, 5_000), "image", "a"))).toBeUndefined();
    expect(refusalOf(() => readInput(png(50_000_001, 1), "image", "a"))).toEqual(["input_too_large", "a"]);
  });
});
