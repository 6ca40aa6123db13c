/** A statement of the PostgreSQL client: text, name under which the server keeps it, values. */
export interface Statement {
  readonly name: string;
  readonly text: string;
  readonly values: readonly unknown[];
}

/** One array for each of the members, in the order of the rows. */
export function columns<Row>(rows: readonly Row[], members: readonly (keyof Row)[]): unknown[][] {
  return members.map((member) => rows.map((row) => row[member]));
}

/** Rows as JSON, amounts as decimal text: PostgreSQL reads both alike, and no digit is lost on the way. */
export function toJson(rows: readonly object[]): string {
  if (rows.length === 0) return "[]";
  return JSON.stringify(rows, (_, value: unknown) => (typeof value === "bigint" ? String(value) : value));
}
