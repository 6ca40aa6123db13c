/** What an address has beside the range of time: filters, a tab, an order. Absent: not set. */
export type Search<Name extends string> = { readonly [Key in Name]?: string | undefined };

/** Reads `names` out of an address; other members and empty ones are left out. */
export function readSearch<Name extends string>(
  search: Readonly<Record<string, unknown>>,
  names: readonly Name[],
): Search<Name> {
  const read: { [Key in Name]?: string } = {};
  for (const name of names) {
    const value = search[name];
    // The router reads digits as a number.
    if (typeof value === "string" ? value !== "" : typeof value === "number") read[name] = String(value);
  }
  return read;
}

/** Members of the address of the page Requests. */
export const REQUESTS_SEARCH = [
  "tab",
  "id",
  "model",
  "provider",
  "outcome",
  "status",
  "code",
  "account_id",
  "key_id",
  "group",
  "sort",
] as const;

/** Members of the address of the page Tasks. */
export const TASKS_SEARCH = [
  "id",
  "status",
  "kind",
  "model",
  "provider",
  "account_id",
  "key_id",
  "sort",
] as const;
