import type { MicroCredits } from "../../core/money/credits.ts";
import { type BooksState, NO_REFERENCES, type References } from "../decide/state.ts";
import { readChanges, WRITES } from "./batch.ts";
import type { JournalRecord, ReadJournal } from "./journal-file.ts";

/** A journal as its files are, and as it should be. */
export interface CheckedJournal {
  readonly files: ReadJournal | undefined;
  readonly id: string;
  /** The tables' mark. */
  readonly mark: number;
  /** The number of the last record that this run has written; 0 for none. */
  readonly written: number;
}

/** The tables, and the accounts and keys that this process goes by. */
interface Sides {
  readonly known: BooksState;
  load(references: References): Promise<BooksState>;
}

/**
 * What is wrong between the journal's files, the tables and memory, at one moment. Each difference is a sentence, or
 * the id of the account or key. `gathered` is what this process has yet to bring into the tables.
 */
export async function journalFaults(
  { files, id, mark, written }: CheckedJournal,
  gathered: readonly JournalRecord[],
  { known, load }: Sides,
): Promise<readonly string[]> {
  if (files === undefined || files.id !== id) return ["the files of the journal are gone or of another one"];
  const last = files.records.at(-1)?.number ?? 0;
  if (written > 0 && last !== written)
    return [`the journal ends at record ${last}, and ${written} was written`];
  const isAfter = ({ number }: JournalRecord): boolean => number > mark;
  const after = files.records.filter(isAfter);
  // A move whose answer was lost has brought records into the tables that this process will bring there again.
  const due = gathered.filter(isAfter);
  const isSame = after.length === due.length && after.every(({ text }, i) => text === due[i]?.text);
  if (!isSame) return [`${after.length} records follow the tables' mark ${mark}, and ${due.length} should`];
  const sums = sumsOf(after);
  const found = await load({
    ...NO_REFERENCES,
    accounts: new Set(sums.accounts.keys()),
    keys: new Set(sums.keys.keys()),
  });
  const wrong: string[] = [];
  for (const [account, moved] of sums.accounts) {
    const balance = known.accounts.get(account)?.balance;
    const inTables = found.accounts.get(account)?.balance;
    if (balance !== undefined && inTables !== undefined && inTables + moved !== balance) wrong.push(account);
  }
  for (const [key, moved] of sums.keys) {
    const spent = known.keys.get(key)?.spent;
    const inTables = found.keys.get(key)?.spent;
    if (spent !== undefined && inTables !== undefined && inTables + moved !== spent) wrong.push(key);
  }
  return wrong;
}

/** By how much records change the balance of each account, and what each key has spent. */
function sumsOf(records: readonly JournalRecord[]): {
  readonly accounts: ReadonlyMap<string, MicroCredits>;
  readonly keys: ReadonlyMap<string, MicroCredits>;
} {
  const sums = { accounts: new Map<string, MicroCredits>(), keys: new Map<string, MicroCredits>() };
  const changed = [
    { into: sums.accounts, ...placeOf("accounts", "balance") },
    { into: sums.keys, ...placeOf("keys", "spent") },
  ];
  for (const { text } of records) {
    const { rows } = readChanges(text);
    for (const { into, at, id, amount } of changed)
      for (const row of rows[at] ?? []) {
        const name = String(row[id]);
        into.set(name, (into.get(name) ?? 0n) + (row[amount] as bigint));
      }
  }
  return sums;
}

/** Where the changes of a table stand in a record, and in each its id and its amount. */
function placeOf(table: string, amount: string) {
  const at = WRITES.findIndex(({ write }) => write.kind === "update" && write.rows.table === table);
  const members = WRITES[at]?.members ?? [];
  return { at, id: members.indexOf("id"), amount: members.indexOf(amount) };
}
