import type { Audit, AuditReport } from "../../ledger/audit/audit.ts";
import { type AccountAdmin, type AccountParts, createAccountAdmin } from "./accounts.ts";
import { createKeyAdmin, type KeyAdmin, type KeyAdminParts } from "./keys.ts";
import type { Page, PageRequest } from "./page.ts";
import { listRequests, type RequestFilter, type RequestView } from "./requests.ts";
import { listTasks, type TaskFilter, type TaskView } from "./tasks.ts";

/** The operator's use cases: accounts, credit and keys; requests, tasks and the audit. */
export interface Admin extends AccountAdmin, KeyAdmin {
  /** Paid requests that have ended, newest first. */
  requests(filter: RequestFilter, page: PageRequest): Promise<Page<RequestView>>;
  /** Tasks, newest first. */
  tasks(filter: TaskFilter, page: PageRequest): Promise<Page<TaskView>>;
  /** Audits the books: what is new since the last audit, or everything when `full`. */
  audit(full: boolean): Promise<AuditReport>;
}

/** What the admin use cases are made of. */
export interface AdminParts extends AccountParts, KeyAdminParts {
  readonly audit: Audit;
}

/** Admin use cases over the store and the one writer. */
export function createAdmin(parts: AdminParts): Admin {
  const { database, read, audit } = parts;
  return {
    ...createAccountAdmin(parts),
    ...createKeyAdmin(parts),
    requests: (filter, page) => read(() => listRequests(database, filter, page)),
    tasks: (filter, page) => read(() => listTasks(database, filter, page)),
    audit: (full) => read(() => audit.run(full)),
  };
}
