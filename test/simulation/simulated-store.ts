import type { Engine } from "../../src/db/engine.ts";
import type { Database } from "../../src/db/schema.ts";
import { kyselyOver } from "../../src/db/sqlite.ts";
import { checkSnapshot } from "../../src/ledger/audit/audit.ts";
import type { Command, Outcome, Void } from "../../src/ledger/commands.ts";
import type { SqliteDatabase } from "../../src/runtime/sqlite.ts";
import { type Ask, assertBooks, modelBooks, readBooks } from "./check-books.ts";
import { createLedgerModel, type LedgerModel } from "./ledger-model.ts";
import { openMemoryStore } from "./sqlite-memory.ts";
import { isForCredit } from "../../src/ledger/postgres/contested.ts";
import { createSimulatedAllotments, type SimulatedAllotments } from "./simulated-allotments.ts";
import { openTableBooks } from "./table-books.ts";
import type { World } from "./world.ts";

/** The one store of a simulation: the real one over SQLite in memory, with a model that is told the same. */
export interface SimulatedStore {
  readonly engine: Engine;
  readonly model: LedgerModel;
  /** For the sweepers' reads. */
  readonly database: Database;
  readonly ask: Ask;
  /** Commits the batch, with `throws` failures of a commit on the way. Throws when the books or an answer are wrong. */
  commit(commands: readonly Command[], throws: number): readonly Outcome[];
  readonly allotments: SimulatedAllotments;
  /** The least that was idle in allotments when the command, however often it was sent, was refused for want of credit. */
  idleAtRefusal(command: Command): bigint;
  /** What was found wrong where nobody waits for it. */
  readonly complaints: string[];
  /** Commands that narrow a key, each until it is answered, and keys that one may narrow after its answer. */
  readonly narrowing: Set<{ readonly key: string }>;
  readonly narrowedLate: Set<string>;
  /** Who is told of recalls, by the process's name. */
  readonly listeners: Map<string, (account: string) => void>;
  /** The process of this name has died. */
  died(boot: string): void;
  /** Checks everything at the end. */
  check(): Promise<void>;
  close(): void;
  readonly counts: Record<
    "batches" | "commands" | "abandoned" | "lateSettles" | "claims" | "lostRuns" | "ended",
    number
  > &
    SimulatedAllotments["counts"];
}

/** How long a process counts as alive after it was heard of. */
export const LEASE_MS = 30_000;

/** Tasks that a provider may run at a time. */
export const PROVIDER_LIMIT = 2;

/** As the sweeper asks a server for its time. */
const SERVER_TIME = "cast(extract(epoch from clock_timestamp()) * 1000 as bigint)";

/** A process as its heartbeats show it. */
interface Lease {
  untilMs: number;
  /** The step since when it has never run out. */
  readonly since: number;
}

/** An empty store; `engine` says whether it is taken for one that several processes share. */
export async function openSimulatedStore(world: World, engine: Engine): Promise<SimulatedStore> {
  const database = await openMemoryStore();
  let throwing = 0;
  const store = openTableBooks(database, (name) => {
    if (name !== "writer.before_commit" || throwing === 0) return;
    throwing -= 1;
    throw new Error("the commit failed");
  });
  let isDirect = true;
  const model: LedgerModel = createLedgerModel(undefined, {
    idle: (of, id) => (isDirect ? allotments.idle(of, id) : 0n),
    mayBeAsBefore: (key) =>
      !isDirect && ([...narrowing].some((command) => command.key === key) || narrowedLate.has(key)),
  });
  const narrowing = new Set<{ readonly key: string }>();
  const narrowedLate = new Set<string>();
  const listeners = new Map<string, (account: string) => void>();
  const dead = new Set<string>();
  const watch = watchLeases(
    world,
    model,
    (boot, isLeased) => !dead.has(boot) && (isLeased || engine === "sqlite"),
  );
  const allotments = createSimulatedAllotments({
    world,
    database,
    model: () => model,
    tell(command) {
      counts.abandoned += Number(watch.before(command));
      isDirect = false;
      try {
        return model.apply([command]);
      } finally {
        isDirect = true;
        watch.after(command);
      }
    },
  });
  /** A copy that comes late may be refused after the one whose answer is heard. */
  const refused = new Map<string, bigint>();
  const noteRefusals = (commands: readonly Command[], outcomes: readonly Outcome[]): void => {
    for (const [i, command] of commands.entries()) {
      const outcome = outcomes[i]!;
      if (!("account" in command) || !("answer" in outcome) || !isForCredit(outcome.answer)) continue;
      const idle = allotments.idle("account_id", command.account);
      const before = refused.get(refusalKey(command));
      refused.set(refusalKey(command), before === undefined || idle < before ? idle : before);
    }
  };
  const counts = Object.assign(allotments.counts, {
    batches: 0,
    commands: 0,
    abandoned: 0,
    lateSettles: 0,
    claims: 0,
    lostRuns: 0,
    ended: 0,
  });
  const ask: Ask = (sql) => database.prepare(sql).all();

  const count = (commands: readonly Command[]): void => {
    counts.batches += 1;
    counts.commands += commands.length;
    for (const command of commands)
      if (command.kind === "settle" && model.holds.get(command.hold)?.state === "voided")
        counts.lateSettles += 1;
  };

  const countTasks = (commands: readonly Command[], outcomes: readonly Outcome[]): void => {
    for (const [i, { kind }] of commands.entries()) {
      const outcome = outcomes[i]!;
      if (!("answer" in outcome)) continue;
      if (kind === "claim" && outcome.answer.ok) counts.claims += 1;
      if (!outcome.answer.ok && outcome.answer.reason === "lost") counts.lostRuns += 1;
    }
    counts.ended = [...model.tasks.values()].filter(({ endedAtMs }) => endedAtMs !== null).length;
  };

  return {
    engine,
    model,
    counts,
    ask,
    allotments,
    complaints: [],
    narrowing,
    narrowedLate,
    listeners,
    idleAtRefusal: (command) => refused.get(refusalKey(command)) ?? 0n,
    database: kyselyOver(engine === "postgres" ? withServerTime(database, world) : database),
    commit(sent, throws) {
      const commands = sent.map((command) => byStoreTime(command, world.nowMs()));
      count(commands);
      for (const command of commands) counts.abandoned += Number(watch.before(command));
      throwing = throws;
      const outcomes = store.apply(commands);
      const apart = throws > 0;
      throwing = 0;
      const done = commands.filter((_, i) => "answer" in outcomes[i]!);
      if (!apart && done.length < commands.length)
        throw new Error(`A command failed without a fault: ${textOf(outcomes)}`);
      // A batch whose commit failed is done command by command.
      const expected = apart ? done.flatMap((command) => model.apply([command])) : model.apply(done);
      const answers = outcomes.filter((outcome) => "answer" in outcome);
      if (!Bun.deepEquals(answers, expected))
        throw new Error(`Answered ${textOf(answers)} where the model says ${textOf(expected)}.`);
      for (const command of done) {
        watch.after(command);
        if (command.kind !== "change_key" && command.kind !== "revoke_key") continue;
        const account = model.keys.get(command.key)?.account ?? "";
        for (const tell of listeners.values()) tell(account);
      }
      checkProviders(model);
      countTasks(commands, outcomes);
      noteRefusals(commands, outcomes);
      return outcomes;
    },
    died: (boot) => void dead.add(boot),
    async check() {
      allotments.end();
      await assertBooks(ask);
      const [books, wanted] = [await readBooks(ask), modelBooks(model)];
      const wrong = books.filter((line) => !wanted.includes(line));
      if (wrong.length > 0 || books.length !== wanted.length)
        throw new Error(
          `The store has\n${wrong.join("\n")}\nand not\n${wanted.filter((line) => !books.includes(line)).join("\n")}`,
        );
      const { checks } = await checkSnapshot(kyselyOver(database), "sqlite", {
        full: true,
        nowMs: world.nowMs(),
      });
      const faults = checks.filter(({ ok }) => !ok);
      if (faults.length > 0) throw new Error(`The audit finds ${JSON.stringify(faults)}.`);
    },
    close: () => database.close(),
  };
}

const refusalKey = (command: Command): string =>
  "hold" in command ? command.hold : "cause" in command ? command.cause : "";

/** No provider ever runs more than it may, whoever claims for it. */
function checkProviders({ tasks }: LedgerModel): void {
  const running = [...tasks.values()].filter(({ state }) => state === "running");
  for (const [provider, those] of Map.groupBy(running, (task) => task.provider))
    if (those.length > PROVIDER_LIMIT) throw new Error(`${provider} runs ${those.length} tasks at a time.`);
}

/** Leases run by the clock of the store. */
function byStoreTime(command: Command, nowMs: number): Command {
  if (command.kind === "heartbeat" || command.kind === "claim" || command.kind === "renew")
    return { ...command, steadyMs: nowMs };
  return command.kind === "leave" && command.deadAtMs !== undefined
    ? { ...command, deadAtMs: nowMs }
    : command;
}

function textOf(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) => (typeof part === "bigint" ? `${part}n` : part));
}

/** Takes the place of a server's clock in what is asked. */
function withServerTime(database: SqliteDatabase, world: World): SqliteDatabase {
  database.execute("create table simulated_time (now_ms integer not null)");
  database.execute("insert into simulated_time values (0)");
  const setTime = database.prepare("update simulated_time set now_ms = ?");
  return {
    ...database,
    prepare(sql) {
      if (!sql.includes(SERVER_TIME)) return database.prepare(sql);
      setTime.run(BigInt(world.nowMs()));
      return database.prepare(sql.replaceAll(SERVER_TIME, "(select now_ms from simulated_time)"));
    },
  };
}

/** Nobody may end the holds of a process that was heard of without a break since before it made them. */
function watchLeases(world: World, model: LedgerModel, lives: (boot: string, isLeased: boolean) => boolean) {
  const leases = new Map<string, Lease>();
  const madeAt = new Map<string, number>();

  const abandons = (command: Void): boolean => {
    const hold = model.holds.get(command.hold);
    if (hold?.state !== "held" || command.outcome !== "process_died") return false;
    const lease = leases.get(hold.boot);
    const isLeased =
      lease !== undefined && lease.untilMs > world.nowMs() && lease.since <= madeAt.get(command.hold)!;
    if (lives(hold.boot, isLeased))
      throw new Error(`The hold ${command.hold} was taken from ${hold.boot}, which lives.`);
    return true;
  };
  return {
    /** Whether the command gives a hold up that another process made. */
    before: (command: Command): boolean => command.kind === "void" && abandons(command),
    after(command: Command): void {
      if (command.kind === "hold" && model.holds.has(command.hold) && !madeAt.has(command.hold))
        madeAt.set(command.hold, world.stepNumber());
      if (command.kind !== "heartbeat") return;
      const lease = leases.get(command.boot);
      const untilMs = world.nowMs() + command.leaseMs;
      if (lease !== undefined && lease.untilMs > world.nowMs()) lease.untilMs = untilMs;
      else leases.set(command.boot, { untilMs, since: world.stepNumber() });
    },
  };
}
