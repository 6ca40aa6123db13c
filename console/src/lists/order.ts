/** What rows are ordered by: a column's `order` and its values. */
interface Ordered<Row> {
  readonly order?: string;
  readonly text?: (row: Row) => string | number | null;
  readonly rank?: (row: Row) => number | null;
}

/**
 * The rows by the column that `by` names, with `-` before it for the largest first; rows without a value stand last. Any
 * other `by` leaves them as they are.
 */
export function inOrder<Row>(
  rows: readonly Row[],
  columns: readonly Ordered<Row>[],
  by: string | undefined,
): readonly Row[] {
  const isDown = by?.startsWith("-") === true;
  const column = columns.find(({ order }) => order !== undefined && order === by?.slice(isDown ? 1 : 0));
  const value = column?.rank ?? column?.text;
  if (value === undefined) return rows;
  return rows.toSorted((one, other) => {
    const [a, b] = [value(one), value(other)];
    if (a === null || b === null) return Number(a === null) - Number(b === null);
    const less = a < b ? -1 : Number(a > b);
    return isDown ? -less : less;
  });
}
