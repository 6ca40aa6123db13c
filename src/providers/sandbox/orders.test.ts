import { describe, expect, test } from "bun:test";
import type { Refusal } from "./formats/ask.ts";
import { readOrders } from "./orders.ts";

function refusalOf(read: () => unknown): string {
  try {
    read();
    return "";
  } catch (error) {
    return (error as Refusal).message;
  }
}

describe("a number is taken at the ends of its range, and not beyond", () => {
  for (const [key, least, most] of [
    ["delay_ms", 0, 600_000],
    ["tokens", 1, 100_000],
    ["speed", 0.1, 1_000_000],
  ] as const)
    test(key, () => {
      const refused = `The header x-sandbox is not valid: ${key} must be a number from ${least} to ${most}.`;
      for (const good of [least, most])
        expect(Object.values(readOrders(`${key}=${good}`, "language"))).toContain(good);
      for (const bad of [least === 0 ? "-1" : least / 2, most + 1, "x", ""])
        expect(refusalOf(() => readOrders(`${key}=${bad}`, "language"))).toBe(refused);
    });

  for (const [key, most, order] of [
    ["pending_ms", 3_600_000, ""],
    ["running_ms", 3_600_000, ""],
    ["images", 4, "fail=partial;"],
  ] as const)
    test(key, () => {
      for (const good of [0, most])
        expect(Object.values(readOrders(`${order}${key}=${good}`, "image"))).toContain(good);
      expect(refusalOf(() => readOrders(`${order}${key}=${most + 1}`, "image"))).toEndWith(
        `${key} must be a number from 0 to ${most}.`,
      );
    });
});

test("what is not known is told by its first 64 characters, without what no header may have", () => {
  for (const [word, told] of [
    ["x".repeat(64), "x".repeat(64)],
    ["x".repeat(65), "x".repeat(64)],
    ["caf\u00e9\u0007", "caf??"],
  ] as const) {
    expect(refusalOf(() => readOrders(word, "language"))).toContain(`"${told}" is no key of it;`);
    expect(refusalOf(() => readOrders(`fail=${word}`, "language"))).toEndWith(`, not "${told}".`);
  }
});
