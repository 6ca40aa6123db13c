import { read } from "../../api/client.ts";
import { readSearch, type Search, type TASKS_SEARCH } from "../../lists/search.ts";
import { timedPages } from "../../lists/timed-pages.ts";
import type { PagesOptions } from "../../lists/use-pages.ts";
import type { RangeSearch } from "../../shell/range.ts";
import type { TaskRow } from "./types.ts";

/** What the list of tasks can be filtered by, beside their state. */
export const TASK_FILTERS = ["id", "kind", "model", "provider", "account_id", "key_id"] as const;

const EVERY_MS = 3_000;

/** Tasks, newest first. */
export function taskPages(
  search: Search<(typeof TASKS_SEARCH)[number]>,
  time: RangeSearch,
): PagesOptions<TaskRow> {
  const filter = readSearch(search, [...TASK_FILTERS, "status"]);
  const pages = timedPages(["tasks", "list"], filter, time, (query, signal) =>
    read("/admin/v1/tasks", { query, signal }),
  );
  return { ...pages, everyMs: EVERY_MS };
}
