/** A page of a list of the API. */
export interface ListPage<Row> {
  readonly data: readonly Row[];
  readonly next: string | null;
}

/** Reads a page of a list; an absent `limit` is as many rows as the list shows at a time. */
export type ReadPage<Row> = (
  after: string | undefined,
  signal: AbortSignal,
  limit?: number,
) => Promise<ListPage<Row>>;

/** The most rows that one read gives. */
export const MOST_PER_READ = 1_000;

/** More rows than these are no file for a spreadsheet: programs read the list by the API. */
export const MOST_EXPORTED = 50_000;

/**
 * Reads a list from its beginning to its end, or to the first `MOST_EXPORTED` rows. `told` hears how many there are so
 * far.
 */
export async function readWhole<Row>(
  read: ReadPage<Row>,
  told: (rows: number) => void,
  signal: AbortSignal,
): Promise<{ readonly rows: readonly Row[]; readonly isWhole: boolean }> {
  const rows: Row[] = [];
  let after: string | undefined;
  do {
    const { data, next } = await read(after, signal, MOST_PER_READ);
    rows.push(...data);
    told(rows.length);
    after = next ?? undefined;
  } while (after !== undefined && rows.length < MOST_EXPORTED);
  return { rows, isWhole: after === undefined };
}
