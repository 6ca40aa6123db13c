import { expect } from "bun:test";
import { createByteBudget } from "../../src/core/bytes/byte-budget.ts";
import { type Clock, systemClock, type Timer } from "../../src/core/time/clock.ts";
import type { MicroCredits } from "../../src/core/money/credits.ts";
import { type Failpoint, noFailpoint } from "../../src/core/failpoint.ts";
import type { Log, LogFields } from "../../src/core/log/log.ts";
import type { Model } from "../../src/core/model.ts";
import { systemRandom } from "../../src/core/random.ts";
import type { Task, TaskState } from "../../src/core/task.ts";
import { NO_USAGE } from "../../src/core/money/usage.ts";
import type { Assets } from "../../src/assets/assets.ts";
import type { Command } from "../../src/ledger/commands.ts";
import { openStore, type Store } from "../../src/ledger/store.ts";
import { createWriter, type Writer } from "../../src/ledger/writer.ts";
import { createCipher } from "../../src/runtime/cipher.ts";
import { createEndings } from "../../src/tasks/endings.ts";
import { createScheduler, type Scheduler } from "../../src/tasks/scheduler.ts";
import type { ProviderOf } from "../../src/tasks/queue/queue.ts";
import type { TaskOutcome, TaskRun, TaskJob } from "../../src/tasks/run/job.ts";
import { DEFAULT_TASK_SETTINGS, type TaskSettings } from "../../src/tasks/settings.ts";
import { createRequestCache } from "../../src/tasks/request-cache.ts";
import { createTasks, type Tasks, type TaskSubmission } from "../../src/tasks/tasks.ts";
import type { TestEngine } from "../gateway/engines.ts";
import { createFakeClock, type FakeClock } from "../gateway/fake-clock.ts";
import { auditBooks, executeAt } from "../ledger/books.ts";
import { countReads } from "./count-reads.ts";

/** One store with accounts that have credit, and processes over it that run tasks. */
export interface Station {
  readonly store: Store;
  /** Commands past any process. */
  readonly writer: Writer;
  /** All processes go by it; leases go by the server's where there is one. */
  readonly clock: FakeClock;
  /** A process that has not started its engine yet. */
  process(options?: ProcessOptions): TestProcess;
  /** Moves time on in small steps, and waits after each for what it has begun in the store. */
  pass(ms: number): Promise<void>;
  /** The same, until `holds` does. */
  passing(holds: () => boolean | Promise<boolean>, mostMs: number): Promise<void>;
  /** The task's row as it stands. */
  row(id: string): Promise<Readonly<Record<string, unknown>>>;
  /** How many tasks stand in each state. */
  counts(): Promise<Readonly<Partial<Record<TaskState, number>>>>;
  /** What the account has. */
  account(id?: string): Promise<{ readonly balance: bigint; readonly held: bigint }>;
  /** Runs a statement past the writer. */
  execute(statement: string): Promise<void>;
  /** The lease of a running task has run out by the store's clock. */
  endLease(id: string): Promise<void>;
  /** Fails unless every sum of the books is right. */
  audit(): Promise<void>;
  close(): Promise<void>;
}

export interface ProcessOptions {
  readonly doJob?: TaskJob;
  readonly settings?: Partial<TaskSettings>;
  readonly providerOf?: ProviderOf;
  readonly assets?: Partial<Assets>;
  readonly failpoint?: Failpoint;
}

/** A process that runs tasks, as far as this folder knows of it. */
export interface TestProcess {
  readonly bootId: string;
  readonly tasks: Tasks;
  readonly scheduler: Scheduler;
  readonly logs: readonly string[];
  /** Tasks that this process was given to run, by id, the last run of each. */
  readonly runs: Map<string, TestRun>;
  /** Whether the writer of this process reaches the store. */
  reach(isReachable: boolean): void;
  /** Commands of these kinds do not reach the store. */
  refuse(...kinds: readonly Command["kind"][]): void;
  /** Whether the answers of the store are lost on their way to this process. */
  loseAnswers(areLost: boolean): void;
  /** The store's answers to commands of this kind arrive once `until` has resolved. */
  delayAnswers(kind: Command["kind"], until: Promise<void>): void;
  /** Commands that the store has been sent, whether it was reached or not. */
  readonly sent: Command[];
  /** Submits a task of an account. */
  submit(more?: Partial<TaskSubmission>): Promise<Task>;
  /** Ends the process as a power cut does: no timer fires any more, nothing is written. */
  kill(): void;
  close(): Promise<void>;
}

/** A run that a test ends by hand. */
export interface TestRun {
  readonly run: TaskRun;
  end(outcome: TaskOutcome): void;
  break(error: Error): void;
}

export const ACCOUNTS = ["a", "b", "c"] as const;
export const CREDIT = 1_000_000n;
export const IMAGE = { id: "m/image" } as Model;
export const VIDEO = { id: "m/video" } as Model;

/** An outcome that a test's job may come to. */
export function completed(used: MicroCredits = 5n): TaskOutcome {
  return {
    kind: "completed",
    result: {
      createdSec: 1,
      files: [{ name: "f.png", mediaType: "image/png", bytes: 3, sha256: "00" }],
    },
    used,
    usage: { ...NO_USAGE, images: 1 },
    rates: [],
    flags: [],
    timeline: {
      provider: "p",
      admittedAtMs: 1,
      heldAtMs: 1,
      firstByteAtMs: 2,
      endedAtMs: 3,
      attempts: [],
    },
  };
}

/** How far time is moved on at a time. */
const STEP_MS = 500;

export const RELEASED: TaskOutcome = { kind: "released" };

/** Waits for what happens by itself, without time: until `holds` does, or the test fails. */
export async function until(holds: () => boolean | Promise<boolean>, what = "it"): Promise<void> {
  const startedMs = systemClock.nowMs();
  while (!(await holds())) {
    if (systemClock.nowMs() - startedMs > 10_000) throw new Error(`${what} did not come about`);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

/** What a promise is rejected with; fails where it is not. */
export async function messageOf(promise: Promise<unknown>): Promise<string> {
  return promise.then(
    () => {
      throw new Error("it was not rejected");
    },
    (error: unknown) => (error instanceof Error ? error.message : String(error)),
  );
}

/** Opens books with the accounts `a`, `b` and `c` and their keys `key-a` and so on. */
export async function openStation(on: TestEngine, clock = createFakeClock()): Promise<Station> {
  const place = await on.newPlace();
  const store = await openStore({
    place: place.place,
    failpoint: noFailpoint,
    writerFailpoint: undefined,
    kill: () => expect.unreachable(),
  });
  const log = createTestLog([]);
  const writer = createWriter(store.executor, log, systemClock);
  for (const account of ACCOUNTS) await openAccount(writer, account);
  const processes: TestProcess[] = [];
  let boots = 0;
  let inFlight = 0;
  const counting: Writer = {
    async submit(command) {
      inFlight += 1;
      try {
        return await writer.submit(command);
      } finally {
        inFlight -= 1;
      }
    },
    close: () => writer.close(),
  };
  const reads = countReads(store.database);
  const pass = async (ms: number): Promise<void> => {
    for (let leftMs = ms; leftMs > 0; leftMs -= STEP_MS) {
      await clock.advance(Math.min(STEP_MS, leftMs));
      do await new Promise((resolve) => setTimeout(resolve, 2));
      while (inFlight > 0 || reads.underWay() > 0);
    }
  };

  return {
    store,
    writer,
    clock,
    process(options = {}) {
      boots += 1;
      const made = createProcess(
        { store: { ...store, database: reads.database }, writer: counting, clock, bootId: `boot_${boots}` },
        options,
      );
      processes.push(made);
      return made;
    },
    pass,
    async passing(holds, mostMs) {
      for (let passedMs = 0; passedMs <= mostMs; passedMs += STEP_MS) {
        if (await holds()) return;
        await pass(STEP_MS);
      }
      // What is under way by then may need a while of the machine's own time.
      await until(holds, `what was to hold within ${mostMs} ms`);
    },
    async row(id) {
      const row = await store.database
        .selectFrom("tasks")
        .selectAll()
        .where("id", "=", id)
        .executeTakeFirstOrThrow();
      return row;
    },
    async counts() {
      const rows = await store.database
        .selectFrom("tasks")
        .select("state")
        .select((row) => row.fn.countAll<bigint>().as("tasks"))
        .groupBy("state")
        .execute();
      return Object.fromEntries(rows.map(({ state, tasks }) => [state, Number(tasks)]));
    },
    account: (id = "a") =>
      store.database
        .selectFrom("accounts")
        .select(["balance", "held"])
        .where("id", "=", id)
        .executeTakeFirstOrThrow(),
    execute: (statement) => executeAt(place.place, statement),
    endLease: (id) => executeAt(place.place, `update tasks set lease_until_ms = 1 where id = '${id}'`),
    audit: () => auditBooks(store.database),
    async close() {
      for (const each of processes) await each.close();
      await writer.close();
      await store.database.destroy();
      await place.remove();
    },
  };
}

async function openAccount(writer: Writer, account: string): Promise<void> {
  const nowMs = 1;
  await writer.submit({ kind: "create_account", account, name: account, nowMs });
  await writer.submit({
    kind: "issue_key",
    key: `key-${account}`,
    account,
    name: account,
    hash: `hash-${account}`,
    hint: "sk-…",
    models: null,
    budget: null,
    expiresAtMs: null,
    nowMs,
  });
  await writer.submit({
    kind: "grant",
    cause: `grant-${account}`,
    account,
    amount: CREDIT,
    reason: "test",
    requestId: "req",
    nowMs,
  });
}

interface Shared {
  readonly store: Store;
  readonly writer: Writer;
  readonly clock: Clock;
  readonly bootId: string;
}

function createProcess(shared: Shared, options: ProcessOptions): TestProcess {
  const { store, bootId } = shared;
  let isAlive = true;
  let isReachable = true;
  let areLost = false;
  let refused: readonly Command["kind"][] = [];
  const delayed = new Map<Command["kind"], Promise<void>>();
  const sent: Command[] = [];
  const logs: string[] = [];
  const runs = new Map<string, TestRun>();
  const clock = mortal(shared.clock, () => isAlive);
  const writer: Writer = {
    async submit(command) {
      sent.push(command);
      if (!isAlive) return new Promise(() => {});
      if (!isReachable || refused.includes(command.kind)) throw new Error("the store is away");
      const answer = await shared.writer.submit(command);
      if (areLost) throw new Error("the answer was lost");
      await delayed.get(command.kind);
      return isAlive ? answer : new Promise(() => {});
    },
    close: () => Promise.resolve(),
  };
  const cipher = createCipher("secret");
  const endings = createEndings({ database: store.database, clock, pollMs: 500 });
  const failpoint = options.failpoint ?? noFailpoint;
  const memory = createByteBudget(() => options.settings?.memoryBytes ?? DEFAULT_TASK_SETTINGS.memoryBytes);
  const cache = createRequestCache(memory, clock);
  const byHand: TaskJob = (run) =>
    new Promise((resolve, reject) => runs.set(run.id, { run, end: resolve, break: reject }));
  const scheduler = createScheduler({
    database: store.database,
    storeEngine: store.engine,
    writer,
    clock,
    log: createTestLog(logs),
    failpoint,
    bootId,
    cipher,
    endings,
    requests: cache,
    doJob: options.doJob ?? byHand,
    settings: () => ({ ...DEFAULT_TASK_SETTINGS, ...options.settings }),
    assets: { remove: () => Promise.resolve(), sweep: () => Promise.resolve(0), ...options.assets },
    providerOf: options.providerOf ?? (() => ({ provider: "p", limit: 20 })),
  });
  const tasks = createTasks({
    database: store.database,
    writer,
    clock,
    random: systemRandom,
    failpoint,
    bootId,
    cipher,
    endings,
    requests: cache,
    scheduler,
    maxPending: () => options.settings?.pendingPerAccount ?? 1_000,
  });
  const kill = (): void => void (isAlive = false);
  let requests = 0;

  return {
    bootId,
    tasks,
    scheduler,
    logs,
    runs,
    sent,
    kill,
    reach: (reachable) => void (isReachable = reachable),
    refuse: (...kinds) => void (refused = kinds),
    loseAnswers: (lost) => void (areLost = lost),
    delayAnswers: (kind, until) => void delayed.set(kind, until),
    async submit(more = {}) {
      requests += 1;
      const { accountId = "a" } = more;
      const task = await tasks.submit({
        kind: "image",
        accountId,
        keyId: `key-${accountId}`,
        requestId: `req-${bootId}-${requests}`,
        model: IMAGE,
        snapshot: { version: "v", prices: {}, pricedAtMs: clock.nowMs() },
        amount: 10n,
        expectedCost: 2n,
        payload: { prompt: "a cat" },
        warnings: [],
        timeoutSec: 600,
        ...more,
      });
      if (typeof task === "string") throw new Error(task);
      return task;
    },
    async close() {
      if (!isAlive) return;
      isReachable = true;
      for (const { end } of runs.values()) end(RELEASED);
      await scheduler.close();
      kill();
    },
  };
}

/** The clock of a process: its timers are forgotten with it. */
function mortal(clock: Clock, isAlive: () => boolean): Clock {
  return {
    nowMs: () => clock.nowMs(),
    steadyMs: () => clock.steadyMs(),
    setTimer: (delayMs, run): Timer =>
      clock.setTimer(delayMs, () => {
        if (isAlive()) run();
      }),
  };
}

function createTestLog(lines: string[]): Log {
  const add = (message: string, fields: LogFields = {}): void =>
    void lines.push(`${message}${fields.error === undefined ? "" : `: ${fields.error}`}`);
  return { info: add, warn: add, error: add };
}
