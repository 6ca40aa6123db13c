import { read } from "../../api/client.ts";
import type { REQUESTS_SEARCH, Search } from "../../lists/search.ts";
import { filterOf, timedPages } from "../../lists/timed-pages.ts";
import type { PagesOptions } from "../../lists/use-pages.ts";
import type { RangeSearch } from "../../shell/range.ts";
import { LISTED, type RefusalRow, type RequestRow } from "./types.ts";

type RequestsSearch = Search<(typeof REQUESTS_SEARCH)[number]>;

/** What the lists of paid and of refused requests can be filtered by. */
export const PAID_FILTERS = ["id", "model", "provider", "outcome", "account_id", "key_id"] as const;
export const REFUSED_FILTERS = ["id", "model", "status", "code", "account_id", "key_id"] as const;

/** Paid requests that have ended, newest first. */
export function paidPages(search: RequestsSearch, time: RangeSearch): PagesOptions<RequestRow> {
  return timedPages(LISTED, filterOf(search, PAID_FILTERS), time, (query, signal) =>
    read("/admin/v1/requests", { query, signal }),
  );
}

/** Requests that were refused before anything was held for them, newest first. */
export function refusedPages(search: RequestsSearch, time: RangeSearch): PagesOptions<RefusalRow> {
  return timedPages(["refusals", "list"], filterOf(search, REFUSED_FILTERS), time, (query, signal) =>
    read("/admin/v1/refusals", { query, signal }),
  );
}
