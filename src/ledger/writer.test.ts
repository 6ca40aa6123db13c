import { describe, expect, test } from "bun:test";
import type { Clock } from "../core/time/clock.ts";
import { GatewayError } from "../core/errors.ts";
import type { Log } from "../core/log/log.ts";
import type { Command, Outcome } from "./commands.ts";
import { taskCommandsFor } from "../../test/ledger/task-commands.ts";
import { CommandRefused, createWriter, type Executor } from "./writer.ts";

const quiet: Log = { info: () => {}, warn: () => {}, error: () => {} };
/** Gathers for no time at all. */
const pace: Clock = {
  nowMs: () => 0,
  steadyMs: () => 0,
  setTimer(_, run) {
    queueMicrotask(run);
    return { cancel: () => {} };
  },
};
const create = (n: number): Command => ({ kind: "create_account", account: `a${n}`, name: "n", nowMs: n });
const ok = { answer: { ok: true } } as const;

interface Turn {
  readonly commands: readonly Command[];
  answer(outcomes?: readonly Outcome[]): void;
  die(): void;
}

/** An executor whose every batch waits for the test. */
function createManualExecutor() {
  const turns: Turn[] = [];
  let running = 0;
  let closed = 0;
  const executor: Executor = {
    execute(commands) {
      running += 1;
      expect(running).toBe(1);
      return new Promise((resolve, reject) => {
        turns.push({
          commands,
          answer: (outcomes = commands.map(() => ok)) => {
            running -= 1;
            resolve(outcomes);
          },
          die: () => {
            running -= 1;
            reject(new Error("it died"));
          },
        });
      });
    },
    close: async () => void (closed += 1),
  };
  return { executor, turns, closed: () => closed };
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe("the writer", () => {
  test("groups what waits while it writes, in order, one batch at a time", async () => {
    const { executor, turns } = createManualExecutor();
    const writer = createWriter(executor, quiet, pace);
    const answers = Array.from({ length: 5 }, (_, i) => writer.submit(create(i)));
    expect(turns.map(({ commands }) => commands.length)).toEqual([1]);
    turns[0]?.answer();
    await settled();
    expect(turns.map(({ commands }) => commands)).toEqual([[create(0)], [1, 2, 3, 4].map(create)]);
    turns[1]?.answer();
    expect(await Promise.all(answers)).toEqual(Array.from({ length: 5 }, () => ({ ok: true })));
  });

  test("makes no batch of more than 256 and keeps the order over batches", async () => {
    const { executor, turns } = createManualExecutor();
    const writer = createWriter(executor, quiet, pace);
    const answers = Array.from({ length: 600 }, (_, i) => writer.submit(create(i)));
    for (let i = 0; i < 4; i += 1) {
      turns[i]?.answer();
      await settled();
    }
    expect(turns.map(({ commands }) => commands.length)).toEqual([1, 256, 256, 87]);
    expect(turns.flatMap(({ commands }) => commands)).toEqual(
      Array.from({ length: 600 }, (_, i) => create(i)),
    );
    await Promise.all(answers);
  });

  test("makes no batch with more than 32 MiB of tasks' requests, unless one alone has more", async () => {
    const MIB = 1024 * 1024;
    const { executor, turns } = createManualExecutor();
    const writer = createWriter(executor, quiet, pace);
    const { submit } = taskCommandsFor((name) => name);
    const asking = (bytes: number): Command => submit(`t${bytes}`, 1n, { payload: new Uint8Array(bytes) });
    const commands = [create(0), asking(20 * MIB), create(1), asking(12 * MIB), asking(1), asking(40 * MIB)];
    const answers = [...commands, create(2)].map((command) => writer.submit(command));
    for (let i = 0; i < 5; i += 1) {
      turns[i]?.answer();
      await settled();
    }
    expect(turns.map(({ commands }) => commands.length)).toEqual([1, 3, 1, 1, 1]);
    await Promise.all(answers);
  });

  test("answers each command by itself: a failure is its own caller's only, and said to pass where it may", async () => {
    const { executor, turns } = createManualExecutor();
    const writer = createWriter(executor, quiet, pace);
    const first = writer.submit(create(0));
    const [good, full, wrong, lost] = [1, 2, 3, 4].map((n) =>
      writer.submit(create(n)).catch((error: unknown) => error),
    );
    turns[0]?.answer();
    await settled();
    turns[1]?.answer([ok, { failure: "disk full", passing: true }, { failure: "a check of the disk" }]);
    expect(await first).toEqual({ ok: true });
    expect(await good).toEqual({ ok: true });
    expect(await wrong).toBeInstanceOf(CommandRefused);
    expect(String(await wrong)).toStartWith("CommandRefused: ");
    for (const refused of [await full, await lost]) {
      expect(refused).toBeInstanceOf(GatewayError);
      expect(refused).toMatchObject({ kind: "overloaded_error", retryAfterSec: 2 });
      expect((refused as GatewayError).message).not.toContain("disk full");
    }
  });

  test("sends a batch again after the executor died, the same commands, before any later one", async () => {
    const { executor, turns } = createManualExecutor();
    const writer = createWriter(executor, quiet, pace);
    const first = writer.submit(create(0));
    const second = writer.submit(create(1));
    turns[0]?.die();
    await settled();
    expect(turns[1]?.commands).toEqual([create(0)]);
    turns[1]?.answer();
    await settled();
    turns[2]?.answer();
    expect([await first, await second]).toEqual([{ ok: true }, { ok: true }]);
  });

  test("refuses a batch after three deaths and goes on with the next", async () => {
    const { executor, turns } = createManualExecutor();
    const errors: unknown[] = [];
    const writer = createWriter(executor, { ...quiet, error: (_, fields) => errors.push(fields) }, pace);
    const first = writer.submit(create(0)).catch((error: GatewayError): string => error.kind);
    const second = writer.submit(create(1));
    for (let i = 0; i < 3; i += 1) {
      turns[i]?.die();
      await settled();
    }
    expect<string | object>(await first).toBe("overloaded_error");
    expect(errors).toHaveLength(3);
    expect(turns.map(({ commands }) => commands)).toEqual([0, 0, 0, 1].map((n) => [create(n)]));
    turns[3]?.answer();
    expect(await second).toEqual({ ok: true });
  });

  test("refuses a batch whose executor dies once more than four seconds have gone by", async () => {
    const { executor, turns } = createManualExecutor();
    let nowMs = 5_000;
    const writer = createWriter(executor, quiet, { ...pace, steadyMs: () => nowMs });
    const first = writer.submit(create(0)).catch((error: GatewayError): string => error.kind);
    nowMs = 9_000;
    turns[0]?.die();
    await settled();
    expect(turns).toHaveLength(2);
    nowMs = 9_001;
    turns[1]?.die();
    expect<string | object>(await first).toBe("overloaded_error");
    expect(turns).toHaveLength(2);
  });

  test("gathers for a millisecond where many requests come in parallel, and writes others at once", async () => {
    const { executor, turns } = createManualExecutor();
    const gathered: number[] = [];
    let nowMs = 0;
    const setTimer: Clock["setTimer"] = (ms, run) => {
      gathered.push(ms);
      return pace.setTimer(ms, run);
    };
    const writer = createWriter(executor, quiet, { ...pace, setTimer, steadyMs: () => nowMs });
    const write = async (...numbers: readonly number[]): Promise<void> => {
      const answers = numbers.map((n) => writer.submit(create(n)));
      await settled();
      for (let i = turns.length - 1; i < turns.length; i += 1) {
        turns[i]?.answer();
        await settled();
      }
      await Promise.all(answers);
    };
    await write(0);
    await write(1);
    expect(gathered).toEqual([]);
    await write(2, 3, 4);
    expect(gathered).toEqual([1]);
    // The batch before was of several: more may come.
    await write(5);
    expect(gathered).toEqual([1, 1]);
    await write(6);
    expect(gathered).toEqual([1, 1]);
    // A few in as many milliseconds: waiting would bring them no company.
    nowMs += 10;
    await write(7, 8);
    nowMs += 10;
    await write(9);
    expect(gathered).toEqual([1, 1]);
    await write(10, 11, 12);
    expect(gathered).toEqual([1, 1, 1]);
    // Five are few, however long nothing came before them.
    nowMs += 100;
    await write(20, 21, 22, 23, 24);
    expect(gathered).toEqual([1, 1, 1]);
    nowMs += 100;
    await write(13, 14, 15, 16, 17, 18);
    expect(gathered).toEqual([1, 1, 1, 1]);
  });

  test("closes when what waits is written, and refuses what comes later", async () => {
    const { executor, turns, closed } = createManualExecutor();
    const writer = createWriter(executor, quiet, pace);
    const waiting = [writer.submit(create(0)), writer.submit(create(1))];
    const closing = writer.close();
    const late = await writer.submit(create(2)).catch((error: GatewayError) => error.kind);
    expect(late as string).toBe("overloaded_error");
    turns[0]?.answer();
    await settled();
    expect(closed()).toBe(0);
    turns[1]?.answer();
    await closing;
    expect(await Promise.all(waiting)).toHaveLength(2);
    expect(closed()).toBe(1);
  });

  test("closed twice, both resolve", async () => {
    const { executor, turns } = createManualExecutor();
    const writer = createWriter(executor, quiet, pace);
    const waiting = writer.submit(create(0));
    let resolved = 0;
    for (let i = 0; i < 2; i += 1) void writer.close().then(() => (resolved += 1));
    turns[0]?.answer();
    await waiting;
    await settled();
    expect(resolved).toBe(2);
  });
});
