import { read } from "../../api/client.ts";
import { queryOptions } from "@tanstack/solid-query";
import { createMemo } from "solid-js";
import { useQuery } from "../../api/query.ts";
import { MOST_PER_READ } from "../../lists/read-whole.ts";
import { PAGE_SIZE, usePages } from "../../lists/use-pages.ts";
import type { TimeRange } from "../../shell/range.ts";
import type { UsageOf } from "../overview/types.ts";
import { usageQuery } from "../overview/reads.ts";
import type { Account, Key } from "./types.ts";

/** How often amounts are read anew while the page is visible. */
const EVERY_MS = 10_000;
/** How often what is spent in a range is. */
const SPENT_EVERY_MS = 30_000;

/** One account. */
export function accountQuery(id: string) {
  return queryOptions({
    queryKey: ["accounts", "one", id],
    queryFn: ({ signal }) => read("/admin/v1/accounts/{id}", { path: { id }, signal }),
    refetchInterval: EVERY_MS,
  });
}

/** One key. */
export function keyQuery(id: string) {
  return queryOptions({
    queryKey: ["keys", "one", id],
    queryFn: ({ signal }) => read("/admin/v1/keys/{id}", { path: { id }, signal }),
    refetchInterval: EVERY_MS,
  });
}

/** Filters and orders of these lists need all rows: what follows the first page is read in few steps. */
function limitOf(after: string | undefined): number {
  return after === undefined ? PAGE_SIZE : MOST_PER_READ;
}

/** Accounts, page after page. */
export function useAccounts() {
  return usePages<Account>(() => ({
    key: ["accounts", "list"],
    everyMs: EVERY_MS,
    read: (after, signal, limit = limitOf(after)) =>
      read("/admin/v1/accounts", { query: { after, limit }, signal }),
  }));
}

/** Keys, of one account or of all, page after page. */
export function useKeys(account: () => string | undefined) {
  return usePages<Key>(() => ({
    key: ["keys", "list", account()],
    everyMs: EVERY_MS,
    read: (after, signal, limit = limitOf(after)) =>
      read("/admin/v1/keys", { query: { account_id: account(), after, limit }, signal }),
  }));
}

/** What each account or key has spent in a range; `undefined` until it is read. */
export function useSpent(range: () => TimeRange, by: "account" | "key", whose: () => UsageOf = () => ({})) {
  const usage = useQuery(() =>
    usageQuery(["credit"], { ...range(), ...whose(), interval: "all", group_by: by }, SPENT_EVERY_MS),
  );
  const spent = createMemo(() => {
    const rows = usage.data?.data;
    return rows && new Map(rows.map(({ group, credit }) => [group, credit]));
  });
  return (id: string): number | undefined => {
    const present = spent();
    return present && (present.get(id) ?? 0);
  };
}
