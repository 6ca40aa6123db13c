import { expect, test } from "bun:test";
import { standardBase64, withoutPadding } from "./base64.ts";

test("padding goes, however much of it there is, and nothing else", () => {
  for (const [text, bare] of [
    ["", ""],
    ["AAAA", "AAAA"],
    ["AA==", "AA"],
    ["A=A=", "A=A"],
    ["====", ""],
    [`${"=".repeat(100_000)}A`, `${"=".repeat(100_000)}A`],
  ] as const)
    expect(withoutPadding(text)).toBe(bare);
});

test("base64 of any writing comes out in the standard alphabet, padded", () => {
  for (const [text, standard] of [
    ["QUJD", "QUJD"],
    ["QUI", "QUI="],
    ["QQ", "QQ=="],
    ["QQ==", "QQ=="],
    ["QUJDREVGRw", "QUJDREVGRw=="],
    ["-_-_", "+/+/"],
    ["%2B%2fAA", "+/AA"],
    ["QQ%3D%3D", "QQ=="],
    [' "QUJD" ', "QUJD"],
  ] as const)
    expect(standardBase64(text)).toBe(standard);
});

test("what is no base64 has no standard form", () => {
  for (const text of ["", "=", "Q", "QUJDR", "QU JD", "QU.D", '"QUJD'])
    expect(standardBase64(text)).toBeUndefined();
});
