import type { Audit, AuditReport } from "../../ledger/audit/audit.ts";
import { type AccountAdmin, type AccountParts, createAccountAdmin } from "./accounts.ts";
import { checkFilters, type Named } from "./filters.ts";
import { createKeyAdmin, type KeyAdmin, type KeyAdminParts } from "./keys.ts";
import type { Page, PageRequest } from "./page.ts";
import {
  checkRefusalFilter,
  countRefusals,
  listRefusals,
  type RefusalCountRequest,
  type RefusalCountView,
  type RefusalFilter,
  type RefusalView,
} from "./refusals.ts";
import { readRequest, type RequestDetail } from "./request.ts";
import { listRequests, type RequestFilter, type RequestView } from "./requests.ts";
import { listTasks, type TaskFilter, type TaskView } from "./tasks.ts";
import { usageOf, type UsageParts, type UsageRequest } from "./usage.ts";
import { notFound } from "./views.ts";

/** The operator's use cases: accounts, credit and keys; requests, tasks and the audit. */
export interface Admin extends AccountAdmin, KeyAdmin {
  /** Paid requests that have ended, newest first. */
  requests(filter: RequestFilter, page: PageRequest): Promise<Page<RequestView>>;
  /** One of them. */
  request(id: string): Promise<RequestDetail>;
  /** Tasks, newest first. */
  tasks(filter: TaskFilter, page: PageRequest): Promise<Page<TaskView>>;
  /** The usage of paid requests, as JSON. */
  usage(request: UsageRequest): Promise<Uint8Array>;
  /** Requests that were refused before a hold, newest first. */
  refusals(filter: RefusalFilter, page: PageRequest): Promise<Page<RefusalView>>;
  refusalCounts(request: RefusalCountRequest): Promise<readonly RefusalCountView[]>;
  /** Audits the books: what is new since the last audit, or everything when `full`. */
  audit(full: boolean): Promise<AuditReport>;
}

/** What the admin use cases are made of. */
export interface AdminParts extends AccountParts, KeyAdminParts, UsageParts {
  readonly audit: Audit;
  /** Writes the refusals that have gathered. */
  readonly flushRefusals: () => Promise<void>;
}

/** Admin use cases over the store and the one writer. */
export function createAdmin(parts: AdminParts): Admin {
  const { database, read, audit, flushRefusals } = parts;
  const keys = createKeyAdmin(parts);
  /** Reads once the filter is known to name what there is. */
  const filtered = <Rows>(filter: Named, rows: () => Promise<Rows>): Promise<Rows> =>
    read(async () => {
      await checkFilters(parts, filter);
      return rows();
    });
  return {
    ...createAccountAdmin(parts),
    ...keys,
    async keys(filter, page) {
      await filtered(filter, async () => undefined);
      return keys.keys(filter, page);
    },
    requests: (filter, page) => filtered(filter, () => listRequests(database, filter, page)),
    async request(id) {
      const found = await read(() => readRequest(database, id));
      if (found === undefined) throw notFound("request", id);
      return found;
    },
    tasks: (filter, page) => filtered(filter, () => listTasks(database, filter, page)),
    usage: (request) => usageOf(parts, request),
    async refusals(filter, page) {
      await flushRefusals();
      return filtered(filter, async () => {
        await checkRefusalFilter(database, filter);
        return listRefusals(database, filter, page);
      });
    },
    async refusalCounts(request) {
      await flushRefusals();
      return read(() => countRefusals(database, request));
    },
    audit: (full) => read(() => audit.run(full)),
  };
}
