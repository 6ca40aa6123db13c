import { afterEach, beforeEach, expect, test } from "bun:test";
import { describeOnEngineOfSuite } from "../../test/gateway/engines.ts";
import { createFakeClock, type FakeClock } from "../../test/gateway/fake-clock.ts";
import { completed, openStation, type Station, type TestProcess, until } from "../../test/tasks/station.ts";
import { noFailpoint } from "../core/failpoint.ts";
import type { Task } from "../core/task.ts";
import type { Command } from "../ledger/commands.ts";
import type { Writer } from "../ledger/writer.ts";
import { createRetention, type Retention, type RetentionParts } from "./retention.ts";
import { DEFAULT_TASK_SETTINGS } from "./settings.ts";

const NEVER = new AbortController().signal;
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

describeOnEngineOfSuite("what is kept no longer", (on) => {
  let station: Station;
  let process: TestProcess;
  /** The time of what is tested alone: nothing else happens by it. */
  let clock: FakeClock;
  let removed: string[];
  let logs: string[];
  let sent: Command[];
  const opened: Retention[] = [];
  beforeEach(async () => {
    station = await openStation(on);
    process = station.process({
      doJob: async () => completed(),
      providerOf: () => ({ provider: "p", limit: 300 }),
      settings: { filesMs: DAY_MS, runningPerProcess: 300 },
    });
    await process.scheduler.start();
    clock = createFakeClock();
    [removed, logs, sent] = [[], [], []];
  });
  afterEach(async () => {
    for (const each of opened.splice(0)) await each.close();
    await station.close();
  });

  const start = (parts: Partial<RetentionParts> = {}): void => {
    const writer: Writer = {
      submit(command) {
        sent.push(command);
        return station.writer.submit(command);
      },
      close: () => Promise.resolve(),
    };
    const note = (message: string, fields: { readonly error?: string } = {}): void =>
      void logs.push(`${message} ${fields.error}`);
    const retention = createRetention({
      database: station.store.database,
      writer,
      clock,
      log: { info: note, warn: note, error: note },
      failpoint: noFailpoint,
      settings: () => DEFAULT_TASK_SETTINGS,
      ...parts,
      assets: {
        remove: async (id) => void removed.push(id),
        sweep: async () => 0,
        ...parts.assets,
      },
    });
    opened.push(retention);
    retention.start();
  };
  const made = async (): Promise<Task> => process.tasks.ended(await process.submit({ amount: 6n }), NEVER);
  const filesUntil = async ({ id }: Task) => (await station.row(id)).files_until_ms;
  /** Lets minutes pass until `holds` does. */
  const passing = (holds: () => boolean | Promise<boolean>): Promise<void> =>
    until(async () => {
      if (await holds()) return true;
      await clock.advance(MINUTE_MS);
      return false;
    });

  test("are files: first the row says so, then they go", async () => {
    const task = await made();
    let rowSaid: unknown;
    start({
      assets: {
        async remove(id) {
          rowSaid = (await station.row(id)).files_until_ms;
          removed.push(id);
        },
        sweep: async () => 0,
      },
    });
    await clock.advance(DAY_MS - 5 * MINUTE_MS);
    expect([sent, removed]).toEqual([[], []]);
    await passing(() => removed.length === 1);
    expect([removed, rowSaid]).toEqual([[task.id], null]);
    await clock.advance(HOUR_MS);
    expect(removed).toHaveLength(1);
  });

  test("are files whose time has come, to the millisecond", async () => {
    const tasks = [await made(), await made(), await made()];
    const roundMs = clock.steadyMs() + 1_000;
    for (const [i, { id }] of tasks.entries())
      await station.execute(`update tasks set files_until_ms = ${roundMs - 1 + i} where id = '${id}'`);
    start();
    await clock.advance(1_000);
    await until(() => removed.length === 2);
    await clock.advance(MINUTE_MS - 1);
    expect(removed).toEqual(tasks.slice(0, 2).map(({ id }) => id));
    await passing(() => removed.length === 3);
  });

  test("are tasks that are older than they are kept, to the millisecond", async () => {
    const tasks = [await made(), await made(), await made()];
    const oldMs = clock.nowMs() + 1_000 - DEFAULT_TASK_SETTINGS.endedMs;
    for (const [i, { id }] of tasks.entries())
      await station.execute(
        `update tasks set files_until_ms = null, ended_at_ms = ${oldMs - 1 + i} where id = '${id}'`,
      );
    const found = async (): Promise<readonly boolean[]> =>
      Promise.all(tasks.map(async ({ id }) => (await process.tasks.find("image", id, "a")) !== undefined));
    start();
    await clock.advance(1_000);
    await until(async () => !(await found())[0]);
    await clock.advance(MINUTE_MS - 1);
    expect(await found()).toEqual([false, true, true]);
    await passing(async () => !(await found())[2]);
  });

  test("are files of a process that dies between the two: the row says that they are gone", async () => {
    const task = await made();
    start({
      failpoint(name) {
        if (name === "files.forgotten") throw new Error("killed");
      },
    });
    await clock.advance(DAY_MS);
    await passing(async () => (await filesUntil(task)) === null);
    expect(removed).toEqual([]);
  });

  test("are files of hundreds of tasks, all of them", async () => {
    const tasks = await Promise.all(Array.from({ length: 130 }, made));
    start();
    await clock.advance(DAY_MS);
    await passing(() => removed.length === 130);
    expect(new Set(removed)).toEqual(new Set(tasks.map(({ id }) => id)));
  });

  test("goes on being let go of after the files of one could not be removed", async () => {
    const first = await made();
    let failures = 1;
    start({
      assets: {
        async remove(id) {
          failures -= 1;
          if (failures >= 0) throw new Error("the disk is away");
          removed.push(id);
        },
        sweep: async () => 0,
      },
    });
    await clock.advance(DAY_MS);
    await passing(() => logs.some((line) => line.includes("disk is away")));
    // Its files are orphans now.
    expect(await filesUntil(first)).toBeNull();
    await station.execute("update tasks set files_until_ms = 1");
    await passing(() => removed.length === 1);
  });

  test("are tasks that ended long ago and have no files any more, and no others", async () => {
    const old = await made();
    await station.execute("update tasks set ended_at_ms = 1");
    const young = await made();
    start();
    await clock.advance(HOUR_MS);
    expect(await process.tasks.find("image", old.id, "a")).toBeDefined();
    await station.execute("update tasks set files_until_ms = null");
    await passing(async () => (await process.tasks.find("image", old.id, "a")) === undefined);
    expect((await process.tasks.find("image", young.id, "a"))?.state).toBe("completed");
  });

  test("costs no writing where there is nothing", async () => {
    await made();
    start();
    await clock.advance(12 * HOUR_MS);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(sent).toEqual([]);
  });

  test("is looked for soon after the start and then hourly among files: no task names it that runs or has it in its result", async () => {
    const task = await made();
    const forgotten = await made();
    await station.execute(`update tasks set files_until_ms = null where id = '${forgotten.id}'`);
    await process.close();
    const slow = station.process();
    await slow.scheduler.start();
    const running = await slow.submit();
    await until(() => slow.runs.has(running.id));
    const found: [string, string, boolean][] = [];
    let sweeps = 0;
    start({
      assets: {
        remove: () => Promise.resolve(),
        async sweep(isNamed) {
          for (const [id, name] of [
            [task.id, "f.png"],
            [task.id, "g.png"],
            [forgotten.id, "f.png"],
            [running.id, "h.png"],
            ["img_0", "f.png"],
          ] as const)
            found.push([id, name, await isNamed(id, name)]);
          sweeps += 1;
          return 0;
        },
      },
    });
    await clock.advance(MINUTE_MS);
    await until(() => sweeps === 1);
    expect(found).toEqual([
      [task.id, "f.png", true],
      [task.id, "g.png", false],
      [forgotten.id, "f.png", false],
      [running.id, "h.png", true],
      ["img_0", "f.png", false],
    ]);
    await clock.advance(59 * MINUTE_MS);
    expect(sweeps).toBe(1);
    await clock.advance(2 * MINUTE_MS);
    await until(() => sweeps === 2);
  });
});
