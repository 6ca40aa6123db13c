import { expect, test } from "bun:test";
import { attemptMs, type Moments, phasesOf } from "./phases.ts";

const RETRIED: Moments = {
  outcome: "completed",
  admitted_at: 1_000,
  held_at: 1_000.002,
  first_byte_at: 1_001.5,
  ended_at: 1_004,
  settled_at: 1_004.003,
  attempts: [
    { provider: "anthropic", sent_at: 1_000.003, status: 529 },
    { provider: "openrouter", sent_at: 1_000.75, status: 200 },
  ],
};

test("phases follow one another from admission to settlement", () => {
  const phases = phasesOf(RETRIED);
  expect(phases.map(({ name, kind, ms }) => [name, kind, ms])).toEqual([
    ["Check and hold", "gateway", 2],
    ["Prepare", "gateway", 1],
    ["Attempt 1: anthropic", "failed", 747],
    ["Attempt 2: openrouter", "waiting", 750],
    ["Answer", "answer", 2_500],
    ["Settle", "gateway", 3],
  ]);
  let end = 0;
  for (const { startMs, ms } of phases) {
    expect(startMs).toBe(end);
    end += ms;
  }
  expect(end).toBe(4_003);
});

test("a request without a first byte has no answer", () => {
  const phases = phasesOf({ ...RETRIED, first_byte_at: null, outcome: "upstream_error" });
  expect(phases.map(({ kind }) => kind)).toEqual(["gateway", "gateway", "failed", "failed", "gateway"]);
  expect(attemptMs({ ...RETRIED, first_byte_at: null })).toEqual([747, 3_250]);
});

test("a completed task has no first byte, and its last attempt did not fail", () => {
  const phases = phasesOf({ ...RETRIED, first_byte_at: null });
  expect(phases.map(({ kind }) => kind)).toEqual(["gateway", "gateway", "failed", "waiting", "gateway"]);
});

test("a request without attempts has its work in one phase", () => {
  const phases = phasesOf({ ...RETRIED, attempts: [], first_byte_at: null });
  expect(phases.map(({ name, ms }) => [name, ms])).toEqual([
    ["Check and hold", 2],
    ["Work", 3_998],
    ["Settle", 3],
  ]);
});
