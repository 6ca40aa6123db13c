import { type RecordStatement, readChanges, WRITES } from "./batch.ts";

/** What the journal had and the tables never get by themselves. */
export interface Gap {
  readonly kind: "incomplete" | "refused";
  /** A sentence. */
  readonly reason: string;
  /** The record that the tables refused. */
  readonly refused?: { readonly number: number; readonly text: string };
}

/** The statement that writes a gap down, where the audit finds it. */
export function gapStatement({ kind, reason, refused }: Gap, nowMs: number): RecordStatement {
  return {
    sql: "insert into journal_gaps (kind, reason, number, record, found_at_ms) values (?, ?, ?, ?, ?)",
    values: [kind, reason, refused?.number ?? null, refused?.text ?? null, nowMs],
  };
}

/** A request whose end is in a record. */
export interface RecordedEnd {
  readonly request: string;
  readonly account: string;
  /** In micro-credits. */
  readonly charge: bigint;
}

/** The requests that a record ends. */
export function endsIn(record: string): readonly RecordedEnd[] {
  const at = WRITES.findIndex(({ write }) => write.kind === "insert" && write.rows.table === "requests");
  const members = WRITES[at]?.members ?? [];
  const place = (member: string): number => members.indexOf(member);
  const [id, account, charge] = [place("id"), place("account"), place("charge")];
  return (readChanges(record).rows[at] ?? []).map((row) => ({
    request: String(row[id]),
    account: String(row[account]),
    charge: row[charge] as bigint,
  }));
}
