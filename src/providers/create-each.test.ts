import { describe, expect, test } from "bun:test";
import { GatewayError } from "../core/errors.ts";
import { noteBegun, refusedTogether } from "./create-each.ts";
import type { BegunParts, MediaRefusal, MediaStep } from "./media.ts";

// Several calls for one task, none of which made anything: what they come to together, in whichever order they ended.

type End = MediaStep | Error;

const refused = (reason: MediaRefusal["reason"], status: number): MediaStep => ({
  state: "refused",
  refusal: { reason, status, message: "" },
});
const broken = (code: string): GatewayError =>
  new GatewayError("upstream_error", code, { cause: Object.assign(new Error("no"), { code }) });

const ENDS = {
  redirect: refused("operator_fault", 307),
  locked: refused("operator_fault", 403),
  busy: refused("busy", 429),
  beyond: refused("beyond_limit", 429),
  unclear: refused("unclear", 500),
  blocked: refused("moderation", 400),
  silent: new GatewayError("timeout_error", "silent"),
  reset: broken("ECONNRESET"),
  unreached: broken("ECONNREFUSED"),
  untrusted: broken("CERT_HAS_EXPIRED"),
  ours: new GatewayError("overloaded_error", "ours"),
  made: { state: "done", outputs: [] },
  begun: { state: "working", job: "j" },
} as const satisfies Readonly<Record<string, End>>;
type Name = keyof typeof ENDS;

/** What is told of them: the refusal and its status, with a mark where a part may have begun, or the error. */
function together(names: readonly Name[]): string {
  const ends: readonly End[] = names.map((name) => ENDS[name]);
  const broke = ends.filter((end) => end instanceof Error);
  const steps = ends.filter((end): end is MediaStep => !(end instanceof Error));
  try {
    const step = refusedTogether({ steps, broken: broke });
    if (step.state !== "refused") return step.state;
    const { reason, status, mayBeBegun } = step.refusal;
    return `${reason} ${status}${mayBeBegun === true ? ", may have begun" : ""}`;
  } catch (error) {
    return `broke: ${Object.entries(ENDS).find(([, end]) => end === error)?.[0]}`;
  }
}

const DOUBTED = "operator_fault 307, may have begun";
const ROWS: readonly (readonly [Name, Name, string])[] = [
  // A redirect ends the task: its server has the request, and may have begun.
  ["redirect", "locked", DOUBTED],
  ["redirect", "busy", DOUBTED],
  ["redirect", "unclear", DOUBTED],
  ["redirect", "reset", DOUBTED],
  ["redirect", "unreached", DOUBTED],
  ["redirect", "untrusted", DOUBTED],
  ["redirect", "blocked", "moderation 400, may have begun"],
  // What may have begun is told of before what surely has not: nothing is sent to another provider then.
  ["unclear", "locked", "unclear 500"],
  ["unclear", "busy", "unclear 500"],
  ["unclear", "beyond", "unclear 500"],
  ["unclear", "unreached", "unclear 500"],
  ["unclear", "untrusted", "unclear 500"],
  ["unclear", "ours", "unclear 500"],
  ["unclear", "blocked", "moderation 400, may have begun"],
  ["reset", "locked", "broke: reset"],
  ["reset", "unreached", "broke: reset"],
  ["reset", "untrusted", "broke: reset"],
  ["reset", "ours", "broke: reset"],
  ["reset", "blocked", "moderation 400, may have begun"],
  ["silent", "unreached", "broke: silent"],
  ["silent", "busy", "broke: silent"],
  // Nothing has begun.
  ["locked", "busy", "operator_fault 403"],
  ["beyond", "busy", "beyond_limit 429"],
  ["beyond", "locked", "operator_fault 403"],
  ["locked", "unreached", "broke: unreached"],
  ["busy", "unreached", "broke: unreached"],
  ["busy", "ours", "broke: ours"],
  ["blocked", "locked", "moderation 400"],
  ["blocked", "unreached", "moderation 400"],
];

describe("of two calls for one task", () => {
  for (const [one, other, want] of ROWS)
    test(`${one} beside ${other} is ${want}`, () => {
      expect(together([one, other])).toBe(want);
      expect(together([other, one])).toBe(want);
    });
});

/** The parts that are noted as begun. */
function begunOf(names: readonly Name[]): BegunParts | undefined {
  const ends: readonly End[] = names.map((name) => ENDS[name]);
  let noted: BegunParts | undefined;
  const end = {
    steps: ends.filter((end): end is MediaStep => !(end instanceof Error)),
    broken: ends.filter((end) => end instanceof Error),
  };
  noteBegun(end, { noteBegun: (parts) => void (noted = parts) });
  return noted;
}

describe("parts that have begun, or may have, are counted", () => {
  const surely: readonly Name[] = ["made", "begun"];
  const maybe: readonly Name[] = ["redirect", "unclear", "silent", "reset"];
  const not = (Object.keys(ENDS) as Name[]).filter((name) => ![...surely, ...maybe].includes(name));
  for (const name of surely)
    test(`${name} has, beside what surely has not`, () =>
      expect(begunOf([...not, name, name])).toEqual({ surely: 2, maybe: 0 }));
  for (const name of maybe)
    test(`${name} may have, beside what surely has not`, () =>
      expect(begunOf([name, ...not])).toEqual({ surely: 0, maybe: 1 }));

  test("none is noted where nothing has begun", () => expect(begunOf(not)).toBeUndefined());
  test("all are, where all may have", () =>
    expect(begunOf([...surely, ...maybe])).toEqual({ surely: surely.length, maybe: maybe.length }));
});

test("of many calls a single one that may have begun counts", () => {
  expect(together(["locked", "busy", "unreached", "reset"])).toBe("broke: reset");
  expect(together(["busy", "busy", "locked", "redirect"])).toBe(DOUBTED);
});
