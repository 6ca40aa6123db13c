import { type BooksState, noState } from "../../src/ledger/decide/state.ts";
import type { AccountRow, HoldRow, KeyRow } from "../../src/ledger/rows.ts";

/** Rows as a store would have read them: the account has 100 with 60 held by `h`, unless told otherwise. */
export function stateRead(more: {
  readonly account?: Partial<AccountRow>;
  readonly key?: Partial<KeyRow>;
  readonly hold?: Partial<HoldRow>;
  readonly entries?: BooksState["entries"];
}): BooksState {
  const account: AccountRow = { id: "a", status: "active", balance: 100n, held: 60n, ...more.account };
  const key = {
    id: "k",
    account: "a",
    revokedAtMs: null,
    expiresAtMs: null,
    budget: null,
    spent: 0n,
    held: 60n,
  };
  const made: HoldRow = {
    id: "h",
    account: "a",
    key: "k",
    requestId: "r",
    boot: "b1",
    model: "m",
    priceVersion: "v",
    amount: 60n,
    expectedCost: 20n,
    state: "held",
    settled: null,
    endReason: null,
    createdAtMs: 1,
    expiresAtMs: 2,
    endedAtMs: null,
    task: null,
  };
  return {
    ...noState(),
    accounts: new Map([["a", account]]),
    keys: new Map([["k", { ...key, ...more.key }]]),
    holds: new Map([["h", { ...made, ...more.hold }]]),
    entries: more.entries ?? new Map(),
  };
}
