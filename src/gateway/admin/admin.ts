import type { Audit, AuditReport } from "../../ledger/audit/audit.ts";
import { type AccountAdmin, type AccountParts, createAccountAdmin } from "./accounts.ts";
import { checkFilters, type Named } from "./filters.ts";
import { createKeyAdmin, type KeyAdmin, type KeyAdminParts } from "./keys.ts";
import type { PageRequest } from "./page.ts";
import { checkRefusalFilter, type RefusalCountRequest, type RefusalFilter } from "./refusals.ts";
import { readRequest, type RequestDetail } from "./request.ts";
import type { RequestFilter } from "./requests.ts";
import type { TaskFilter } from "./tasks.ts";
import type { AdminThread } from "./thread/admin-thread.ts";
import type { ListRequests } from "./thread/lists.ts";
import type { TimeRange } from "./time-range.ts";
import { usageOf, type UsageParts, type UsageRequest } from "./usage.ts";
import { notFound } from "./views.ts";

/** The operator's use cases: accounts, credit and keys; requests, tasks and the audit. */
export interface Admin extends AccountAdmin, KeyAdmin {
  /** Paid requests that have ended, newest first, as JSON of a page; without what the operator owes where it is hidden. */
  requests(filter: RequestFilter, page: PageRequest, isOwner?: boolean): Promise<Uint8Array>;
  /** One of them. */
  request(id: string): Promise<RequestDetail>;
  /** Tasks, newest first, as JSON of a page. */
  tasks(filter: TaskFilter, page: PageRequest): Promise<Uint8Array>;
  /** How many tasks of a time are in each state, as JSON. */
  taskCounts(range: TimeRange): Promise<Uint8Array>;
  /** The usage of paid requests, as JSON. */
  usage(request: UsageRequest): Promise<Uint8Array>;
  /** Requests that were refused before a hold, newest first, as JSON of a page. */
  refusals(filter: RefusalFilter, page: PageRequest): Promise<Uint8Array>;
  /** How many there were, as JSON. */
  refusalCounts(request: RefusalCountRequest): Promise<Uint8Array>;
  /** Audits the books: what is new since the last audit, or everything when `full`. */
  audit(full: boolean): Promise<AuditReport>;
}

/** What the admin use cases are made of. */
export interface AdminParts
  extends Omit<AccountParts, "lists">, Omit<KeyAdminParts, "lists">, Omit<UsageParts, "thread"> {
  readonly thread: Pick<AdminThread, "usage" | "list">;
  readonly audit: Audit;
  /** Writes the refusals that have gathered. */
  readonly flushRefusals: () => Promise<void>;
}

/** Admin use cases over the store and the one writer. */
export function createAdmin(parts: AdminParts): Admin {
  const { database, thread, read, audit, flushRefusals } = parts;
  const lists = {
    accounts: (asked: ListRequests["accounts"]) => thread.list("accounts", asked),
    keys: (asked: ListRequests["keys"]) => thread.list("keys", asked),
    entries: (asked: ListRequests["entries"]) => thread.list("entries", asked),
  };
  const keys = createKeyAdmin({ ...parts, lists });
  /** Reads once the filter is known to name what there is. */
  const filtered = <Rows>(filter: Named, rows: () => Promise<Rows>): Promise<Rows> =>
    read(async () => {
      await checkFilters(parts, filter);
      return rows();
    });
  return {
    ...createAccountAdmin({ ...parts, lists }),
    ...keys,
    async keys(filter, page) {
      await filtered(filter, async () => undefined);
      return keys.keys(filter, page);
    },
    requests: (filter, page, isOwner = false) =>
      filtered(filter, () => thread.list("requests", { filter, page, isOwner })),
    async request(id) {
      const found = await read(() => readRequest(database, id));
      if (found === undefined) throw notFound("request", id);
      return found;
    },
    tasks: (filter, page) => filtered(filter, () => thread.list("tasks", { filter, page })),
    taskCounts: (range) => read(() => thread.list("taskCounts", range)),
    usage: (request) => usageOf(parts, request),
    async refusals(filter, page) {
      await flushRefusals();
      return filtered(filter, async () => {
        await checkRefusalFilter(database, filter);
        return thread.list("refusals", { filter, page });
      });
    },
    async refusalCounts(request) {
      await flushRefusals();
      return read(() => thread.list("refusalCounts", request));
    },
    audit: (full) => read(() => audit.run(full)),
  };
}
