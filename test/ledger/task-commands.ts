import type {
  AttemptTask,
  CancelTask,
  ClaimTask,
  FailTask,
  FinishTask,
  ForgetFiles,
  NoteJob,
  NoteRefusal,
  ReleaseTask,
  RenewTask,
  SubmitTask,
} from "../../src/ledger/task-commands.ts";

/** When tasks of tests are over, unless told otherwise; their commands come long before. */
export const DEADLINE_MS = 1_000_000;

/** A result as a job might give it. */
export const RESULT = JSON.stringify({ createdSec: 1, files: [] });

/** Commands on tasks of the test's own account `a` and key `k`; the task `x` has the hold `x-hold`. */
export interface TaskCommands {
  submit(name: string, amount: bigint, more?: Partial<SubmitTask>): SubmitTask;
  claim(name: string, more?: Partial<ClaimTask>): ClaimTask;
  attempt(name: string, attempt: number, more?: Partial<AttemptTask>): AttemptTask;
  noteRefusal(name: string, refusals: number, more?: Partial<NoteRefusal>): NoteRefusal;
  noteJob(name: string, job: string, more?: Partial<NoteJob>): NoteJob;
  renew(name: string, leaseMs: number, more?: Partial<RenewTask>): RenewTask;
  release(name: string, more?: Partial<ReleaseTask>): ReleaseTask;
  finish(name: string, used: bigint, more?: Partial<FinishTask>): FinishTask;
  fail(name: string, more?: Partial<FailTask>): FailTask;
  cancel(name: string, more?: Partial<CancelTask>): CancelTask;
  forgetFiles(name: string, more?: Partial<ForgetFiles>): ForgetFiles;
}

/** Commands whose ids are made by `id`. Runs are of the first claim, and both clocks the same, unless told otherwise. */
export function taskCommandsFor(id: (name: string) => string): TaskCommands {
  const of = (name: string) =>
    ({ task: id(name), account: id("a"), key: id("k"), hold: id(`${name}-hold`), nowMs: 2 }) as const;
  const run = (name: string) => ({ ...of(name), epoch: 1 }) as const;
  return {
    submit: (name, amount, more = {}) => ({
      kind: "submit",
      ...of(name),
      taskKind: "image",
      requestId: id(`req-${name}`),
      boot: "b1",
      amount,
      expectedCost: amount,
      priceVersion: "v",
      model: "m",
      priceRules: "{}",
      payload: Buffer.from("sealed"),
      terms: '{"pricedAtMs":1}',
      warnings: [],
      timeoutSec: 600,
      deadlineMs: DEADLINE_MS,
      maxPending: 1_000,
      nowMs: 1,
      expiresAtMs: DEADLINE_MS,
      ...more,
    }),
    claim: (name, more = {}) => ({
      kind: "claim",
      ...of(name),
      seenEpoch: 0,
      boot: "b1",
      // Each test's own, so that what others run is not counted.
      provider: id("provider"),
      providerLimit: 100,
      leaseMs: 60_000,
      alone: false,
      steadyMs: more.nowMs ?? of(name).nowMs,
      ...more,
    }),
    attempt: (name, attempt, more = {}) => ({ kind: "attempt", ...run(name), attempt, ...more }),
    noteRefusal: (name, refusals, more = {}) => ({ kind: "note_refusal", ...run(name), refusals, ...more }),
    noteJob: (name, job, more = {}) => ({ kind: "note_job", ...run(name), job, ...more }),
    renew: (name, leaseMs, more = {}) => ({
      kind: "renew",
      ...run(name),
      leaseMs,
      steadyMs: more.nowMs ?? of(name).nowMs,
      ...more,
    }),
    release: (name, more = {}) => ({ kind: "release", ...run(name), ...more }),
    finish: (name, used, more = {}) => ({
      kind: "finish",
      ...run(name),
      result: RESULT,
      filesUntilMs: 5_000_000,
      used,
      usage: "{}",
      flags: [],
      timeline: {
        provider: "p",
        admittedAtMs: 1,
        heldAtMs: 1,
        firstByteAtMs: null,
        endedAtMs: 2,
        attempts: [],
      },
      steadyMs: more.nowMs ?? of(name).nowMs,
      ...more,
    }),
    fail: (name, more = {}) => ({
      kind: "fail",
      ...run(name),
      type: "generation_error",
      message: "It could not be made.",
      unfinished: false,
      ...more,
    }),
    cancel: (name, more = {}) => ({ kind: "cancel", ...of(name), ...more }),
    forgetFiles: (name, more = {}) => ({ kind: "forget_files", ...of(name), ...more }),
  };
}
