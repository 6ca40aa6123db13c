import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { FAILPOINTS, noFailpoint, parseFailpoint } from "./failpoint.ts";

describe("a failpoint", () => {
  test("throws on its nth pass and on no other", () => {
    const pass = parseFailpoint("writer.before_commit:throw:3", () => {});
    const thrown = Array.from({ length: 6 }, () => {
      try {
        pass("writer.before_commit");
        return false;
      } catch {
        return true;
      }
    });
    expect(thrown).toEqual([false, false, true, false, false, false]);
  });

  test("kills once, and only at its own place", () => {
    let killed = 0;
    const pass = parseFailpoint("settle.after_commit:kill", () => void (killed += 1));
    for (const name of FAILPOINTS) if (name !== "settle.after_commit") pass(name);
    expect(killed).toBe(0);
    expect(() => pass("settle.after_commit")).toThrow("settle.after_commit");
    pass("settle.after_commit");
    expect(killed).toBe(1);
  });

  for (const text of [
    "",
    "x:throw",
    "writer.before_commit",
    "writer.before_commit:stop",
    "writer.before_commit:throw:0",
    "writer.before_commit:throw:-1",
    "writer.before_commit:throw:1.5",
    "writer.before_commit:throw:x",
  ]) {
    test(`"${text}" is refused with a sentence that names every place`, () => {
      expect(() => parseFailpoint(text, () => {})).toThrow(`The failpoint "${text}" is not`);
      expect(() => parseFailpoint(text, () => {})).toThrow(FAILPOINTS.join(", "));
    });
  }

  test("is known by its name for each place in the source, and there is a place for each name", () => {
    const source = join(import.meta.dir, "..");
    const text = readdirSync(source, { recursive: true, encoding: "utf8" })
      .filter((path) => path.endsWith(".ts") && !path.endsWith(".test.ts"))
      .map((path) => readFileSync(join(source, path), "utf8"))
      .join("");
    const passed = Array.from(text.matchAll(/\bfailpoint\("([^"]+)"\)/g), ([, name]) => name!);
    expect([...new Set(passed)].toSorted()).toEqual(FAILPOINTS.toSorted());
  });

  test("that never fires never does", () => {
    for (const name of FAILPOINTS) noFailpoint(name);
  });
});
