import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { CompiledQuery } from "kysely";
import { describeOnEngineOfSuite, type TestEngine } from "../../../test/gateway/engines.ts";
import { openStation, type Station } from "../../../test/tasks/station.ts";
import type { Database } from "../../db/schema.ts";
import { findHeads, headsQuery, lineQuery, readLine } from "./queue-reads.ts";
import { createQueue, type ProviderOf, type Queue } from "./queue.ts";

const NOBODY: ReadonlySet<string> = new Set();
const NOW_MS = 1_000_000;

interface RowOf {
  readonly account?: string;
  readonly model?: string;
  readonly kind?: "image" | "video";
  readonly state?: "pending" | "running";
  readonly provider?: string;
  readonly owner?: string;
  readonly readyMs?: number;
  readonly deadlineMs?: number;
  readonly leaseMs?: number;
  readonly terms?: object;
}

describeOnEngineOfSuite("the queue", (on) => {
  let station: Station;
  beforeAll(async () => {
    station = await openStation(on);
  });
  afterAll(() => station.close());
  beforeEach(() => station.execute("delete from tasks"));

  /** Tasks named `<from>` to `<from + count - 1>`, past the writer. */
  const insert = (from: number, count: number, row: RowOf = {}): Promise<void> => {
    const { account = "a", model = "m", kind = "image", state = "pending" } = row;
    const { provider = "p", owner = "boot_x", readyMs = 1, deadlineMs = NOW_MS + 1, terms = {} } = row;
    const running = state === "running";
    const text = (value: string): string => (running ? `'${value}'` : "null");
    return station.execute(
      `with recursive numbers (i) as (select ${from} union all select i + 1 from numbers where i < ${from + count - 1})
       insert into tasks (id, kind, account_id, key_id, hold_id, request_id, model, state, provider, owner,
           lease_until_ms, terms, warnings, timeout_sec, deadline_ms, created_at_ms, ready_at_ms)
         select '' || i, '${kind}', '${account}', 'k', 'h' || i, 'r' || i, '${model}', '${state}', ${text(provider)},
           ${text(owner)}, ${running ? (row.leaseMs ?? 1) : "null"}, '${JSON.stringify(terms)}', '[]', 1, ${deadlineMs}, 1, ${readyMs}
         from numbers`,
    );
  };
  const open = (providerOf: ProviderOf = () => ({ provider: "p", limit: 1_000 }), maxLines?: number): Queue =>
    createQueue({
      database: station.store.database,
      storeEngine: on.name,
      steadyMs: () => NOW_MS,
      bootId: "boot_me",
      providerOf,
      ...(maxLines === undefined ? {} : { maxLines }),
    });
  const ids = async (
    queue: Queue,
    room: number,
    skip = NOBODY,
    of: "pending" | "orphans" = "pending",
  ): Promise<string> => (await queue[of](room, skip)).map(({ task }) => task.id).join(" ");

  describe("of pending tasks", () => {
    test("gives each account its turn, and each account its oldest first", async () => {
      await insert(1, 3);
      await insert(4, 2, { account: "b" });
      await insert(6, 1, { account: "c" });
      expect(await ids(open(), 10)).toBe("1 4 6 2 5 3");
      expect(await ids(open(), 4)).toBe("1 4 6 2");
    });

    test("takes the oldest of an account, whichever model it is for", async () => {
      await insert(1, 1, { model: "z" });
      await insert(2, 1, { model: "a" });
      await insert(3, 1, { model: "z" });
      await insert(4, 1, { kind: "video", model: "a" });
      expect(await ids(open(), 10)).toBe("1 2 3 4");
    });

    test("counts what runs, in this process and in others", async () => {
      await insert(1, 2, { state: "running" });
      await insert(3, 3);
      await insert(6, 3, { account: "b" });
      expect(await ids(open(), 4)).toBe("6 7 3 8");
    });

    test("passes over what is for a full provider, and what nobody does now", async () => {
      const providerOf: ProviderOf = (_, model) =>
        ({ full: { provider: "full", limit: 2 }, free: { provider: "free", limit: 2 } })[model];
      await insert(1, 2, { state: "running", provider: "full", account: "b" });
      await insert(3, 40, { model: "full" });
      await insert(43, 5, { model: "gone" });
      await insert(48, 3, { model: "free" });
      const picks = await open(providerOf).pending(10, NOBODY);
      expect(picks.map(({ task, provider, providerLimit }) => [task.id, provider, providerLimit])).toEqual([
        ["48", "free", 2],
        ["49", "free", 2],
      ]);
    });

    test("asks for the provider of each by its own terms, once for each that is taken", async () => {
      const asked: unknown[] = [];
      const providerOf: ProviderOf = (_, __, { by }) => {
        asked.push(by);
        return { provider: by ?? "p", limit: 9 };
      };
      for (const [i, by] of (["cost", "weight", undefined, "cost"] as const).entries())
        await insert(i + 1, 1, { terms: { pricedAtMs: 1, ...(by && { by }) } });
      const picks = await open(providerOf).pending(10, NOBODY);
      expect(picks.map(({ task, provider }) => `${task.id} ${provider}`)).toEqual([
        "1 cost",
        "2 weight",
        "3 p",
        "4 cost",
      ]);
      expect(asked).toEqual(["cost", "weight", undefined, "cost"]);
    });

    test("takes the next of a line for another provider where that of the first is full by then", async () => {
      const providerOf: ProviderOf = (_, __, { by = "order" }) => ({ provider: by, limit: 1 });
      for (const [i, by] of ["cost", "weight", "cost"].entries())
        await insert(i + 1, 1, { terms: { pricedAtMs: 1, by } });
      expect(await ids(open(providerOf), 10)).toBe("1 2");
    });

    test("leaves out what is skipped, is not ready, or is overdue", async () => {
      await insert(1, 5);
      await insert(6, 1, { readyMs: NOW_MS + 1 });
      await insert(7, 2, { readyMs: NOW_MS });
      await insert(9, 2, { account: "b", readyMs: NOW_MS + 1 });
      await insert(11, 1, { account: "c", deadlineMs: NOW_MS });
      expect(await ids(open(), 3, new Set(["1", "3"]))).toBe("2 4 5");
      expect(await ids(open(), 10, new Set(["1", "3"]))).toBe("2 4 5 7 8");
    });

    test("that are more lines than are read in one go are found all the same, by whoever is woken and wherever it was left", async () => {
      for (let i = 0; i < 5; i += 1)
        await insert(i + 1, 1, { account: ["a", "b", "c"][i % 3]!, model: `m${i}` });
      const queue = open(undefined, 2);
      // Lines in their order: a m0, a m3, b m1, b m4, c m2.
      expect(await ids(queue, 10)).toBe("1 4 2 5 3");
      expect(await ids(queue, 3)).toBe("1 4 2");
      expect(await ids(queue, 10)).toBe("3 1 4 2 5");
      // What was looked at last stands in nobody's way: nothing but the first line can be taken.
      expect(await ids(queue, 1, new Set(["2", "3", "4", "5"]))).toBe("1");
    });
  });

  describe("of tasks that were left behind", () => {
    test("knows those whose lease has run out, by the store's clock", async () => {
      await insert(1, 1, { state: "running", owner: "boot_me", leaseMs: 1 });
      await insert(2, 1, { state: "running", owner: "boot_me", leaseMs: 9e15 });
      await insert(3, 1);
      await insert(4, 1, { state: "running", deadlineMs: NOW_MS });
      expect(await ids(open(), 10, NOBODY, "orphans")).toBe("1");
      expect(await ids(open(), 10, new Set(["1"]), "orphans")).toBe("");
    });

    // On PostgreSQL the server's clock counts, which nobody stops.
    if (on.name === "sqlite")
      test("knows a lease that ends in this millisecond, and not one that ends in the next", async () => {
        for (const [i, leaseMs] of [NOW_MS - 1, NOW_MS, NOW_MS + 1].entries())
          await insert(i + 1, 1, { state: "running", owner: "boot_me", leaseMs });
        expect(await ids(open(), 10, NOBODY, "orphans")).toBe("1 2");
      });

    test("knows those of any other process at once where the store belongs to one alone", async () => {
      await insert(1, 2, { state: "running", owner: "boot_other", leaseMs: 9e15, provider: "q" });
      const orphans = await open().orphans(10, new Set());
      expect(orphans.map(({ task, provider }) => [task.id, provider])).toEqual(
        on.name === "sqlite"
          ? [
              ["1", "q"],
              ["2", "q"],
            ]
          : [],
      );
    });
  });

  describe("of a hundred thousand", () => {
    test("gives another account its first task at once, and reads a handful of rows for it", async () => {
      await insert(1, 100_000);
      await insert(100_001, 1, { account: "b" });
      // As the server does by itself within a minute. A plan that was made of a count while all was still on its way in
      // reads the whole table.
      if (on.name === "postgres") await station.execute("analyze tasks");
      const picks = await open().pending(3, NOBODY);
      expect(picks.map(({ task }) => task.id)).toEqual(["1", "100001", "2"]);
      const { database } = station.store;
      const [head] = await findHeads(database, undefined, 10);
      const bounds = { steadyMs: NOW_MS, limit: 5 };
      expect(await readLine(database, head!, bounds)).toHaveLength(5);
      for (const query of [
        headsQuery(database, undefined, 1_000),
        headsQuery(database, head, 1_000),
        lineQuery(database, head!, bounds),
      ])
        await expectFewRows(on, database, query.compile());
    });
  });
});

/** Fails where a statement reads more than the rows that it is about. */
async function expectFewRows(
  on: TestEngine,
  database: Database,
  { sql: text, parameters }: CompiledQuery,
): Promise<void> {
  if (on.name === "sqlite") {
    const { rows } = await database.executeQuery<{ detail: string }>(
      CompiledQuery.raw(`explain query plan ${text}`, [...parameters]),
    );
    // It does not tell how many, so by what each table is entered: the whole of the index is only begun, for one row.
    const ways = rows.flatMap(({ detail }) => /(?:SCAN|SEARCH) (?:tasks|next|head)\b.*/.exec(detail) ?? []);
    expect(ways.length).toBeGreaterThan(0);
    for (const way of ways) expect(WAYS).toContain(way);
    if (text.includes("recursive")) expect(ways).toContain(WAYS[1]!);
    return;
  }
  const { rows } = await database.executeQuery<{ "QUERY PLAN": string }>(
    CompiledQuery.raw(`explain (analyze, format text) ${text}`, [...parameters]),
  );
  const plan = rows.map((row) => row["QUERY PLAN"]).join("\n");
  expect(plan).toContain("tasks_pending");
  let read = 0;
  for (const [, count, loops] of plan.matchAll(/Scan [^\n]*actual time=\S+ rows=([\d.]+) loops=(\d+)/g))
    read += Number(count) * Number(loops);
  for (const [, removed] of plan.matchAll(/Rows Removed by \w+: (\d+)/g)) read += Number(removed);
  expect(read, plan).toBeLessThan(40);
}

/** How SQLite may enter tables where it is to read a handful of rows. */
const WAYS = [
  "SCAN tasks USING COVERING INDEX tasks_pending",
  "SEARCH next USING COVERING INDEX tasks_pending (account_id=? AND kind=? AND model>?)",
  "SEARCH next USING COVERING INDEX tasks_pending (account_id=? AND kind>?)",
  "SEARCH next USING COVERING INDEX tasks_pending (account_id>?)",
  "SEARCH tasks USING COVERING INDEX tasks_pending ((account_id,kind,model)>(?,?,?))",
  "SEARCH tasks USING INDEX tasks_pending (account_id=? AND kind=? AND model=? AND ready_at_ms>? AND ready_at_ms<?)",
  "SEARCH head USING INTEGER PRIMARY KEY (rowid=?)",
  "SEARCH tasks USING INTEGER PRIMARY KEY (rowid=?)",
];
