import { afterEach, beforeEach, expect } from "bun:test";
import type { GatewayError } from "../../src/core/errors.ts";
import { type Failpoint, noFailpoint } from "../../src/core/failpoint.ts";
import type { Log } from "../../src/core/log/log.ts";
import { systemClock } from "../../src/core/time/clock.ts";
import { migrate } from "../../src/db/migrate.ts";
import { openUnhurried } from "../../src/db/postgres.ts";
import type { Database } from "../../src/db/schema.ts";
import { checkSnapshot } from "../../src/ledger/audit/audit.ts";
import type { AnswerTo, HoldCredit } from "../../src/ledger/commands.ts";
import { openSharedTables, type SharedTables } from "../../src/ledger/postgres/allotment-tables.ts";
import type { HoldNotes } from "../../src/ledger/postgres/hold-notes.ts";
import { openSharedKeeper, type SharedKeeper } from "../../src/ledger/postgres/keeper.ts";
import { withRecalls } from "../../src/ledger/postgres/recalls.ts";
import { createWriter, type Writer } from "../../src/ledger/writer.ts";
import { createFakeClock, type FakeClock } from "../gateway/fake-clock.ts";
import { type Database as TestDatabase, sharedCluster } from "../postgres/cluster.ts";
import { auditBooks, commandsFor } from "./books.ts";

const quiet: Log = { info: () => {}, warn: () => {}, error: () => {} };
const { createAccount, issueKey, grant, hold } = commandsFor((name) => name);

/** How long a lease of these processes lasts. */
export const LEASE_MS = 30_000;

/** What the account `a` has at first. */
export const CREDIT = 1_000_000n;

/** One process on the books. */
export interface TestProcess {
  readonly boot: string;
  readonly keeper: SharedKeeper;
  readonly tables: SharedTables;
  readonly writer: Writer;
  readonly clock: FakeClock;
  /** Renews its lease. */
  beat(): Promise<unknown>;
  /** Makes a hold as a request does; notes whether the tables were asked. */
  hold(name: string, amount: bigint, more?: Partial<HoldCredit>): Promise<AnswerTo<HoldCredit>>;
  /** Names of holds that were made in memory. */
  readonly inMemory: Set<string>;
  /** Holds whose loss the store has refused to book. */
  readonly unbooked: readonly string[];
}

/** Processes on one PostgreSQL; each test begins with the account `a`, its key `k` and a process that holds nothing. */
export function useSharedBooks() {
  let place: TestDatabase;
  let admin: Database;
  let open: TestProcess[] = [];

  beforeEach(async () => {
    place = await (await sharedCluster()).database();
    admin = openUnhurried(place.url);
    await migrate(admin, "postgres");
    const first = await start("first");
    for (const command of [createAccount("a"), issueKey("k"), grant("g", CREDIT)])
      await first.writer.submit(command);
  });
  afterEach(async () => {
    for (const { clock, writer } of open.splice(0)) {
      await writer.close();
      expect(clock.timers()).toBe(0);
    }
    await admin.destroy();
    await place.drop();
  });

  async function start(
    boot: string,
    {
      failpoint = noFailpoint,
      notes,
      over = (own) => own,
    }: { failpoint?: Failpoint; notes?: HoldNotes; over?: (own: SharedTables) => SharedTables } = {},
  ): Promise<TestProcess> {
    const clock = createFakeClock(Date.now());
    const unbooked: string[] = [];
    let tables: SharedTables | undefined;
    const keeper = openSharedKeeper({
      openTables: (events) => (tables = over(openSharedTables(place.url, failpoint, events))),
      clock,
      notes,
      onUnbooked: ({ id }, reason) => unbooked.push(`${id}: ${reason}`),
    });
    const writer = withRecalls(createWriter(keeper, quiet, systemClock), keeper);
    const inMemory = new Set<string>();
    const made: TestProcess = {
      boot,
      keeper,
      tables: tables as SharedTables,
      writer,
      clock,
      inMemory,
      unbooked,
      beat: () => writer.submit({ kind: "heartbeat", boot, leaseMs: LEASE_MS, steadyMs: clock.steadyMs() }),
      async hold(name, amount, more = {}) {
        let isDirect = false;
        const command = hold(name, amount, {
          boot,
          nowMs: clock.nowMs(),
          expiresAtMs: clock.nowMs() * 2,
          ...more,
        });
        const answer = await keeper.hold(command, (direct) => {
          isDirect = true;
          return writer.submit(direct);
        });
        if (answer.ok && !isDirect) inMemory.add(name);
        return answer;
      },
    };
    open.push(made);
    await made.beat();
    return made;
  }

  /** A process that holds from memory by now. */
  async function startReserving(boot: string, more: Parameters<typeof start>[1] = {}): Promise<TestProcess> {
    const made = await start(boot, more);
    await made.hold(`${boot}-1`, 10n);
    await made.hold(`${boot}-2`, 10n);
    expect([...made.inMemory]).toEqual([`${boot}-2`]);
    return made;
  }

  /** It is gone without a word: it hears of nothing any more. */
  async function kill(gone: TestProcess): Promise<void> {
    open = open.filter((each) => each !== gone);
    await gone.tables.close();
  }

  const rows = async (): Promise<readonly { readonly boot_id: string; readonly amount: bigint }[]> =>
    await admin.selectFrom("allotments").select(["boot_id", "amount"]).orderBy("boot_id").execute();

  const account = async () =>
    await admin
      .selectFrom("accounts")
      .select(["balance", "held", "allotted"])
      .where("id", "=", "a")
      .executeTakeFirstOrThrow();

  const endLease = (boot: string): Promise<unknown> =>
    admin.updateTable("processes").set({ lease_until_ms: 0n }).where("boot_id", "=", boot).execute();

  /** The rows are right, by the tests' own queries and by the gateway's audit. */
  async function audit(): Promise<void> {
    await auditBooks(admin);
    const { checks } = await checkSnapshot(admin, "postgres", { full: true, nowMs: 0 });
    expect(checks.filter(({ ok }) => !ok)).toEqual([]);
    for (const { keeper } of open) expect(await keeper.compare()).toEqual([]);
  }

  /** What `asked` comes to, while the clock of its process goes on. */
  async function patient<Result>({ clock }: TestProcess, asked: Promise<Result>): Promise<Result> {
    let isDone = false;
    const done = asked.finally(() => (isDone = true));
    done.catch(() => undefined);
    while (!isDone) {
      await Bun.sleep(5);
      await clock.advance(15);
    }
    return done;
  }

  const textOf = async (asked: Promise<unknown>): Promise<string> =>
    await asked.then(
      (answer) =>
        JSON.stringify(answer, (_, value: unknown) => (typeof value === "bigint" ? String(value) : value)),
      (error: GatewayError) => error.kind,
    );

  return {
    start,
    startReserving,
    kill,
    rows,
    account,
    endLease,
    audit,
    patient,
    textOf,
    admin: (): Database => admin,
    url: (): string => place.url,
  };
}
