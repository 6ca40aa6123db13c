import { ADMIN_TOKEN } from "../gateway/gateway.ts";
import type { Bank } from "./money.ts";

// What the tests of bills ask, and where they look for the charge.

/** One token each, as the double counts them. */
export const WORDS =
  "The quick brown foxes jump over many lazy dogs while seven small wizards watch from under old trees ."
    .split(" ")
    .map((word, i) => (i === 0 ? word : ` ${word}`));
export const PROMPT =
  "Please tell me a short story about foxes and dogs , and do not make it longer than it needs to be .";
export const PROMPT_TOKENS = PROMPT.split(" ").length;

/** The digits of the last `credit` in an answer, as they stand in its bytes. */
export function creditDigits(text: string): string | undefined {
  return [...text.matchAll(/"credit":([^,}]+)/g)].at(-1)?.[1];
}

/** What the ledger has for a request, as digits from the admin interface's bytes. */
export async function ledgerDigits(
  { books, gateway }: Bank,
  requestId: string | null,
): Promise<string | undefined> {
  const row = await books
    .selectFrom("ledger")
    .select("seq")
    .where("request_id", "=", requestId)
    .where("kind", "=", "settle")
    .executeTakeFirst();
  if (row === undefined) return undefined;
  const path = `/accounts/${gateway.accountId}/ledger?limit=1&after=${row.seq - 1n}`;
  const response = await fetch(`${gateway.url}/admin/v1${path}`, {
    headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
  });
  return /"amount":-?([^,}]+)/.exec(await response.text())?.[1];
}
