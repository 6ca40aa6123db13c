import { expect, test } from "bun:test";
import { compileSchema } from "../core/schema.ts";
import { readResponseSection, ResponseSection } from "./settings.ts";

const MIB = 1024 * 1024;

test("answers are kept for a day, in 256 MiB of an account, unless the settings say otherwise", () => {
  expect(readResponseSection({})).toEqual({ keptMs: 86_400_000, mostBytes: 256 * MIB });
  expect(readResponseSection({ kept_hours: 0.5, kept_mib_per_account: 3 })).toEqual({
    keptMs: 1_800_000,
    mostBytes: 3 * MIB,
  });
  expect(readResponseSection({ kept_hours: 0 }).keptMs).toBe(0);
});

test("the section has its bounds: a year, and a TiB", () => {
  const section = compileSchema(ResponseSection);
  for (const taken of [
    {},
    { kept_hours: 0 },
    { kept_hours: 8_760 },
    { kept_mib_per_account: 1 },
    { kept_mib_per_account: 1_048_576 },
  ])
    expect([taken, section.accepts(taken)]).toEqual([taken, true]);
  for (const refused of [
    { kept_hours: -1 },
    { kept_hours: 8_760.5 },
    { kept_mib_per_account: 0 },
    { kept_mib_per_account: 1.5 },
    { kept_mib_per_account: 1_048_577 },
    { other: 1 },
  ])
    expect([refused, section.accepts(refused)]).toEqual([refused, false]);
});
