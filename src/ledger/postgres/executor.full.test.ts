import { afterAll, afterEach, beforeEach, describe, expect, test } from "bun:test";
import { createServer } from "node:net";
import * as fc from "fast-check";
import { sql } from "kysely";
import { type Cluster, type Database as TestDatabase, startCluster } from "../../../test/postgres/cluster.ts";
import { describeOnOwnPostgres } from "../../../test/postgres/on-postgres.ts";
import { auditBooks, commandsFor, RUNS } from "../../../test/ledger/books.ts";
import { LONG } from "../../../test/runs.ts";
import { systemClock } from "../../core/time/clock.ts";
import { GatewayError } from "../../core/errors.ts";
import { type Failpoint, noFailpoint } from "../../core/failpoint.ts";
import type { Log } from "../../core/log/log.ts";
import { migrate } from "../../db/migrate.ts";
import { openUnhurried } from "../../db/postgres.ts";
import type { Database } from "../../db/schema.ts";
import type { AnswerTo, Command, Outcome } from "../commands.ts";
import { createPostgresExecutor } from "./executor.ts";
import { createWriter, type Executor, type Writer } from "../writer.ts";

const quiet: Log = { info: () => {}, warn: () => {}, error: () => {} };

/** Longer than one limit of the client, shorter than two. */
const ONE_LIMIT_MS = 9_000;

const { createAccount, issueKey, grant, hold, settle } = commandsFor((name) => name);

describeOnOwnPostgres("the executor over PostgreSQL", () => {
  let cluster: Promise<Cluster> | undefined;
  const started = (): Promise<Cluster> => (cluster ??= startCluster());
  let place: TestDatabase;
  let admin: Database;
  let open: { close(): unknown }[] = [];

  beforeEach(async () => {
    place = await (await started()).database();
    admin = openUnhurried(place.url);
    await migrate(admin, "postgres");
    await openExecutor().execute([createAccount("a"), issueKey("k")]);
  });
  afterEach(async () => {
    await Promise.all(open.splice(0).map((each) => each.close()));
    await admin.destroy();
    await place.drop();
  });
  afterAll(async () => (await cluster)?.remove());

  function openExecutor(failpoint: Failpoint = noFailpoint, query = ""): Executor {
    const executor = createPostgresExecutor(`${place.url}${query}`, failpoint);
    open.push(executor);
    return executor;
  }

  function openWriter(): Writer {
    const writer = createWriter(createPostgresExecutor(place.url), quiet, systemClock);
    open.push(writer);
    return writer;
  }

  const balance = async (): Promise<bigint> =>
    (await admin.selectFrom("accounts").select("balance").where("id", "=", "a").executeTakeFirstOrThrow())
      .balance;

  /** Backends that executors hold; the test's own connection has no name. */
  const backends = async (): Promise<number> => {
    const { rows } = await sql<{ n: number }>`select count(*)::int as n from pg_stat_activity
      where application_name = 'switchyard' and datname = current_database()`.execute(admin);
    return rows[0]?.n ?? 0;
  };

  const terminate = (): Promise<unknown> =>
    sql`select pg_terminate_backend(pid) from pg_stat_activity
      where application_name = 'switchyard' and datname = current_database()`.execute(admin);

  /** Has `commands` done, as those do who are told to try again shortly. */
  async function insist<C extends Command>(writer: Writer, command: C): Promise<AnswerTo<C>> {
    for (;;) {
      try {
        return await writer.submit(command);
      } catch (error) {
        if (!(error instanceof GatewayError) || error.kind !== "overloaded_error") throw error;
        await Bun.sleep(10);
      }
    }
  }

  /** Twenty callers who grant 1 each time, until `grants` are answered; notes what was answered. */
  function grantMany(writer: Writer, grants: number, answered: Set<string>): Promise<unknown> {
    let next = 0;
    const caller = async (): Promise<void> => {
      while (next < grants) {
        const cause = `g${(next += 1)}`;
        await insist(writer, grant(cause, 1n));
        answered.add(`${cause}:grant`);
      }
    };
    return Promise.all(Array.from({ length: 20 }, caller));
  }

  async function expectGrants(grants: number): Promise<void> {
    expect(await balance()).toBe(BigInt(grants));
    await auditBooks(admin);
  }

  describe("whose server", () => {
    test("crashes and comes again does each command once, and keeps what it has answered", async () => {
      const server = await started();
      const writer = openWriter();
      const answered = new Set<string>();
      const grants = LONG ? 5_000 : 600;
      const work = grantMany(writer, grants, answered);
      for (let crash = 1; crash <= (LONG ? 5 : 2); crash += 1) {
        while (answered.size < (grants / 8) * crash) await Bun.sleep(1);
        await server.stop("immediate");
        const durable = [...answered];
        await server.start();
        const there = await admin
          .selectFrom("ledger")
          .select("cause")
          .where("cause", "in", durable)
          .execute();
        expect(there).toHaveLength(durable.length);
      }
      await work;
      await expectGrants(grants);
    });

    test("is gone answers overloaded_error, and is used again when it is back", async () => {
      const server = await started();
      const writer = openWriter();
      await server.stop("immediate");
      for (let i = 0; i < 3; i += 1) {
        const error: unknown = await writer.submit(grant("g", 1n)).catch((reason: unknown) => reason);
        expect((error as GatewayError).kind).toBe("overloaded_error");
      }
      await server.start();
      expect(await insist(writer, grant("g", 1n))).toEqual({ ok: true, balance: 1n });
      await expectGrants(1);
    });

    test("says nothing answers overloaded_error in bounded time, and is used again when it goes on", async () => {
      const server = await started();
      const connected = openWriter();
      await connected.submit({ kind: "ping" });
      const unconnected = openWriter();
      await server.pause();
      const began = performance.now();
      const kinds = await Promise.all(
        [connected, unconnected].map((writer, i) =>
          writer.submit(grant(`g${i}`, 1n)).then(
            () => "answered",
            (error: GatewayError) => error.kind as string,
          ),
        ),
      ).finally(() => server.resume());
      expect(kinds).toEqual(["overloaded_error", "overloaded_error"]);
      expect(performance.now() - began).toBeLessThan(ONE_LIMIT_MS);
      await insist(connected, grant("g0", 1n));
      await insist(unconnected, grant("g1", 1n));
      await expectGrants(2);
    });

    test("ends the connection between batches: the next is done, and once", async () => {
      const writer = openWriter();
      for (let i = 1; i <= 10; i += 1) {
        expect(await insist(writer, grant(`g${i}`, 1n))).toEqual({ ok: true, balance: BigInt(i) });
        await terminate();
      }
      await expectGrants(10);
    });

    test("ends the connection in the middle of batches: each command is done once", async () => {
      const writer = openWriter();
      const answered = new Set<string>();
      const grants = LONG ? 5_000 : 600;
      let done = false;
      const work = grantMany(writer, grants, answered).finally(() => (done = true));
      for (let i = 0; !done; i += 1) {
        await terminate();
        const before = answered.size;
        while (!done && answered.size === before) await Bun.sleep(1);
        // Batches follow one another at once: a moment later, one is at another of its statements.
        await Bun.sleep(i % 4);
      }
      await work;
      await expectGrants(grants);
    });

    test("ends the connection at its first question: the batch is refused and nothing else happens", async () => {
      const rude = createServer((socket) => {
        socket.on("error", () => {});
        let questions = 0;
        socket.on("data", () => {
          questions += 1;
          // The first message is the login: "come in, I am ready".
          if (questions === 1) socket.write(Buffer.from("R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I", "latin1"));
          else socket.destroy();
        });
      });
      await new Promise<void>((resolve) => rude.listen(0, "127.0.0.1", resolve));
      const address = rude.address() as { port: number };
      const executor = createPostgresExecutor(`postgres://nobody@127.0.0.1:${address.port}/none`);
      const refused = await executor.execute([{ kind: "ping" }]).catch((error: unknown) => error);
      expect(refused).toBeInstanceOf(Error);
      // What is thrown where nobody waits for it comes a turn later.
      await Bun.sleep(1);
      await executor.close();
      rude.close();
    });
  });

  test("has one connection, however often it broke, and none when it is closed", async () => {
    open.splice(0).forEach((each) => each.close());
    let breaks = false;
    const executor = openExecutor((name) => {
      if (breaks && name === "writer.before_commit") throw new Error("broken");
    });
    for (let i = 0; i < 3; i += 1) {
      breaks = true;
      const broken = await executor.execute([grant("g", 1n)]).catch((error: unknown) => String(error));
      expect(broken as string).toBe("Error: broken");
      breaks = false;
      // At once: the end of the old connection is then noticed while the new one is made.
      await executor.execute([grant("g", 1n)]);
      await terminate();
      await executor.execute([grant("g", 1n)]).catch(() => undefined);
    }
    await executor.execute([grant("g", 1n)]);
    await becomes(backends, 1);
    await executor.close();
    await becomes(backends, 0);
    await expectGrants(1);
  });

  /** Resolves when `count` gives `want`; the time limit of the test is its only limit. */
  async function becomes(count: () => Promise<number>, want: number): Promise<void> {
    while ((await count()) !== want) await Bun.sleep(10);
  }

  test("that freezes in the middle of a transaction loses its locks, and writes nothing when it wakes", async () => {
    const script = `
      const { createPostgresExecutor } = await import(${JSON.stringify(`${import.meta.dir}/executor.ts`)});
      const freeze = (name) => {
        if (name === "writer.before_commit") process.kill(process.pid, "SIGSTOP");
      };
      const executor = createPostgresExecutor(${JSON.stringify(place.url)}, freeze);
      const command = { kind: "grant", cause: "frozen", account: "a", amount: 100n, reason: "r", requestId: "q", nowMs: 1 };
      await executor.execute([command]).then(() => console.log("done"), () => console.log("refused"));
      process.exit(0);
    `;
    const child = Bun.spawn([process.execPath, "-e", script], { stdout: "pipe", stderr: "ignore" });
    // Whatever becomes of the test, nothing that is frozen is left behind.
    open.push({ close: () => child.kill("SIGKILL") });
    const locks = async (): Promise<number> => {
      const { rows } = await sql<{ n: number }>`select count(*)::int as n from pg_stat_activity
        where state = 'idle in transaction' and datname = current_database()`.execute(admin);
      return rows[0]?.n ?? 0;
    };
    await becomes(locks, 1);
    expect(await insist(openWriter(), grant("g", 1n))).toEqual({ ok: true, balance: 1n });
    child.kill("SIGCONT");
    expect((await new Response(child.stdout).text()).trim()).toBe("refused");
    await expectGrants(1);
  });

  test("that is the victim of a deadlock does its batch all the same", async () => {
    const executor = openExecutor();
    await executor.execute([grant("g", 10n)]);
    const other = openUnhurried(place.url);
    try {
      const { batch } = await other.transaction().execute(async (tx) => {
        // Whoever has waited this long looks for a circle, and gives way: the executor after its second.
        await sql`set local deadlock_timeout = '60s'`.execute(tx);
        await sql`update keys set name = 'other' where id = 'k'`.execute(tx);
        const sent = executor.execute([hold("h", 4n)]);
        const waiting = async (): Promise<number> => {
          const { rows } = await sql<{ n: number }>`select count(*)::int as n from pg_stat_activity
            where application_name = 'switchyard' and wait_event_type = 'Lock'`.execute(admin);
          return rows[0]?.n ?? 0;
        };
        await becomes(waiting, 1);
        await sql`update accounts set name = 'other' where id = 'a'`.execute(tx);
        // In an object: a promise alone would be awaited before the commit.
        return { batch: sent };
      });
      expect(await batch).toEqual([{ answer: { ok: true, amount: 4n } }]);
    } finally {
      await other.destroy();
    }
    // Else the test has not met what it is about.
    expect((await started()).log().includes("deadlock detected")).toBe(true);
    await auditBooks(admin);
  });

  test("that loses every race tries three times, then answers that the failure will pass", async () => {
    // A sequence keeps its count through a rollback.
    await sql`create sequence tries`.execute(admin);
    await sql`create function lose() returns trigger language plpgsql as
      $$ begin perform nextval('tries'); raise exception 'lost' using errcode = '40001'; end $$`.execute(
      admin,
    );
    await sql`create trigger lose before update on accounts for each row execute function lose()`.execute(
      admin,
    );
    expect(await openExecutor().execute([grant("g", 1n)])).toEqual([{ failure: "lost", passing: true }]);
    const { rows } = await sql<{ last_value: bigint }>`select last_value from tries`.execute(admin);
    expect(rows).toEqual([{ last_value: 3n }]);
  });

  test("and others that touch the same accounts in any order never fail a command", async () => {
    const names = Array.from({ length: 12 }, (_, i) => `a${i}`);
    // A circle is broken by the server after a second, unless it is told to look sooner.
    const impatient = (): Executor => openExecutor(noFailpoint, "?options=-c%20deadlock_timeout%3D20ms");
    const first = impatient();
    await first.execute(
      names.flatMap((name) => [
        createAccount(name),
        issueKey(name, { account: name }),
        grant(name, 1_000_000n, { account: name }),
      ]),
    );
    const executors = [first, impatient(), impatient()];
    let round = 0;
    const batch = fc.array(fc.tuple(fc.nat(11), fc.nat(11), fc.nat(3)), { minLength: 10, maxLength: 40 });
    await fc.assert(
      fc.asyncProperty(fc.tuple(batch, batch, batch), async (batches) => {
        round += 1;
        const outcomes = await Promise.all(
          batches.map((steps, who) =>
            (executors[who] as Executor).execute(
              steps.flatMap((step, i) => overlapping(step, `${round}-${who}-${i}`)),
            ),
          ),
        );
        expect(outcomes.flat().filter((outcome) => "failure" in outcome)).toEqual([]);
      }),
      { ...RUNS, numRuns: LONG ? 300 : 30 },
    );
    await auditBooks(admin);

    /** A hold on one account with prices that others write too, its end, and a change of another's key. */
    function overlapping([i, j, prices]: readonly [number, number, number], id: string): readonly Command[] {
      const [one, other] = [names[i] as string, names[j] as string];
      const from = { account: one, key: one };
      return [
        hold(id, 5n, { ...from, priceVersion: `v${round}-${prices}` }),
        { kind: "change_key", key: other, name: id },
        settle(id, 3n, from),
        grant(id, 1n, { account: other }),
      ];
    }
  });

  for (const processes of [2, 4]) {
    test(`and ${processes - 1} more over one account never hold more than there is (C2)`, async () => {
      const holds = LONG ? 2_000 : 400;
      const seed = RUNS.seed;
      const executors = Array.from({ length: processes }, () => openExecutor());
      await executors[0]?.execute([grant("g", 7n * 50n)]);
      const perProcess = await Promise.all(
        executors.map(async (executor, who) => {
          const commands = Array.from({ length: holds / processes }, (_, i) => hold(`${who}-${i}`, 7n));
          const outcomes: Outcome[] = [];
          for (let i = 0; commands.length > 0; i += 1)
            outcomes.push(...(await executor.execute(commands.splice(0, 1 + ((i * 7 + who + seed) % 23)))));
          return outcomes;
        }),
      );
      const outcomes = perProcess.flat();
      expect(outcomes.filter((outcome) => "failure" in outcome)).toEqual([]);
      expect(outcomes.filter((outcome) => "answer" in outcome && outcome.answer.ok)).toHaveLength(50);
      await auditBooks(admin);
    });

    test(`and ${processes - 1} more that do the same commands do each once`, async () => {
      const executors = Array.from({ length: processes }, () => openExecutor());
      await executors[0]?.execute([grant("g", 1_000n)]);
      const commands = Array.from({ length: 30 }, (_, i) => [hold(`h${i}`, 9n), settle(`h${i}`, 7n)]);
      const answers = await Promise.all(
        executors.map(async (executor) => {
          const outcomes: (readonly Outcome[])[] = [];
          for (const pair of commands) outcomes.push(await executor.execute(pair));
          return outcomes;
        }),
      );
      for (const outcomes of answers)
        for (const outcome of outcomes)
          expect(outcome).toEqual([
            { answer: { ok: true, amount: 9n } },
            { answer: { ok: true, charged: 7n } },
          ]);
      expect(await balance()).toBe(1_000n - 30n * 7n);
      await auditBooks(admin);
    });
  }
});
