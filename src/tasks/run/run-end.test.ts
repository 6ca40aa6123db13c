import { describe, expect, test } from "bun:test";
import { completed, RELEASED } from "../../../test/tasks/station.ts";
import { type RunEnd, runEnd, type JobResult } from "./run-end.ts";
import type { TaskOutcome, TaskStop } from "./job.ts";

const FAILED: TaskOutcome = {
  kind: "failed",
  failure: { type: "content_moderation", message: "no" },
  unfinished: false,
};
const COMPLETED = completed();

/** The end in one word: its kind, or why it failed and whether a loss is booked. */
function word(end: RunEnd): string {
  return end.kind === "failed" ? `${end.failure.type}${end.unfinished ? ", at a loss" : ""}` : end.kind;
}

const results: readonly (readonly [string, JobResult])[] = [
  ["completed", { outcome: COMPLETED }],
  ["failed", { outcome: FAILED }],
  ["released", { outcome: RELEASED }],
  ["rejected", { error: new Error("x") }],
  ["hung", "hung"],
];

describe("how a run ends", () => {
  const table: Readonly<Record<TaskStop["reason"] | "nothing", readonly string[]>> = {
    //           completed    failed                released                     rejected                      hung
    nothing: [
      "completed",
      "content_moderation",
      "released",
      "generation_error, at a loss",
      "generation_error, at a loss",
    ],
    deadline: [
      "completed",
      "timeout_error",
      "timeout_error, at a loss",
      "timeout_error, at a loss",
      "timeout_error, at a loss",
    ],
    client_gone: [
      "completed",
      "content_moderation",
      "generation_error, at a loss",
      "generation_error, at a loss",
      "generation_error, at a loss",
    ],
    shutdown: ["completed", "content_moderation", "released", "released", "released"],
    lost: ["completed", "lost", "lost", "lost", "lost"],
  };
  for (const stopped of ["deadline", "client_gone", "shutdown", "lost", undefined] as const) {
    results.forEach(([name, result], i) => {
      if (stopped === undefined && result === "hung") return;
      const want = table[stopped ?? "nothing"][i];
      test(`stopped by ${stopped ?? "nothing"}, a job that ${name} ends it as ${want}`, () => {
        expect(word(runEnd(result, { stopped, mayBeBegun: true, timeoutSec: 60, timeline: undefined }))).toBe(
          want!,
        );
      });
    });
  }

  test("the part that a job says is lost stays, also at the deadline", () => {
    const lost = { ...FAILED, unfinished: true, share: { parts: 1, of: 3 } };
    for (const stopped of ["deadline", undefined] as const)
      expect(
        runEnd({ outcome: lost }, { stopped, mayBeBegun: true, timeoutSec: 60, timeline: undefined }),
      ).toMatchObject({ unfinished: true, share: { parts: 1, of: 3 } });
  });

  test("nothing is lost where no provider was sent the task", () => {
    for (const stopped of ["deadline", "client_gone", undefined] as const)
      expect(
        runEnd({ error: "x" }, { stopped, mayBeBegun: false, timeoutSec: 60, timeline: undefined }),
      ).toMatchObject({
        kind: "failed",
        unfinished: false,
      });
  });

  test("what went wrong within the gateway is not told to the client", () => {
    const end = runEnd(
      { error: new Error("secret") },
      { stopped: undefined, mayBeBegun: true, timeoutSec: 60, timeline: undefined },
    );
    expect(JSON.stringify(end)).not.toContain("secret");
  });

  const { timeline } = COMPLETED as Extract<TaskOutcome, { kind: "completed" }>;
  for (const [name, result] of results) {
    if (name === "completed") continue;
    test(`a run that its deadline ended keeps what its job told of it: one that ${name}`, () => {
      const end = runEnd(result, { stopped: "deadline", mayBeBegun: true, timeoutSec: 60, timeline });
      expect(end).toMatchObject({ timeline, unfinished: name !== "failed" });
    });
  }
});
