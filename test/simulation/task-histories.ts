import fc from "fast-check";
import type { Command } from "../../src/ledger/commands.ts";
import type { FailTask, SubmitTask } from "../../src/ledger/task-commands.ts";

/** What happens next to tasks, in small numbers, so that claims meet, epochs are guessed right and limits are reached. */
export type TaskStep =
  | {
      readonly do: "submit";
      readonly key: number;
      readonly amount: number;
      readonly expected: number;
      /** Batches until its deadline. */
      readonly lasts: number;
      readonly maxPending: number;
    }
  | {
      readonly do: "claim";
      readonly at: number;
      readonly seen: number;
      readonly boot: number;
      readonly provider: number;
      readonly limit: number;
      readonly lasting: boolean;
      readonly alone: boolean;
    }
  | {
      readonly do: "run";
      readonly at: number;
      readonly epoch: number;
      readonly what: "attempt" | "note_refusal" | "note_job" | "renew" | "release";
      readonly more: number;
      /** Where an attempt goes, and how many may be there; null: it stays. */
      readonly to: { readonly provider: number; readonly limit: number } | null;
    }
  | { readonly do: "finish"; readonly at: number; readonly epoch: number; readonly used: "as held" | number }
  | {
      readonly do: "fail";
      readonly at: number;
      readonly epoch: number;
      readonly unfinished: boolean;
      readonly share: FailTask["share"];
    }
  | { readonly do: "cancel"; readonly at: number; readonly other: boolean }
  | { readonly do: "forget files"; readonly at: number }
  | { readonly do: "forget tasks"; readonly batches: number };

/** Recent ones are meant more often than old ones. */
const at = fc.oneof(fc.nat(1), fc.nat(3), fc.nat(20));
/** Mostly what it is after one claim. */
const epoch = fc.constantFrom(1, 1, 1, 1, 2, 2, 0, 3);
/** What a task that fails says of the part that is lost. */
const share = fc.option(
  fc.nat(5).chain((more) => fc.integer({ min: 1, max: 1 + more }).map((parts) => ({ parts, of: 1 + more }))),
  { nil: undefined },
);
const rarely = (oneIn: number): fc.Arbitrary<boolean> =>
  fc.integer({ min: 1, max: oneIn }).map((n) => n === oneIn);

export const taskStep: fc.Arbitrary<TaskStep> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant("submit" as const),
      key: fc.nat(3),
      amount: fc.nat(40),
      expected: fc.nat(50),
      lasts: fc.oneof(fc.constant(50), fc.integer({ min: 1, max: 5 })),
      maxPending: fc.integer({ min: 1, max: 6 }),
    }),
  },
  {
    weight: 9,
    arbitrary: fc.record({
      do: fc.constant("claim" as const),
      at,
      seen: fc.constantFrom(0, 0, 0, 0, 1, 1, 2),
      boot: fc.nat(1),
      provider: fc.nat(1),
      limit: fc.integer({ min: 1, max: 4 }),
      lasting: fc.boolean(),
      alone: rarely(8),
    }),
  },
  {
    weight: 7,
    arbitrary: fc.record({
      do: fc.constant("run" as const),
      at,
      epoch,
      what: fc.constantFrom(
        "attempt" as const,
        "note_refusal" as const,
        "note_job" as const,
        "renew" as const,
        "release" as const,
      ),
      more: fc.nat(1),
      to: fc.option(fc.record({ provider: fc.nat(1), limit: fc.nat(2) })),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant("finish" as const),
      at,
      epoch,
      used: fc.oneof(fc.constant("as held" as const), fc.nat(90)),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant("fail" as const), at, epoch, unfinished: fc.boolean(), share }),
  },
  { weight: 5, arbitrary: fc.record({ do: fc.constant("cancel" as const), at, other: rarely(10) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("forget files" as const), at }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("forget tasks" as const), batches: fc.nat(4) }) },
);

/** The parts of a history. */
export interface TaskWorld {
  readonly name: string;
  readonly keys: readonly string[];
  /** Tasks that were submitted, the latest last. */
  readonly submitted: SubmitTask[];
  accountId(who: number): string;
}

/** A lease that outlasts any history. */
const LASTING_MS = 1_000_000_000;
/** Time between two batches. */
const BATCH_MS = 1_000;

/** The command of a step at `nowMs`. */
export function taskCommandOf(world: TaskWorld, next: TaskStep, nowMs: number): Command {
  if (next.do === "submit") return submissionOf(world, next, nowMs);
  if (next.do === "forget tasks") return { kind: "forget_tasks", beforeMs: nowMs - next.batches * BATCH_MS };
  const made = world.submitted.at(-1 - next.at);
  const of = {
    task: made?.task ?? `${world.name}-task-of-nobody`,
    account: made?.account ?? world.accountId(0),
    key: made?.key ?? world.keys[0]!,
    hold: made?.hold ?? `${world.name}-hold-of-nobody`,
    nowMs,
  };
  switch (next.do) {
    case "claim":
      return {
        kind: "claim",
        ...of,
        seenEpoch: next.seen,
        boot: `boot-${next.boot}`,
        provider: providerOf(world, next.provider),
        providerLimit: next.limit,
        leaseMs: next.lasting ? LASTING_MS : 0,
        alone: next.alone,
        steadyMs: nowMs,
      };
    case "run":
      return runCommandOf(world, { ...of, epoch: next.epoch }, next);
    case "finish":
      return {
        kind: "finish",
        ...of,
        steadyMs: nowMs,
        epoch: next.epoch,
        result: "{}",
        filesUntilMs: nowMs,
        used: next.used === "as held" ? (made?.amount ?? 0n) : BigInt(next.used),
        usage: "{}",
        flags: [],
        timeline: {
          provider: "any",
          admittedAtMs: nowMs,
          heldAtMs: nowMs,
          firstByteAtMs: null,
          endedAtMs: nowMs,
          attempts: [],
        },
      };
    case "fail": {
      const { epoch: seen, unfinished, share: lost } = next;
      const fail = { kind: "fail", ...of, epoch: seen, type: "timeout_error", message: "" } as const;
      return { ...fail, unfinished, ...(lost === undefined ? {} : { share: lost }) };
    }
    case "cancel":
      return { kind: "cancel", ...of, ...(next.other ? { account: otherThan(world, of.account) } : {}) };
    case "forget files":
      return { kind: "forget_files", ...of };
  }
}

const otherThan = (world: TaskWorld, account: string): string =>
  account === world.accountId(0) ? world.accountId(1) : world.accountId(0);

interface OfRun {
  readonly task: string;
  readonly account: string;
  readonly key: string;
  readonly hold: string;
  readonly nowMs: number;
  readonly epoch: number;
}

const providerOf = (world: TaskWorld, provider: number): string => `${world.name}-provider-${provider}`;

function runCommandOf(
  world: TaskWorld,
  run: OfRun,
  { what, more, to }: Extract<TaskStep, { do: "run" }>,
): Command {
  switch (what) {
    case "attempt":
      return {
        kind: "attempt",
        ...run,
        attempt: 1 + more,
        ...(to === null ? {} : { to: { provider: providerOf(world, to.provider), providerLimit: to.limit } }),
      };
    case "note_refusal":
      return { kind: "note_refusal", ...run, refusals: more };
    case "note_job":
      return { kind: "note_job", ...run, job: `job-${more}` };
    case "renew":
      return { kind: "renew", ...run, leaseMs: more * LASTING_MS, steadyMs: run.nowMs };
    case "release":
      return { kind: "release", ...run };
  }
}

function submissionOf(world: TaskWorld, step: Extract<TaskStep, { do: "submit" }>, nowMs: number): Command {
  const key = world.keys[step.key % world.keys.length]!;
  const task = `${world.name}-task-${world.submitted.length}`;
  const made: SubmitTask = {
    kind: "submit",
    task,
    taskKind: "image",
    hold: `${task}-hold`,
    account: world.accountId(Number(key.slice(key.lastIndexOf("-") + 1))),
    key,
    requestId: `${task}-request`,
    boot: "boot",
    model: "any",
    amount: BigInt(step.amount),
    expectedCost: BigInt(step.expected),
    priceVersion: "any",
    priceRules: "{}",
    payload: Buffer.from("sealed"),
    terms: "{}",
    warnings: [],
    timeoutSec: 60,
    deadlineMs: nowMs + step.lasts * BATCH_MS,
    maxPending: step.maxPending,
    nowMs,
    expiresAtMs: nowMs,
  };
  world.submitted.push(made);
  return made;
}
