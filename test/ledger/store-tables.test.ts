import { describe, expect, test } from "bun:test";
import { describeOnEngines } from "../gateway/engines.ts";
import {
  ACCOUNTS,
  AUDIT_MARKS,
  ENTRIES,
  HOLDS,
  ISSUED_KEYS,
  KEYS,
  PRICE_VERSIONS,
  REQUESTS,
  type Rows,
  TASKS,
} from "../../src/ledger/rows.ts";
import { useBooks } from "./books.ts";

describeOnEngines("the store refuses, whoever asks,", (engine) => {
  const books = useBooks(engine);

  describe("to change the ledger:", () => {
    const statements = [
      "update ledger set amount = 1",
      "update ledger set reason = 'x' where kind = 'grant'",
      "delete from ledger",
      "delete from ledger where kind = 'settle'",
      engine.name === "postgres"
        ? "truncate ledger"
        : `insert or replace into ledger
            (seq, cause, account_id, counter, amount, balance_after, kind, created_at_ms)
           select seq, cause, account_id, counter, 999, 999, kind, created_at_ms from ledger`,
      engine.name === "postgres"
        ? `insert into ledger (cause, account_id, counter, amount, balance_after, kind, created_at_ms)
           select cause, account_id, counter, 999, 999, kind, created_at_ms from ledger
           on conflict (cause) do update set amount = 999`
        : `insert into ledger (cause, account_id, counter, amount, balance_after, kind, created_at_ms)
           select cause, account_id, counter, 999, 999, kind, created_at_ms from ledger where true
           on conflict (cause) do update set amount = 999`,
    ];
    for (const statement of statements) {
      test(statement.replaceAll(/\s+/g, " "), async () => {
        await books.apply(books.grant("g", 10n), books.hold("h", 5n), books.settle("h", 3n));
        const before = await books.entries("");
        expect(before).toHaveLength(2);
        let refusal: unknown;
        await books.execute(statement).catch((error: unknown) => (refusal = error));
        expect(String(refusal)).toContain("ledger rows are never");
        expect(await books.entries("")).toEqual(before);
        await books.audit();
      });
    }
  });

  describe("a row that cannot be:", () => {
    const mine = (column: string): string => `${column} = '${books.id("a")}'`;
    const statements: readonly { readonly name: string; readonly text: () => string }[] = [
      { name: "a balance below nothing", text: () => `update accounts set balance = -1 where ${mine("id")}` },
      {
        name: "more held than there is",
        text: () => `update accounts set held = balance + 1 where ${mine("id")}`,
      },
      { name: "less held than nothing", text: () => `update accounts set held = -1 where ${mine("id")}` },
      {
        name: "a balance that a number cannot tell",
        text: () => `update accounts set balance = 9007199254740992 where ${mine("id")}`,
      },
      {
        name: "a status that there is not",
        text: () => `update accounts set status = 'x' where ${mine("id")}`,
      },
      {
        name: "an ended hold that is open",
        text: () => `update holds set state = 'held' where ${mine("account_id")}`,
      },
      {
        name: "a state that there is not",
        text: () => `update holds set state = 'lost' where ${mine("account_id")}`,
      },
      {
        name: "a settled hold without its charge",
        text: () => `update holds set settled = null where ${mine("account_id")}`,
      },
      {
        name: "a hold of less than nothing",
        text: () => `update holds set amount = -1 where ${mine("account_id")}`,
      },
      {
        name: "a key that spent less than nothing",
        text: () => `update keys set spent = -1 where ${mine("account_id")}`,
      },
      {
        name: "a key that holds less than nothing",
        text: () => `update keys set held = -1 where ${mine("account_id")}`,
      },
      {
        name: "a budget below nothing",
        text: () => `update keys set budget = -1 where ${mine("account_id")}`,
      },
      {
        name: "a charge below nothing",
        text: () => `update requests set charge = -1 where ${mine("account_id")}`,
      },
      { name: "an account without its keys' money", text: () => `delete from accounts where ${mine("id")}` },
      { name: "a hold of unknown prices", text: () => `delete from price_versions where version = 'v'` },
      {
        name: "a counter that there is not",
        text: () => `insert into ledger (cause, account_id, counter, amount, balance_after, kind, created_at_ms)
          values ('${books.id("x")}', 'a', 'pocket', 1, 1, 'grant', 1)`,
      },
      {
        name: "a second entry of one cause",
        text: () => `insert into ledger (cause, account_id, counter, amount, balance_after, kind, created_at_ms)
          values ('${books.id("g")}:grant', 'a', 'funding', 1, 1, 'grant', 1)`,
      },
      {
        name: "text for a number",
        text: () => `update accounts set balance = 'ten' where ${mine("id")}`,
      },
    ];
    for (const { name, text } of statements) {
      test(name, async () => {
        await books.apply(books.grant("g", 10n), books.hold("h", 5n), books.settle("h", 3n));
        let refusal: unknown;
        await books.execute(text()).catch((error: unknown) => (refusal = error));
        expect(String(refusal)).toMatch(/constraint|cannot store|invalid input syntax/i);
        await books.audit();
      });
    }
  });
});

describeOnEngines("the ledger describes its rows", (engine) => {
  const books = useBooks(engine);

  /** The columns of the real table by name, each as text or a whole number. */
  const columnsOf = async (table: string): Promise<ReadonlyMap<string, string>> => {
    const tables = await books.store.database.introspection.getTables();
    const columns = tables.find(({ name }) => name === table)?.columns ?? [];
    return new Map(
      columns.map(({ name, dataType }) => [name, /int/i.test(dataType) ? "whole" : dataType.toLowerCase()]),
    );
  };
  const described = ({ columns }: Rows): ReadonlyMap<string, string> =>
    new Map(Object.values(columns).map(({ name, kind }) => [name, kind === "text" ? "text" : "whole"]));

  for (const rows of [
    ACCOUNTS,
    KEYS,
    ISSUED_KEYS,
    PRICE_VERSIONS,
    HOLDS,
    ENTRIES,
    REQUESTS,
    TASKS,
    AUDIT_MARKS,
  ]) {
    test(`as the table ${rows.table} is`, async () => {
      const real = await columnsOf(rows.table);
      for (const [name, type] of described(rows)) expect([name, real.get(name)]).toEqual([name, type]);
    });
  }

  // Of accounts and keys it changes amounts alone.
  for (const rows of [PRICE_VERSIONS, HOLDS, ENTRIES, REQUESTS, TASKS, AUDIT_MARKS]) {
    test(`with every column of ${rows.table} that it fills`, async () => {
      const names = new Set((await columnsOf(rows.table)).keys());
      expect(new Set([...described(rows).keys(), "seq"])).toEqual(names.add("seq"));
    });
  }
});
