import { expect, test } from "bun:test";
import { createFakeClock, type FakeClock } from "../../test/gateway/fake-clock.ts";
import { describeOnEngines } from "../../test/gateway/engines.ts";
import { openBooks, type TestBooks } from "../../test/ledger/books.ts";
import { systemClock } from "../core/time/clock.ts";
import type { Log } from "../core/log/log.ts";
import type { Command, HoldCredit } from "./commands.ts";
import { createSweeper, type Sweeper, type SweeperParts } from "./sweeper.ts";
import { CommandRefused, createWriter, type Writer } from "./writer.ts";

const quiet: Log = { info: () => {}, warn: () => {}, error: () => {} };

describeOnEngines("a sweeper", (engine) => {
  /** Runs `body` over new books with 1000 credits, whose clock stands far before the time of the holds' end. */
  async function onBooks(
    body: (parts: { books: TestBooks; clock: FakeClock; sweeperOf(boot: string): Sweeper }) => Promise<void>,
  ): Promise<void> {
    const { books, begin, close } = await openBooks(engine);
    try {
      await begin();
      await books.run(books.grant("g", 1_000n));
      const { database, executor, openHolds } = books.store;
      const writer = createWriter(executor, quiet, systemClock);
      const clock = createFakeClock(Date.now());
      await body({
        books,
        clock,
        sweeperOf: (bootId) =>
          createSweeper({
            database,
            engine: engine.name,
            writer,
            openHolds,
            clock,
            log: quiet,
            bootId,
            leaseMs: 600_000,
          }),
      });
      await books.audit();
    } finally {
      await close();
    }
  }

  const lasting = (books: TestBooks, name: string, more: Partial<HoldCredit>): HoldCredit =>
    books.hold(name, 10n, { expectedCost: 4n, expiresAtMs: Date.now() + 3_600_000, ...more });

  test("ends no hold of its own because the machine's time is set forward", async () => {
    await onBooks(async ({ books, clock, sweeperOf }) => {
      await books.apply(lasting(books, "own", { boot: "mine" }));
      const sweeper = sweeperOf("mine");
      await sweeper.start();
      clock.jump(86_400_000);
      await sweeper.sweep();
      expect((await books.account()).held).toBe(10n);
      await sweeper.close();
    });
  });

  test("ends nothing of its own though the store let its lease run out", async () => {
    await onBooks(async ({ books, clock, sweeperOf }) => {
      const sweeper = sweeperOf("mine");
      await sweeper.start();
      await books.apply(
        lasting(books, "own", { boot: "mine" }),
        books.submit("waits", 10n, { boot: "mine", awaited: true }),
        { kind: "heartbeat", boot: "mine", leaseMs: -60_000, steadyMs: clock.steadyMs() },
      );
      expect(await sweeper.sweep()).toBe(0);
      expect((await books.account()).held).toBe(20n);
      await sweeper.close();
    });
  });

  test("ends what other runs left behind, and leaves its own", async () => {
    await onBooks(async ({ books, sweeperOf }) => {
      await books.apply(
        lasting(books, "orphan", { boot: "dead" }),
        lasting(books, "own", { boot: "mine" }),
        lasting(books, "ended", { boot: "dead" }),
        books.settle("ended", 3n),
      );
      const sweeper = sweeperOf("mine");
      await sweeper.start();
      if (engine.name === "postgres") {
        // The store may have been away for all: others are given the time to be heard again.
        expect(await books.row("holds", "id", books.id("orphan"))).toMatchObject({ state: "held" });
        expect(await sweeper.sweep()).toBe(1);
      }
      expect(await books.row("holds", "id", books.id("orphan"))).toMatchObject({
        state: "voided",
        end_reason: "process_died",
      });
      expect(await books.row("holds", "id", books.id("ended"))).toMatchObject({ end_reason: "completed" });
      expect(await books.account()).toEqual({ balance: 997n, held: 10n });
      expect(await books.entries("orphan")).toMatchObject([{ amount: -4n, kind: "loss" }]);
      expect(await sweeper.sweep()).toBe(0);
      await sweeper.close();
    });
  });

  test("ends holds whose time is over, its own too", async () => {
    await onBooks(async ({ books, sweeperOf }) => {
      await books.apply(
        lasting(books, "late", { boot: "mine", expiresAtMs: Date.now() - 60_000 }),
        lasting(books, "own", { boot: "mine" }),
      );
      const sweeper = sweeperOf("mine");
      await sweeper.start();
      await sweeper.sweep();
      expect(await books.row("holds", "id", books.id("late"))).toMatchObject({ end_reason: "expired" });
      expect(await books.account()).toEqual({ balance: 1_000n, held: 10n });
      await sweeper.close();
    });
  });

  test("leaves holds of tasks, whose process may die and whose time may pass", async () => {
    await onBooks(async ({ books, sweeperOf }) => {
      await books.apply(
        books.submit("waits", 10n, { boot: "dead", expiresAtMs: Date.now() - 60_000 }),
        books.submit("runs", 10n, { boot: "dead", expiresAtMs: Date.now() + 3_600_000 }),
        books.claim("runs", { boot: "dead" }),
      );
      const sweeper = sweeperOf("mine");
      await sweeper.start();
      expect(await sweeper.sweep()).toBe(0);
      expect(await books.account()).toEqual({ balance: 1_000n, held: 20n });
      await sweeper.close();
    });
  });

  test("forgets processes that are dead, and no other", async () => {
    await onBooks(async ({ books, sweeperOf }) => {
      const beat = (boot: string, leaseMs: number) =>
        books.run({ kind: "heartbeat", boot, leaseMs, steadyMs: Date.now() });
      await beat("dead", -60_000);
      const sweeper = sweeperOf("mine");
      await sweeper.start();
      await sweeper.sweep();
      const known = await books.store.database.selectFrom("processes").select("boot_id").execute();
      expect(known).toEqual([{ boot_id: "mine" }]);
      await sweeper.close();
    });
  });

  test("is alone in a store of its own, and in a shared one while no other process has a lease", async () => {
    await onBooks(async ({ books, sweeperOf }) => {
      const sweeper = sweeperOf("mine");
      await sweeper.start();
      expect(await sweeper.isAlone()).toBe(true);
      await books.run({ kind: "heartbeat", boot: "other", leaseMs: 60_000, steadyMs: Date.now() });
      expect(await sweeper.isAlone()).toBe(engine.name === "sqlite");
      await books.run({ kind: "leave", boot: "other" });
      expect(await sweeper.isAlone()).toBe(true);
      await sweeper.close();
    });
  });

  /** A sweeper with a lease of 600 s whose commands go nowhere, and are noted. */
  function withoutWriter(
    books: TestBooks,
    clock: FakeClock,
    log: Log = quiet,
    openHolds: SweeperParts["openHolds"] = books.store.openHolds,
  ) {
    const state = { refusing: false, refused: "", refusedAll: false };
    const sent: Command[] = [];
    const submit = async (command: Command): Promise<unknown> => {
      if (state.refusing) throw new Error("away");
      if ("hold" in command && (state.refusedAll || command.hold === state.refused))
        throw new CommandRefused("it does not fit");
      sent.push(command);
      return { ok: true };
    };
    const sweeper = createSweeper({
      database: books.store.database,
      engine: engine.name,
      openHolds,
      writer: { submit: submit as Writer["submit"], close: async () => {} },
      clock,
      log,
      bootId: "mine",
      leaseMs: 600_000,
    });
    return { sweeper, sent, state };
  }

  test("is not heard of while the store refuses its sign of life, and counts anew from the first that it takes", async () => {
    await onBooks(async ({ books, clock }) => {
      const said: unknown[] = [];
      const log: Log = { ...quiet, error: (_, fields) => said.push(fields) };
      const { sweeper, sent, state } = withoutWriter(books, clock, log);
      const startMs = clock.steadyMs();
      await sweeper.start();
      await clock.advance(200_000);
      expect(sweeper.heardSinceMs()).toBe(startMs);
      expect(sent.map(({ kind }) => kind)).toEqual(["heartbeat", "heartbeat"]);
      expect(said).toEqual([]);
      state.refusing = true;
      await clock.advance(200_000);
      expect(sweeper.heardSinceMs()).toBeUndefined();
      expect(said).toEqual([{ error: "Error: away" }]);
      state.refusing = false;
      await clock.advance(200_000);
      expect(sweeper.heardSinceMs()).toBe(startMs + 600_000);
      await sweeper.close();
    });
  });

  test("goes past a hold that the store refuses to end, and says so", async () => {
    await onBooks(async ({ books, clock }) => {
      await books.apply(...["one", "bad", "two"].map((name) => lasting(books, name, { boot: "dead" })));
      const said: unknown[] = [];
      const log: Log = {
        ...quiet,
        warn: (_, fields) => said.push(fields),
        error: (_, fields) => said.push(fields),
      };
      const { sweeper, state } = withoutWriter(books, clock, log);
      state.refused = books.id("bad");
      expect(await sweeper.sweep()).toBe(2);
      expect(said).toEqual([
        { error: expect.stringContaining("The store refused a command: it does not fit") },
        { holds: 2 },
      ]);
    });
  });

  test("says how many holds it has ended, those of tasks that nobody waits for among them, and of none nothing", async () => {
    await onBooks(async ({ books, clock }) => {
      const said: unknown[] = [];
      const log: Log = { ...quiet, warn: (_, fields) => said.push(fields) };
      const { sweeper } = withoutWriter(books, clock, log);
      expect(await sweeper.sweep()).toBe(0);
      expect(said).toEqual([]);
      await books.apply(
        lasting(books, "orphan", { boot: "dead" }),
        books.submit("waits", 10n, { boot: "dead", awaited: true }),
      );
      expect(await sweeper.sweep()).toBe(2);
      expect(said).toEqual([{ holds: 2 }]);
    });
  });

  test("counts what dead processes had set aside, and says so of a single one", async () => {
    await onBooks(async ({ books, clock }) => {
      const said: unknown[] = [];
      const log: Log = { ...quiet, warn: (_, fields) => said.push(fields) };
      const { sweeper } = withoutWriter(books, clock, log, { abandoned: () => [], release: async () => 1 });
      expect(await sweeper.sweep()).toBe(1);
      expect(said).toEqual([{ holds: 1 }]);
    });
  });

  test("leaves the rest to the next time where the store takes nothing", async () => {
    await onBooks(async ({ books, clock }) => {
      await books.apply(lasting(books, "orphan", { boot: "dead" }));
      const { sweeper, state } = withoutWriter(books, clock);
      state.refusing = true;
      expect(await sweeper.sweep().catch((error: Error) => error.message)).toBe("away");
      state.refusing = false;
      expect(await sweeper.sweep()).toBe(1);
    });
  });

  // What it reads of PostgreSQL comes when it comes, and not by the clock of the test.
  if (engine.name === "sqlite")
    test("sweeps at its start, and again from when it has been heard of for a whole lease", async () => {
      await onBooks(async ({ books, clock }) => {
        await books.run(lasting(books, "orphan", { boot: "dead" }));
        const { sweeper, sent } = withoutWriter(books, clock);
        const sweeps = (): number => sent.filter(({ kind }) => kind === "void").length;
        await sweeper.start();
        const seen: number[] = [];
        for (let round = 0; round < 5; round += 1) {
          seen.push(sweeps());
          await clock.advance(200_000);
        }
        expect(seen).toEqual([1, 1, 1, 2, 3]);
        expect(sent.filter(({ kind }) => kind === "heartbeat")).toHaveLength(6);
        await sweeper.close();
      });
    });

  test("stops and gives its lease back when it is closed", async () => {
    await onBooks(async ({ books, clock, sweeperOf }) => {
      const boots = async (): Promise<readonly string[]> => {
        const rows = await books.store.database.selectFrom("processes").select("boot_id").execute();
        return rows.map(({ boot_id }) => boot_id);
      };
      const sweeper = sweeperOf("mine");
      await sweeper.start();
      await books.store.current();
      expect([await boots(), clock.timers()]).toEqual([["mine"], 1]);
      await sweeper.close();
      await books.store.current();
      expect([await boots(), clock.timers()]).toEqual([[], 0]);
    });
  });

  test("tells whoever comes back to a task that nobody waited for how it ended", async () => {
    await onBooks(async ({ books, sweeperOf }) => {
      await books.apply(books.submit("waits", 10n, { boot: "dead", awaited: true }));
      const sweeper = sweeperOf("mine");
      await sweeper.start();
      await sweeper.sweep();
      await books.store.current();
      expect(await books.row("tasks", "id", books.id("waits"))).toMatchObject({
        state: "failed",
        error_type: "generation_error",
        error_message: expect.stringContaining("has died"),
      });
      await sweeper.close();
    });
  });

  test("ends more holds than it looks at in one go", async () => {
    await onBooks(async ({ books, clock, sweeperOf }) => {
      const orphans = Array.from({ length: 1_003 }, (_, i) =>
        books.hold(`orphan-${i}`, 0n, { boot: "dead", expectedCost: 0n }),
      );
      await books.apply(...orphans);
      const { sweeper: helpless, state } = withoutWriter(books, clock);
      state.refusedAll = true;
      expect(await helpless.sweep()).toBe(0);
      const sweeper = sweeperOf("mine");
      // Without a sign of life of its own, nothing of the sweeper's is alive on a shared store.
      await books.run({ kind: "heartbeat", boot: "mine", leaseMs: 600_000, steadyMs: Date.now() });
      expect(await sweeper.sweep()).toBe(1_003);
      expect(await sweeper.sweep()).toBe(0);
    });
  });

  if (engine.name === "postgres") {
    test("leaves what belongs to another process whose lease lasts, until it ends", async () => {
      await onBooks(async ({ books, sweeperOf }) => {
        const other = sweeperOf("other");
        await other.start();
        await books.run(lasting(books, "theirs", { boot: "other" }));
        const sweeper = sweeperOf("mine");
        await sweeper.start();
        expect(await sweeper.sweep()).toBe(0);
        await other.close();
        expect(await sweeper.sweep()).toBe(1);
        expect(await books.account()).toEqual({ balance: 1_000n, held: 0n });
        await sweeper.close();
      });
    });

    test("sweeps by itself once it has been heard of for a whole lease", async () => {
      await onBooks(async ({ books, clock, sweeperOf }) => {
        await books.run(lasting(books, "orphan", { boot: "dead" }));
        const sweeper = sweeperOf("mine");
        await sweeper.start();
        const isHeld = async (): Promise<boolean> => (await books.account()).held !== 0n;
        await clock.advance(200_000);
        expect(await isHeld()).toBe(true);
        // Each round waits for the store before it sets the next: time goes on until the round after a whole lease.
        for (let i = 0; i < 2_000 && (await isHeld()); i += 1) await clock.advance(200_000);
        expect(await isHeld()).toBe(false);
        await sweeper.close();
      });
    });

    test("of two that find the same, each hold is ended once", async () => {
      await onBooks(async ({ books, sweeperOf }) => {
        const orphans = Array.from({ length: 50 }, (_, i) => lasting(books, `orphan-${i}`, { boot: "dead" }));
        await books.apply(...orphans);
        const sweepers = [sweeperOf("mine"), sweeperOf("other")];
        await Promise.all(sweepers.map((sweeper) => sweeper.start()));
        await Promise.all(sweepers.map((sweeper) => sweeper.sweep()));
        expect(await books.account()).toEqual({ balance: 1_000n, held: 0n });
        const losses = await books.entries("orphan");
        expect(losses.map(({ amount }) => amount)).toEqual(Array.from({ length: 50 }, () => -4n));
        await Promise.all(sweepers.map((sweeper) => sweeper.close()));
      });
    });
  }
});
