import type { GatheredRefusals } from "../../../ledger/refusals.ts";
import type { ShownUsage } from "../usage-text.ts";
import type { ListWork } from "./lists.ts";

/** Where the store of the thread is. */
export type ThreadPlace = { readonly file: string } | { readonly url: string };

/** What the thread is asked to do. */
export type AdminWork =
  | { readonly sql: string; readonly parameters: readonly unknown[] }
  | { readonly usage: ShownUsage }
  | ListWork
  | { readonly rollUp: true }
  | { readonly refusals: GatheredRefusals };

/** The answer to each. */
export type AdminDone =
  /** JSON of so many rows at a time, each a list of values in the order of `columns`. */
  | { readonly columns: readonly string[]; readonly parts: readonly string[] }
  /** JSON of the answer to the client. */
  | { readonly bytes: Uint8Array<ArrayBuffer> }
  | { readonly more: boolean }
  | { readonly error: string };

/** Rows that the main thread reads in one turn: less than a millisecond's worth. */
const PART = 100;

/** Rows as text, which is read again faster than rows that are copied. An integer of 64 bits stands in a list. */
export function writeRows(rows: readonly Readonly<Record<string, unknown>>[]): AdminDone {
  const columns = Object.keys(rows[0] ?? {});
  const parts: string[] = [];
  for (let at = 0; at < rows.length; at += PART) {
    const values = rows.slice(at, at + PART).map((row) => columns.map((column) => toJson(row[column])));
    parts.push(JSON.stringify(values));
  }
  return { columns, parts };
}

/** The rows of one part. */
export function readPart(columns: readonly string[], part: string): readonly object[] {
  return (JSON.parse(part) as unknown[][]).map((values) => {
    const row: Record<string, unknown> = {};
    for (const [i, column] of columns.entries()) row[column] = fromJson(values[i]);
    return row;
  });
}

function toJson(value: unknown): unknown {
  if (typeof value !== "bigint") return value;
  const number = Number(value);
  return [Number.isSafeInteger(number) ? number : String(value)];
}

function fromJson(value: unknown): unknown {
  return Array.isArray(value) ? BigInt(value[0] as number | string) : value;
}
