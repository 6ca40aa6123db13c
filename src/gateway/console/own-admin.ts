import type { Caller } from "../../core/caller.ts";
import { GatewayError, quoted } from "../../core/errors.ts";
import type { Admin } from "../admin/admin.ts";
import type { Operations } from "../admin/operations.ts";
import { withoutBalance } from "../admin/entries.ts";
import { unknown } from "../admin/filters.ts";
import { forOwner } from "../admin/requests.ts";
import { notFound } from "../admin/views.ts";
import type { Tasks } from "../../tasks/tasks.ts";

/**
 * The admin use cases as the holder of a key may use them: reads of that key's own rows, without what the operator owes
 * providers. Every other use case, and any that is added to `Admin`, is refused.
 */
export function ownAdmin(admin: Admin, { keyId, accountId }: Caller): Admin {
  /** The filter, for the own key; one of others is a 400. */
  const own = <Filter extends OwnerFilter>(filter: Filter): Filter => {
    onlyOwn("key_id", filter.key_id, keyId);
    onlyOwn("account_id", filter.account_id, accountId);
    return { ...filter, key_id: keyId, account_id: accountId };
  };
  return {
    ...allRefused(admin),
    requests: async (filter, page) => withoutProviders(filter, () => admin.requests(own(filter), page, true)),
    async request(id) {
      const found = await admin.request(id);
      if (found.key_id !== keyId) throw notFound("request", id);
      return { ...forOwner(found), ledger: found.ledger.map(withoutBalance) };
    },
    tasks: async (filter, page) => withoutProviders(filter, () => admin.tasks(own(filter), page)),
    usage: async (request) =>
      withoutProviders(request.filter, () =>
        admin.usage({ ...request, filter: own(request.filter), hidesCost: true }),
      ),
    async ledger(request) {
      if (request.account !== accountId) throw notFound("account", request.account);
      return admin.ledger({ ...request, key: keyId });
    },
  };
}

/** The operations as the holder of a key may use them: to see that key, and its own tasks. */
export function ownOperations(operations: Operations, { keyId }: Caller): Operations {
  return {
    ...allRefused(operations),
    async key(id) {
      if (id !== keyId) throw notFound("key", id);
      return operations.key(id);
    },
    async task(id) {
      const found = await operations.task(id);
      if (found.key_id !== keyId) throw notFound("task", id);
      return found;
    },
  };
}

/** Tasks as a session by key has them: there is none of another key, though both keys are of one account. */
export function ownTasks(tasks: Tasks, { keyId }: Caller): Tasks {
  return {
    ...tasks,
    find: (kind, id, accountId) => tasks.find(kind, id, accountId, keyId),
    cancel: (kind, id, accountId) => tasks.cancel(kind, id, accountId, keyId),
  };
}

/** The same use cases, each of which refuses. */
function allRefused<UseCases extends object>(
  cases: UseCases,
): { readonly [Name in keyof UseCases]: () => Promise<never> } {
  const refuse = (): Promise<never> => Promise.reject(forOperators());
  return Object.fromEntries(Object.keys(cases).map((name) => [name, refuse])) as {
    readonly [Name in keyof UseCases]: () => Promise<never>;
  };
}

interface OwnerFilter {
  readonly key_id?: string;
  readonly account_id?: string;
}

/** The answer; the 400 for a provider that there is not names none of those that the operator has. */
async function withoutProviders<Answer>(
  { provider }: { readonly provider?: string },
  answer: () => Promise<Answer>,
): Promise<Answer> {
  try {
    return await answer();
  } catch (error) {
    if (provider === undefined || !(error instanceof GatewayError) || error.param !== "provider") throw error;
    throw unknown("provider", provider, "provider");
  }
}

function onlyOwn(param: string, given: string | undefined, own: string): void {
  if (given === undefined || given === own) return;
  const words = `${param} is ${quoted(given)}, and this session sees ${own} alone.`;
  throw new GatewayError("invalid_request_error", words, { param });
}

/** The 403 for what only an operator may do. */
export function forOperators(): GatewayError {
  return new GatewayError("permission_error", "Only an operator may do this: sign in with the admin token.", {
    code: "operator_only",
  });
}
