import { queryOptions } from "@tanstack/solid-query";
import { type Entry, read } from "../api/client.ts";
import type { ListPage } from "./read-whole.ts";

type Account = Entry<"/admin/v1/accounts">;

/** The most that one read gives. */
const LIMIT = 1_000;

/** The accounts that a key can be made for, oldest first. */
export const openAccountsQuery = queryOptions({
  queryKey: ["accounts", "open"],
  // A form that is opened offers what is open now.
  staleTime: 0,
  queryFn: ({ signal }) =>
    openAmong((after) => read("/admin/v1/accounts", { query: { after, limit: LIMIT }, signal })),
});

/** Reads all pages; a closed account stays closed, so it is not offered. */
export async function openAmong<Row extends Pick<Account, "status">>(
  readPage: (after: string | undefined) => Promise<ListPage<Row>>,
): Promise<readonly Row[]> {
  const open: Row[] = [];
  let after: string | undefined;
  do {
    const { data, next } = await readPage(after);
    open.push(...data.filter(({ status }) => status !== "closed"));
    after = next ?? undefined;
  } while (after !== undefined);
  return open;
}

/** The id of the wished account, or of the first one where that is not among them. */
export function chosenOf(
  accounts: readonly Pick<Account, "id">[],
  wished: string | undefined,
): string | undefined {
  return accounts.some(({ id }) => id === wished) ? wished : accounts[0]?.id;
}
