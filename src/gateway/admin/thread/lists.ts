import type { Engine } from "../../../db/engine.ts";
import type { Database } from "../../../db/schema.ts";
import { type AccountParts, listAccounts } from "../accounts.ts";
import { listEntries } from "../entries.ts";
import { type KeyAdminParts, listKeys } from "../keys.ts";
import type { PageRequest } from "../page.ts";
import { countRefusals, listRefusals, type RefusalCountRequest, type RefusalFilter } from "../refusals.ts";
import { listRequests, type RequestFilter } from "../requests.ts";
import { countTasks, listTasks, type TaskFilter } from "../tasks.ts";
import type { TimeRange } from "../time-range.ts";

/** What a use case asks one of its lists with. */
type AskedOf<
  Parts extends { readonly lists: Record<Name, (asked: never) => unknown> },
  Name extends keyof Parts["lists"],
> = Parameters<Parts["lists"][Name]>[0];

/** What the thread can list, and what each list is asked with. */
export interface ListRequests {
  readonly accounts: AskedOf<AccountParts, "accounts">;
  readonly keys: AskedOf<KeyAdminParts, "keys">;
  readonly entries: AskedOf<AccountParts, "entries">;
  readonly requests: {
    readonly filter: RequestFilter;
    readonly page: PageRequest;
    readonly isOwner: boolean;
  };
  readonly tasks: { readonly filter: TaskFilter; readonly page: PageRequest };
  readonly taskCounts: TimeRange;
  readonly refusals: { readonly filter: RefusalFilter; readonly page: PageRequest };
  readonly refusalCounts: RefusalCountRequest;
}

type Lists = {
  readonly [Name in keyof ListRequests]: (
    store: { readonly database: Database; readonly engine: Engine },
    asked: ListRequests[Name],
  ) => Promise<object>;
};

/** Each reads a list and makes the answer to the client of it. */
const LISTS: Lists = {
  accounts: ({ database }, { page, held }) => listAccounts(database, page, held),
  keys: ({ database }, { account, page, held }) => listKeys(database, account, page, held),
  entries: ({ database }, asked) => listEntries(database, asked),
  requests: ({ database, engine }, { filter, page, isOwner }) =>
    listRequests(database, engine, { filter, page, isOwner }),
  tasks: ({ database }, { filter, page }) => listTasks(database, filter, page),
  async taskCounts({ database }, range) {
    return { data: await countTasks(database, range) };
  },
  refusals: ({ database }, { filter, page }) => listRefusals(database, filter, page),
  async refusalCounts({ database }, asked) {
    return { data: await countRefusals(database, asked) };
  },
};

/** One list that is asked for. */
export type ListWork = {
  readonly [Name in keyof ListRequests]: { readonly list: Name; readonly asked: ListRequests[Name] };
}[keyof ListRequests];

/** The answer, as JSON. */
export async function listText(
  store: { readonly database: Database; readonly engine: Engine },
  work: ListWork,
): Promise<string> {
  const read = LISTS[work.list] as (from: typeof store, asked: object) => Promise<object>;
  return JSON.stringify(await read(store, work.asked));
}
