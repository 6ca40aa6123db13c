import { expect, test } from "bun:test";
import { describeOnEngines } from "../../test/gateway/engines.ts";
import { openBooks } from "../../test/ledger/books.ts";
import type { Check } from "./audit-checks.ts";

/** Rows as a fault of ours, or somebody with the store's password, might leave them. */
const faults = [
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
      from requests where charge > 0`,
    id: "I12",
    onlyFull: false,
  },
];

describeOnEngines("an audit sees", (engine) => {
  for (const { name, statement, id, onlyFull } of faults) {
    test(name, async () => {
      const { books, begin, close } = await openBooks(engine);
      try {
        await begin();
        await books.apply(
          books.grant("g", 1_000n),
          books.hold("settled", 100n),
          books.settle("settled", 60n),
          books.hold("voided", 10n),
          books.voided("voided"),
          books.hold("abandoned", 10n),
          books.voided("abandoned", { outcome: "process_died" }),
        );
        const wrong = async (full: boolean): Promise<readonly string[]> =>
          (await books.store.auditor({ full, nowMs: 3 })).checks
            .filter(({ ok }: Check) => !ok)
            .map((one) => one.id);
        expect([await wrong(false), await wrong(true)]).toEqual([[], []]);
        await books.execute(statement);
        expect([await wrong(false), await wrong(true)]).toEqual([onlyFull ? [] : [id], [id]]);
      } finally {
        await close();
      }
    });
  }
});
