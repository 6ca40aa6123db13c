import { expect, test } from "bun:test";
import { withoutPadding } from "./base64.ts";

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
