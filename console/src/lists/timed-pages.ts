import { type RangeSearch, rangeOf } from "../shell/range.ts";
import type { ListPage } from "./read-whole.ts";
import { PAGE_SIZE, type PagesOptions } from "./use-pages.ts";

/** The filters of a list. An address may have any text there: the API refuses what it does not know. */
type Filter = Readonly<Record<string, string | undefined>>;

/** What every list of the API takes; its filters stand beside it. */
interface PageQuery {
  readonly from?: number;
  readonly to?: number;
  readonly after: string | undefined;
  readonly limit: number;
}

/**
 * The pages of a list, of the rows that its filters and a range of time leave. A row that is looked for by its id is found
 * whenever it was. A range with a name ends when the list is read, so that it shows what has come since.
 */
export function timedPages<Row>(
  key: readonly unknown[],
  filter: Filter,
  { range, from, to }: RangeSearch,
  readRows: (query: PageQuery, signal: AbortSignal) => Promise<ListPage<Row>>,
): PagesOptions<Row> {
  const time = { range, from, to };
  return {
    key: [...key, filter, time],
    read(after, signal, limit = PAGE_SIZE) {
      const { from: begin, to: end } = rangeOf(time, Date.now() / 1_000);
      const when =
        filter["id"] === undefined ? { from: begin, ...(to === undefined ? {} : { to: end }) } : {};
      return readRows({ ...filter, ...when, after, limit }, signal);
    },
  };
}
