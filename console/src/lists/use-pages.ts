import { keepPreviousData } from "@tanstack/solid-query";
import { createEffect, createMemo } from "solid-js";
import { useInfiniteQuery } from "../api/query.ts";
import { type ListPage, MOST_EXPORTED, type ReadPage, readWhole } from "./read-whole.ts";

/** How a list is read. */
export interface PagesOptions<Row> {
  /**
   * What the list shows, by what it is kept. While a list of other filters or another range is read, the rows of the one
   * before stand in its place, and `isPlaceholderData` says so.
   */
  readonly key: readonly unknown[];
  readonly read: ReadPage<Row>;
  /** How often it is read anew while the page can be seen. */
  readonly everyMs?: number;
}

/** Rows of a page of a list. */
export const PAGE_SIZE = 100;

/** Reading more pages anew than this is left to the reader. */
const MOST_LIVE_PAGES = 3;

/** A list of the API as a query of the cache. */
export function pagesQuery<Row>({ key, read, everyMs }: PagesOptions<Row>) {
  return {
    queryKey: [...key],
    queryFn: ({ pageParam, signal }: { pageParam: string | undefined; signal: AbortSignal }) =>
      read(pageParam, signal),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next }: ListPage<Row>) => next ?? undefined,
    placeholderData: keepPreviousData,
    // Rows that are read again stay the elements that they were.
    reconcile: "id",
    refetchInterval: ({ state }: { state: { data?: { pages: readonly unknown[] } | undefined } }) =>
      everyMs !== undefined && (state.data?.pages.length ?? 0) <= MOST_LIVE_PAGES ? everyMs : false,
  };
}

/** A list of the API, page after page. */
export function usePages<Row extends { readonly id: string }>(options: () => PagesOptions<Row>) {
  const query = useInfiniteQuery(() => pagesQuery(options()));
  const rows = createMemo((): readonly Row[] => (query.data?.pages ?? []).flatMap(({ data }) => data));
  return {
    query,
    rows,
    /** What an export reads beside the rows. */
    rest: {
      most: MOST_EXPORTED,
      isLeft: () => query.hasNextPage,
      readAll: (told: (count: number) => void, signal: AbortSignal) =>
        readWhole(options().read, told, signal),
    },
    /** What `Loaded` draws by. */
    state: {
      get data() {
        return query.data === undefined ? undefined : rows();
      },
      get error() {
        return query.error;
      },
      refetch: () => query.refetch(),
    },
  };
}

/** A list of which more pages can be read. */
interface Paged {
  readonly hasNextPage: boolean;
  readonly isFetching: boolean;
  readonly isError: boolean;
  fetchNextPage(): Promise<unknown>;
}

/** Reads the pages that are left while `isWanted`: filters of the console find only what it has read. */
export function readOnWhile(query: Paged, isWanted: () => boolean): void {
  createEffect(() => {
    if (isWanted() && query.hasNextPage && !query.isFetching && !query.isError) void query.fetchNextPage();
  });
}
