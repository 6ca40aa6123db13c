import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "bun:test";
import { sql } from "kysely";
import { describeOnEngines, SQLITE } from "../../../test/gateway/engines.ts";
import { openAt, openBooks, type OpenedBooks } from "../../../test/ledger/books.ts";
import { SCHEMA_WORDS } from "../../db/engine.ts";
import type { Database } from "../../db/schema.ts";
import { openSqlite } from "../../runtime/sqlite.ts";
import { type Check, checkBooks } from "./checks.ts";

interface Fault {
  readonly name: string;
  readonly statement: string;
  /** The check that fails, or the checks. */
  readonly id: string | readonly string[];
  readonly onlyFull: boolean;
  /** When it is looked at. */
  readonly nowMs?: number;
}

/** Rows as a fault of ours, or somebody with the store's password, might leave them. */
const faults: readonly Fault[] = [
  {
    name: "a balance that its entries do not come to",
    statement: "update accounts set balance = balance + 1",
    id: ["I1", "I8"],
    onlyFull: false,
  },
  {
    name: "a last entry with another balance after it",
    statement: `update ledger set balance_after = balance_after + 1
      where seq = (select max(seq) from ledger where account_id <> 'operator')`,
    id: "I1",
    onlyFull: false,
  },
  {
    name: "credit of an account that is held and no hold has",
    statement: "update accounts set held = held + 1",
    id: "I2",
    onlyFull: false,
  },
  {
    name: "a key that has spent more than it was charged",
    statement: "update keys set spent = spent + 1",
    id: "spent",
    onlyFull: false,
  },
  {
    name: "a hold that ended without the row of its request",
    statement: "delete from requests where outcome = 'refused'",
    id: "I3",
    // Nothing new points at it.
    onlyFull: true,
  },
  {
    name: "an entry of an account that is not there",
    statement: `insert into ledger (cause, account_id, counter, amount, balance_after, kind, created_at_ms)
      values ('g:grant', 'nobody', 'funding', 7, 7, 'grant', 1)`,
    id: "I3",
    onlyFull: true,
  },
  {
    name: "a charge above its hold that is not flagged",
    statement: "update holds set amount = settled - 1 where end_reason = 'completed' and task_id is null",
    id: "I3",
    onlyFull: false,
  },
  {
    name: "a charge for the request of another hold",
    statement: `update ledger set request_id = (select request_id from holds where end_reason = 'refused')
      where kind = 'settle' and cause like '%-settled:settle'`,
    id: "I4",
    onlyFull: false,
  },
  {
    name: "a hold that was given up, and less was booked as lost than it had probably cost",
    statement: "update holds set expected_cost = expected_cost + 1 where end_reason = 'process_died'",
    id: "I12",
    onlyFull: false,
  },
  {
    name: "a request that ended otherwise than its hold",
    statement: "update requests set outcome = 'another' where outcome = 'refused'",
    id: "I12",
    onlyFull: false,
  },
  {
    name: "a second row for a hold",
    statement: `insert into requests (id, account_id, key_id, hold_id, model, outcome, charge, price_version, attempts,
        admitted_at_ms, held_at_ms, ended_at_ms, settled_at_ms)
      select 'another', account_id, key_id, hold_id, model, outcome, charge, price_version, attempts, 1, 1, 1, 1
      from requests where id like '%req-settled'`,
    id: "I12",
    onlyFull: false,
  },
  {
    name: "a request by other prices than its hold, and by no other model",
    statement: "update requests set price_version = 'v2' where id like '%req-settled'",
    id: "prices",
    onlyFull: false,
  },
  {
    name: "a request by prices whose rules are not stored",
    statement: "update requests set model = 'm3', price_version = 'v3' where id like '%req-settled'",
    id: "prices",
    onlyFull: false,
  },
  {
    name: "a request that cost less than nothing",
    statement: "update requests set cost = -1 where id like '%req-fallback'",
    id: "prices",
    onlyFull: false,
  },
  {
    name: "a task whose client is told another charge than the ledger has",
    statement: "update tasks set charge = charge + 1 where state = 'completed'",
    id: "I4",
    onlyFull: false,
  },
  {
    name: "a second hold that was charged for a task",
    statement: `update holds set task_id = (select id from tasks where state = 'completed')
      where end_reason = 'completed' and task_id is null`,
    id: "I4",
    onlyFull: false,
  },
  {
    name: "a task that waits for a hold that is not there",
    statement: "update tasks set hold_id = 'another' where state = 'pending'",
    id: "I4",
    onlyFull: false,
  },
  {
    name: "an open hold of a task that is not there",
    statement: "update holds set task_id = 'another' where state = 'held' and id like '%runs%'",
    id: "I4",
    onlyFull: false,
  },
  {
    name: "a task that ended without a request",
    statement: `insert into tasks (id, kind, account_id, key_id, hold_id, request_id, model, state, terms, warnings,
        timeout_sec, deadline_ms, created_at_ms, ended_at_ms)
      select 'another', kind, account_id, key_id, 'another', 'another', model, 'cancelled', terms, warnings, 1, 1, 1, 1
      from tasks where state = 'cancelled'`,
    id: "I4",
    onlyFull: true,
  },
  {
    name: "a task that nobody ended when its time was over",
    statement: "update tasks set deadline_ms = -29998 where state = 'pending'",
    id: "I5",
    onlyFull: false,
  },
  {
    name: "a task that nobody took when its owner had died",
    statement: "update tasks set lease_until_ms = 1 where state = 'running'",
    nowMs: 60_002,
    id: "I5",
    onlyFull: false,
  },
  {
    name: "a task that runs and was never begun",
    statement: "update tasks set started_at_ms = null where state = 'running'",
    id: "I6",
    onlyFull: false,
  },
  {
    name: "a task that waits and was begun",
    statement: "update tasks set epoch = 1, started_at_ms = 1, provider = 'p' where state = 'pending'",
    id: "I6",
    onlyFull: false,
  },
  {
    name: "a task that completed and was never claimed",
    statement: "update tasks set epoch = 0, started_at_ms = null, provider = null where state = 'completed'",
    id: "I6",
    onlyFull: false,
  },
  {
    name: "what a task was asked that has ended",
    statement: "insert into task_payloads (task_id, sealed) select id, 'x' from tasks where state = 'failed'",
    id: "I6",
    onlyFull: false,
  },
  {
    name: "a task that waits and does not know for what",
    statement: "delete from task_payloads where task_id in (select id from tasks where state = 'pending')",
    id: "I6",
    onlyFull: false,
  },
];

describeOnEngines("an audit sees", (engine) => {
  let opened: OpenedBooks;
  let database: Database;
  beforeAll(async () => {
    opened = await openBooks(engine);
    await fill(opened);
    database = openAt(opened.books.place);
  });
  afterAll(async () => {
    await database.destroy();
    await opened.close();
  });

  for (const { name, statement, id, onlyFull, nowMs = 3 } of faults) {
    test(name, async () => {
      // The fault goes with its transaction: the next test has the same books.
      const tx = await database.startTransaction().execute();
      try {
        const wrong = async (full: boolean): Promise<readonly string[]> =>
          (await checkBooks(tx, engine.name, { full, nowMs })).checks
            .filter(({ ok }: Check) => !ok)
            .map((one) => one.id);
        expect([await wrong(false), await wrong(true)]).toEqual([[], []]);
        for (const unprotect of SCHEMA_WORDS[engine.name].unprotectLedger)
          await sql.raw(unprotect).execute(tx);
        await sql.raw(statement).execute(tx);
        expect([await wrong(false), await wrong(true)]).toEqual([onlyFull ? [] : [id].flat(), [id].flat()]);
      } finally {
        await tx.rollback().execute();
      }
    });
  }
});

/** Holds that ended in every way, and a task in every state. */
async function fill({ books, begin }: OpenedBooks): Promise<void> {
  await begin();
  await books.apply(
    books.grant("g", 1_000n),
    books.hold("settled", 100n),
    books.settle("settled", 60n),
    books.hold("fallback", 100n),
    books.settle("fallback", 60n, {
      served: { model: "m2", priceVersion: "v2", priceRules: "{}" },
      outcome: "cancelled",
      cost: 50n,
    }),
    books.hold("voided", 10n),
    books.voided("voided"),
    books.hold("abandoned", 10n),
    books.voided("abandoned", { outcome: "process_died" }),
    ...["waits", "runs", "completed", "failed", "cancelled"].map((task) => books.submit(task, 10n)),
  );
  await books.apply(
    ...["runs", "completed", "failed"].map((task) => books.claim(task, { leaseMs: 3_600_000 })),
    books.cancel("cancelled"),
  );
  await books.apply(books.finish("completed", 6n), books.fail("failed", { unfinished: true }));
}

describeOnEngines("an audit of tasks that are left", (engine) => {
  test("counts from when their time was over, and no earlier than from when somebody was there", async () => {
    const { books, begin, close } = await openBooks(engine);
    try {
      await begin();
      await books.apply(books.grant("g", 1_000n), books.submit("waits", 10n, { deadlineMs: 100_000 }));
      const left = async (nowMs: number, thereSinceMs?: number): Promise<boolean> => {
        const since = thereSinceMs === undefined ? {} : { thereSinceMs };
        const { checks } = await books.store.auditor({ full: false, nowMs, ...since });
        return checks.some(({ id, ok }) => id === "I5" && !ok);
      };
      expect(await left(130_000)).toBe(false);
      expect(await left(130_001)).toBe(true);
      expect(await left(500_000, 470_000)).toBe(false);
      expect(await left(500_000, 469_999)).toBe(true);
    } finally {
      await close();
    }
  });
});

test("an audit that finds many faults names five, and says how many more there are", async () => {
  const { books, begin, close } = await openBooks(SQLITE);
  try {
    await begin();
    const detailOf = async (holds: readonly string[]): Promise<string> => {
      await books.apply(...holds.flatMap((hold) => [books.hold(hold, 0n), books.voided(hold)]));
      await books.execute("update requests set outcome = 'another'");
      const { checks } = await books.store.auditor({ full: false, nowMs: 3 });
      return checks.find(({ ok }) => !ok)!.detail;
    };
    expect(await detailOf(["h1", "h2", "h3", "h4", "h5"])).toMatch(/: (t1-req-h\d, ){4}t1-req-h\d$/);
    expect(await detailOf(["h6"])).toMatch(/: (t1-req-h\d, ){4}t1-req-h\d and 1 more$/);
    expect(await detailOf(["h7"])).toMatch(/: (t1-req-h\d, ){4}t1-req-h\d and 2 more$/);
  } finally {
    await close();
  }
});

describeOnEngines("an audit that goes on where the last one stopped", (engine) => {
  test("passes by an old entry that was changed, which a full one sees", async () => {
    const { books, begin, close } = await openBooks(engine);
    try {
      await begin();
      await books.apply(books.grant("g", 1_000n), books.hold("h", 100n), books.settle("h", 60n));
      const { marks } = await books.store.auditor({ full: false, nowMs: 3 });
      expect(marks.length).toBeGreaterThan(0);
      await books.run({ kind: "mark_audited", marks: marks.flat() });
      for (const statement of SCHEMA_WORDS[engine.name].unprotectLedger) await books.execute(statement);
      await books.execute("update ledger set amount = amount + 1 where kind = 'grant'");
      const wrong = async (full: boolean): Promise<readonly string[]> => {
        const { checks } = await books.store.auditor({ full, nowMs: 3 });
        return checks.filter(({ ok }) => !ok).map(({ id }) => id);
      };
      expect(await wrong(false)).toEqual([]);
      expect(await wrong(true)).toContain("I1");
    } finally {
      await close();
    }
  });
});

describeOnEngines("an audit of one account", (engine) => {
  let opened: OpenedBooks;
  beforeEach(async () => {
    opened = await openBooks(engine);
    await opened.begin();
    await opened.books.apply(opened.books.grant("g", 1_000n));
  });
  afterEach(() => opened.close());
  const checkOf = async (id: string, nowMs = 3): Promise<Check | undefined> =>
    (await opened.books.store.auditor({ full: false, nowMs })).checks.find((one) => one.id === id);

  test("sees a hold that is open ten minutes after its time", async () => {
    const { books } = opened;
    await books.execute(
      "insert into price_versions (version, model, rules, created_at_ms) values ('v', 'm', '{}', 1)",
    );
    await books.execute(`insert into holds (id, account_id, key_id, request_id, boot_id, model, amount, expected_cost,
        state, price_version, created_at_ms, expires_at_ms)
      values ('h', '${books.id("a")}', '${books.id("k")}', 'r', 'b1', 'm', 0, 0, 'held', 'v', 1, 2)`);
    expect((await checkOf("I3", 600_002))?.ok).toBe(true);
    expect((await checkOf("I3", 600_003))?.detail).toEndWith(": h");
  });

  test("names what a journal had, and says how much more it was", async () => {
    const { books } = opened;
    const missing = (first: number, last: number): Promise<void> =>
      books.execute(`with recursive numbers (i) as (select ${first} union all select i + 1 from numbers where i < ${last})
        insert into journal_gaps (kind, reason, found_at_ms) select 'incomplete', 'gap ' || i, 1 from numbers`);
    expect((await checkOf("gaps"))?.ok).toBe(true);
    await missing(1, 2);
    expect((await checkOf("gaps"))?.detail).toEndWith(
      ": gap 1 (row 1 of journal_gaps), gap 2 (row 2 of journal_gaps)",
    );
    await missing(3, 1_001);
    expect((await checkOf("gaps"))?.detail).toEndWith("gap 5 (row 5 of journal_gaps) and 995 more");
  });

  test("marks it anew as far as something new has come, and else as far as before", async () => {
    const { books } = opened;
    const marked = async () => {
      const { marks } = await books.store.auditor({ full: false, nowMs: 3 });
      await books.run({ kind: "mark_audited", marks: marks.flat() });
      return marks.flat().find(({ subject }) => subject === books.id("a"))!;
    };
    const first = await marked();
    await books.apply(books.hold("h", 1n), books.voided("h"));
    const second = await marked();
    expect(second.ledgerSeq).toBe(first.ledgerSeq);
    expect(second.requestSeq).toBeGreaterThan(first.requestSeq);
    await books.apply(books.grant("g2", 1n));
    const third = await marked();
    expect(third.ledgerSeq).toBeGreaterThan(second.ledgerSeq);
    expect(third.requestSeq).toBe(second.requestSeq);
  });

  if (engine.name === "postgres")
    test("leaves no connection open", async () => {
      const { database } = opened.books.store;
      const connections = async (): Promise<number> => {
        const { rows } = await sql`select 1 from pg_stat_activity where datname = current_database()`.execute(
          database,
        );
        return rows.length;
      };
      const before = await connections();
      await checkOf("I1");
      expect(await connections()).toBe(before);
    });

  if (engine.name === "sqlite")
    test("sees holds of more than its balance, though they are all that is held", async () => {
      const { books } = opened;
      await books.apply(books.submit("waits", 10n));
      // As a program writes it that checks nothing.
      const file = openSqlite((books.place as { readonly file: string }).file);
      file.execute("pragma ignore_check_constraints = on");
      file.execute("update holds set amount = 5000");
      file.execute("update accounts set held = 5000");
      file.execute("update keys set held = 5000");
      file.close();
      const { checks } = await books.store.auditor({ full: false, nowMs: 3 });
      expect(checks.filter(({ ok }) => !ok).map(({ id }) => id)).toEqual(["I2", "allotted"]);
    });
});
