import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { dataUriBytes, isDataUri, readDataUri } from "./data-uri.ts";

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

describe("a data URI", () => {
  const read: readonly { readonly uri: string; readonly type: string; readonly text: string }[] = [
    { uri: "data:image/png;base64,aGVsbG8=", type: "image/png", text: "hello" },
    { uri: "DATA:Image/PNG;BASE64,aGVsbG8=", type: "image/png", text: "hello" },
    { uri: "data:image/png;a=b;thought_signature=x/y;base64,aGk=", type: "image/png", text: "hi" },
    { uri: "data:;base64,aGkh", type: "", text: "hi!" },
    { uri: "data:image/png;base64,", type: "image/png", text: "" },
  ];
  for (const { uri, type, text } of read) {
    test(`${uri} is read`, () => {
      expect(isDataUri(uri)).toBe(true);
      expect(readDataUri(uri)).toEqual({ mediaType: type, bytes: bytes(text) });
    });
  }

  const refused = [
    "data:image/png;base64",
    "data:image/png;base64A",
    "data:image/png,aGk=",
    "data:image/png;base64;x,aGk=",
    "data:image/png;base64,aGk",
    "data:image/png;base64,aGl=",
    "data:image/png;base64,a-_=",
    "data:image/png;base64,aG k",
    "data:image/png;base64,aG    k=",
    "data:image/png;base64,aG\nk=",
    "data:image/png;base64,aGk%3D",
    "data:image/png;base64,aGk=aGk=",
    "data:image/png;base64,====",
    "data:image/png;base64,é",
    "data:image/png;base64,aGk=\u0000",
    "",
    ",",
    "aGk=",
    "https://a.example/;base64,aGk=",
  ];
  for (const uri of refused)
    test(`${JSON.stringify(uri)} is not`, () => expect(readDataUri(uri)).toBeUndefined());

  test("gives back every byte, and tells before how many they may be", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 100 }), (data) => {
        const uri = `data:a/b;base64,${data.toBase64()}`;
        expect(readDataUri(uri)?.bytes).toEqual(data);
        expect(dataUriBytes(uri)).toBeGreaterThanOrEqual(data.length);
        expect(dataUriBytes(uri)).toBeLessThan(data.length + 3);
      }),
    );
  });
});
