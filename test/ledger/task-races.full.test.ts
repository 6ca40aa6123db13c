import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "bun:test";
import { sql } from "kysely";
import { systemClock } from "../../src/core/time/clock.ts";
import type { Log } from "../../src/core/log/log.ts";
import type { AnswerTo, Command } from "../../src/ledger/commands.ts";
import { createPostgresExecutor } from "../../src/ledger/postgres/executor.ts";
import { createWriter, type Executor, type Writer } from "../../src/ledger/writer.ts";
import { describeOnEngines } from "../gateway/engines.ts";
import { LONG, SEED } from "../runs.ts";
import { seededRandom } from "../upstream/cuts.ts";
import { type OpenedBooks, openBooks, type TestBooks } from "./books.ts";
import { DEADLINE_MS } from "./task-commands.ts";

const ROUNDS = LONG ? 10_000 : 300;
/** Races that run at the same time. */
const TOGETHER = 50;

const quiet: Log = { info: () => {}, warn: () => {}, error: () => {} };

/** The executor of one more process; a file has one process, whose executor all share. */
const executorAt = ({ place, store }: TestBooks): Executor =>
  "file" in place ? { ...store.executor, close: async () => {} } : createPostgresExecutor(place.url);

describeOnEngines("of commands of two processes about one task", (engine) => {
  let opened: OpenedBooks;
  let books: TestBooks;
  /** Two processes on one store, each with its one writer. */
  let writers: readonly Writer[];
  const random = seededRandom(SEED);
  const between = (from: number, to: number): number => from + Math.floor(random() * (to - from + 1));

  beforeAll(async () => {
    opened = await openBooks(engine);
    ({ books } = opened);
    writers = [0, 1].map(() => createWriter(executorAt(books), quiet, systemClock));
  });
  beforeEach(async () => {
    await opened.begin();
    await books.run(books.grant("g", 10_000_000n));
  });
  afterEach(() => expectRight());
  afterAll(async () => {
    await Promise.all(writers.map((writer) => writer.close()));
    await opened.close();
  });

  /** Sends it from the `n`th process, some time within the next milliseconds. */
  const send = async <C extends Command>(n: number, command: C): Promise<AnswerTo<C>> => {
    const ms = random() * 3;
    if (ms > 1) await Bun.sleep(ms - 1);
    return (writers[n % writers.length] as Writer).submit(command);
  };

  /** Runs the numbers up to `count`, some at a time. */
  async function each(count: number, body: (n: number) => Promise<void>): Promise<void> {
    for (let n = 0; n < count; n += TOGETHER)
      await Promise.all(Array.from({ length: Math.min(TOGETHER, count - n) }, (_, i) => body(n + i)));
  }

  /** The books are right by the sums of their rows, and by the gateway's own audit. */
  async function expectRight(): Promise<void> {
    await books.audit();
    const { checks } = await books.store.auditor({ full: true, nowMs: 3 });
    expect(checks.filter(({ ok }) => !ok)).toEqual([]);
  }

  /** How many tasks of this test stand in each state. */
  async function states(): Promise<Readonly<Record<string, number>>> {
    const { rows } = await sql<{ state: string; tasks: bigint }>`select state, count(*) as tasks from tasks
      where account_id = ${books.id("a")} group by state`.execute(books.store.database);
    return Object.fromEntries(rows.map(({ state, tasks }) => [state, Number(tasks)]));
  }

  test(`cancel and claim: in ${ROUNDS} rounds one of them wins, and credit comes back once or is charged once`, async () => {
    const startedAt = performance.now();
    const won = { cancel: 0, claim: 0 };
    let charged = 0n;
    await each(ROUNDS, async (n) => {
      const name = `r${n}`;
      await send(n, books.submit(name, 100n));
      // Who comes first on the way is left to chance, and so is which process each is in.
      const claimFirst = random() < 0.5;
      const at = between(0, 1);
      const claim = books.claim(name, { boot: `b${at}`, providerLimit: 1_000 });
      const claiming = claimFirst ? send(at, claim) : undefined;
      const cancelling = send(between(0, 1), books.cancel(name));
      const [claimed, cancelled] = await Promise.all([claiming ?? send(at, claim), cancelling]);
      if (claimed.ok) {
        won.claim += 1;
        expect(cancelled).toEqual({ ok: false, reason: "started" });
        const used = BigInt(between(0, 130));
        if (random() < 0.7) {
          const finished = await send(at, books.finish(name, used));
          expect(finished).toEqual({ ok: true, charged: used });
          charged += used;
        } else expect(await send(at, books.fail(name))).toEqual({ ok: true });
        expect(await send(at + 1, books.cancel(name))).toEqual({ ok: false, reason: "ended" });
      } else {
        won.cancel += 1;
        expect([claimed, cancelled]).toEqual([{ ok: false, reason: "ended" }, { ok: true }]);
        expect(await send(at, books.finish(name, 5n))).toEqual({ ok: false, reason: "lost" });
      }
    });
    expect(won.cancel + won.claim).toBe(ROUNDS);
    expect(Math.min(won.cancel, won.claim)).toBeGreaterThan(ROUNDS / 20);
    const { cancelled = 0, completed = 0, failed = 0 } = await states();
    expect([cancelled, completed + failed]).toEqual([won.cancel, won.claim]);
    expect(await books.account()).toEqual({ balance: 10_000_000n - charged, held: 0n });
    if (LONG)
      console.log(
        `races: ${engine.name} | ${ROUNDS} rounds | ${won.cancel} cancelled | ${won.claim} claimed | ` +
          `${completed} completed | ${failed} failed | ${((performance.now() - startedAt) / 1000).toFixed(1)} s | audit clean`,
      );
  }, 1_800_000);

  test("100 cancels are all told yes, and credit comes back once", async () => {
    await books.run(books.submit("x", 60n));
    const answers = await Promise.all(Array.from({ length: 100 }, (_, n) => send(n, books.cancel("x"))));
    expect(answers).toEqual(Array.from({ length: 100 }, () => ({ ok: true })));
    expect(await books.account()).toEqual({ balance: 10_000_000n, held: 0n });
    expect(await books.row("requests", "hold_id", books.id("x-hold"))).toMatchObject({
      outcome: "cancelled",
    });
  });

  test("10 workers that claim: one of them has it, in every epoch", async () => {
    await books.run(books.submit("x", 60n));
    for (let epoch = 1; epoch <= 20; epoch += 1) {
      const answers = await Promise.all(
        Array.from({ length: 10 }, (_, n) =>
          send(n, books.claim("x", { boot: `boot${n}`, seenEpoch: epoch - 1 })),
        ),
      );
      expect(answers.filter(({ ok }) => ok)).toEqual([{ ok: true, epoch }]);
      const winner = answers.findIndex(({ ok }) => ok);
      expect(await books.row("tasks", "id", books.id("x"))).toMatchObject({
        owner: `boot${winner}`,
        epoch: BigInt(epoch),
      });
      await books.run(books.release("x", { epoch }));
    }
    const finishes = await Promise.all(
      Array.from({ length: 20 }, (_, n) => send(n, books.finish("x", BigInt(n), { epoch: n + 1 }))),
    );
    expect(finishes.map(({ ok }) => ok)).toEqual(Array.from({ length: 20 }, (_, n) => n === 19));
    expect(await books.account()).toEqual({ balance: 10_000_000n - 19n, held: 0n });
  });

  test("claims for one provider: as many as it may run, whoever claims, and another's count for nothing", async () => {
    // Each of an account of its own: no lock that they need for their credit puts them in order.
    const names = Array.from({ length: 60 }, (_, n) => `x${n}`);
    const of = (name: string) => ({ account: books.id(`a-${name}`), key: books.id(`k-${name}`) });
    await books.apply(
      ...names.map((name) => books.createAccount(`a-${name}`)),
      ...names.map((name) => books.issueKey(`k-${name}`, { account: of(name).account })),
      ...names.map((name) => books.grant(`g-${name}`, 1n, { account: of(name).account })),
      ...names.map((name) => books.submit(name, 1n, of(name))),
    );
    const executors = Array.from({ length: 4 }, () => executorAt(books));
    for (const limit of [1, 7, 25]) {
      const provider = books.id(`provider${limit}`);
      const outcomes = await Promise.all(
        executors.map(async (executor, n) => {
          const answers: (boolean | string)[] = [];
          // In batches of three, so that the processes come in between each other.
          for (let from = n * 15; from < (n + 1) * 15; from += 3) {
            const batch = names
              .slice(from, from + 3)
              .map((name) =>
                books.claim(name, { ...of(name), boot: `b${n}`, provider, providerLimit: limit }),
              );
            for (const outcome of await executor.execute(batch))
              answers.push("failure" in outcome ? outcome.failure : outcome.answer.ok);
          }
          return answers;
        }),
      );
      const answers = outcomes.flat();
      expect(answers.filter((ok) => ok === true)).toHaveLength(limit);
      expect(answers.filter((ok) => ok === false)).toHaveLength(60 - limit);
    }
    await Promise.all(executors.map((executor) => executor.close()));
  });

  test("tasks that go to one provider, and claims for it: as many as it may run, whoever comes", async () => {
    const names = Array.from({ length: 60 }, (_, n) => `x${n}`);
    const of = (name: string) => ({ account: books.id(`a-${name}`), key: books.id(`k-${name}`) });
    await books.apply(
      ...names.map((name) => books.createAccount(`a-${name}`)),
      ...names.map((name) => books.issueKey(`k-${name}`, { account: of(name).account })),
      ...names.map((name) => books.grant(`g-${name}`, 1n, { account: of(name).account })),
      ...names.map((name) => books.submit(name, 1n, of(name))),
    );
    // Two of three run at another provider, which took none of them.
    const isRun = (n: number): boolean => n % 3 !== 0;
    await books.apply(
      ...names
        .filter((_, n) => isRun(n))
        .map((name) => books.claim(name, { ...of(name), providerLimit: 60 })),
    );
    const executors = Array.from({ length: 4 }, () => executorAt(books));
    const place = { provider: books.id("second"), providerLimit: 11 };
    const outcomes = await Promise.all(
      executors.map(async (executor, at) => {
        const answers: (boolean | string)[] = [];
        for (let from = at * 15; from < (at + 1) * 15; from += 3) {
          const batch = names
            .slice(from, from + 3)
            .map((name, i) =>
              isRun(from + i)
                ? books.attempt(name, 1, { ...of(name), to: place })
                : books.claim(name, { ...of(name), ...place }),
            );
          for (const outcome of await executor.execute(batch))
            answers.push("failure" in outcome ? outcome.failure : outcome.answer.ok);
        }
        return answers;
      }),
    );
    expect(outcomes.flat().filter((ok) => ok === true)).toHaveLength(11);
    expect(outcomes.flat().filter((ok) => ok === false)).toHaveLength(49);
    await books.audit();
    await Promise.all(executors.map((executor) => executor.close()));
  });

  test("claims for several providers in batches of several accounts: nobody waits for another in a circle", async () => {
    const accounts = ["a", "b", "c", "d"];
    await books.apply(
      ...accounts.slice(1).map((name) => books.createAccount(name)),
      ...accounts.map((name) => books.issueKey(`k${name}`, { account: books.id(name) })),
      ...accounts.map((name) => books.grant(`g${name}`, 1_000n, { account: books.id(name) })),
    );
    const of = (name: string) => ({ account: books.id(name), key: books.id(`k${name}`) });
    const rounds = LONG ? 200 : 20;
    const executors = [0, 1, 2].map(() => executorAt(books));
    for (let round = 0; round < rounds; round += 1) {
      const names = accounts.map((account) => ({ account, task: `${account}${round}` }));
      await books.apply(...names.map(({ account, task }) => books.submit(task, 1n, of(account))));
      const outcomes = await Promise.all(
        executors.map((executor, n) => {
          const order = n % 2 === 0 ? names : names.toReversed();
          return executor.execute(
            order.map(({ account, task }, i) =>
              books.claim(task, {
                ...of(account),
                boot: `b${n}`,
                provider: books.id(`p${(i + n) % 3}-${round}`),
              }),
            ),
          );
        }),
      );
      const answers = outcomes.flat().map((outcome) => ("answer" in outcome ? outcome.answer.ok : outcome));
      expect(answers.filter((ok) => ok === true)).toHaveLength(4);
      expect(answers.filter((ok) => ok === false)).toHaveLength(8);
    }
    await Promise.all(executors.map((executor) => executor.close()));
    if (engine.name === "postgres") {
      const { rows } = await sql<{ deadlocks: bigint }>`select deadlocks from pg_stat_database
        where datname = current_database()`.execute(books.store.database);
      expect(Number(rows[0]?.deadlocks)).toBe(0);
    }
  }, 600_000);

  test("a result and the deadline: the task ends once, and is charged exactly if it completed", async () => {
    const rounds = LONG ? 2_000 : 100;
    let charged = 0n;
    const ends = { completed: 0, failed: 0 };
    await each(rounds, async (n) => {
      const name = `x${n}`;
      await send(n, books.submit(name, 100n, { expectedCost: 30n }));
      await send(n, books.claim(name, { providerLimit: 1_000 }));
      // The sweeper's clock says that the time is over, the owner's says that it is not yet.
      const finish = books.finish(name, 40n, { nowMs: DEADLINE_MS - 1 });
      const late = books.fail(name, { type: "timeout_error", unfinished: true, nowMs: DEADLINE_MS });
      const failFirst = random() < 0.5;
      const failing = failFirst ? send(n, late) : undefined;
      const finishing = send(n + 1, finish);
      const [failed, finished] = await Promise.all([failing ?? send(n, late), finishing]);
      expect(failed.ok).toBe(!finished.ok);
      if (finished.ok) charged += finished.charged;
      ends[finished.ok ? "completed" : "failed"] += 1;
    });
    expect(await states()).toEqual(Object.fromEntries(Object.entries(ends).filter(([, count]) => count > 0)));
    expect(await books.account()).toEqual({ balance: 10_000_000n - charged, held: 0n });
    expect(charged).toBe(40n * BigInt(ends.completed));
    const losses = (await books.entries("")).filter(({ kind }) => kind === "loss");
    expect(losses).toHaveLength(ends.failed);
  }, 600_000);

  test("two sweepers that fail the same tasks: each task once, and both are told that it has failed", async () => {
    const names = Array.from({ length: 200 }, (_, n) => `x${n}`);
    await books.apply(...names.map((name) => books.submit(name, 5n, { expectedCost: 2n })));
    const answers = await Promise.all(
      names.flatMap((name) =>
        [0, 1].map((n) =>
          send(
            n,
            books.fail(name, { epoch: 0, type: "timeout_error", unfinished: true, nowMs: DEADLINE_MS }),
          ),
        ),
      ),
    );
    expect(new Set(answers.map(({ ok }) => ok))).toEqual(new Set([true]));
    expect(await states()).toEqual({ failed: 200 });
    expect(await books.account()).toEqual({ balance: 10_000_000n, held: 0n });
    expect((await books.entries("")).filter(({ kind }) => kind === "loss")).toHaveLength(200);
  });

  test("two submissions at the last place: one waits, the other is one too many", async () => {
    for (let round = 0; round < 20; round += 1) {
      const [one, other] = await Promise.all(
        [0, 1].map((n) => send(n, books.submit(`x${round}-${n}`, 1n, { maxPending: round + 1 }))),
      );
      expect([one, other].filter((answer) => answer?.ok)).toHaveLength(1);
    }
    expect(await states()).toEqual({ pending: 20 });
  });
});
