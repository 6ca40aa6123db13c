import { expect, test } from "bun:test";
import type { Caller } from "../../core/caller.ts";
import type { Admin } from "../admin/admin.ts";
import { unknown } from "../admin/filters.ts";
import type { Operations } from "../admin/operations.ts";
import { ownAdmin, ownOperations } from "./own-admin.ts";

const caller = { keyId: "key_own", accountId: "acct_own" } as Caller;
const refusalOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => undefined,
    (error: unknown) => error,
  );
const of = (key_id: string) => ({
  key_id,
  cost: 5,
  attempts: [{ provider: "p", upstream_id: "secret/model", sent_at: 1, status: 200 }],
  ledger: [{ id: "e", balance_after: 9 }],
});

const operations = {
  task: async (id: string) => of(id),
  cancelTask: async () => undefined,
  closeAccount: async () => ({}),
  status: async () => ({}),
} as unknown as Operations;

test("a developer sees tasks of the own key alone, and no other operation", async () => {
  const own = ownOperations(operations, caller);
  expect(await own.task("key_own")).toMatchObject({ key_id: "key_own" });
  expect(await refusalOf(own.task("key_other"))).toMatchObject({ status: 404 });
  for (const refused of [own.cancelTask("key_own"), own.closeAccount("acct_own"), own.status()])
    expect(await refusalOf(refused)).toMatchObject({ status: 403, code: "operator_only" });
});

test("a developer sees requests of the own key alone, and neither what the operator owes for them nor whose model it was", async () => {
  const asked: unknown[] = [];
  const admin = {
    request: async (id: string) => of(id),
    usage: async (request: unknown) => void asked.push(request),
  } as unknown as Admin;
  const own = ownAdmin(admin, caller);
  expect(await own.request("key_own")).toMatchObject({
    key_id: "key_own",
    cost: null,
    attempts: [{ provider: "p", upstream_id: null, sent_at: 1, status: 200 }],
    ledger: [{ id: "e", balance_after: null }],
  });
  expect(await refusalOf(own.request("key_other"))).toMatchObject({ status: 404 });
  await own.usage({ interval: "day", groupBy: "none", filter: {} });
  expect(asked).toEqual([
    {
      interval: "day",
      groupBy: "none",
      filter: { key_id: "key_own", account_id: "acct_own" },
      hidesCost: true,
    },
  ]);
  const theirs = own.usage({ interval: "day", groupBy: "none", filter: { key_id: "key_other" } });
  expect(await refusalOf(theirs)).toMatchObject({ status: 400, param: "key_id" });
});

test("a developer's mistyped provider is a 400 that names none of the operator's", async () => {
  const refuse = async () => {
    throw unknown("provider", "opnai", ["openai", "secret-reseller"]);
  };
  const admin = { requests: refuse, tasks: refuse, usage: refuse } as unknown as Admin;
  const own = ownAdmin(admin, caller);
  const [filter, page] = [{ provider: "opnai" }, { limit: 1, after: undefined }];
  const asked = [
    own.requests(filter, page),
    own.tasks(filter, page),
    own.usage({ interval: "day", groupBy: "none", filter }),
  ];
  for (const refusal of await Promise.all(asked.map(refusalOf))) {
    expect(refusal).toMatchObject({ status: 400, param: "provider" });
    expect(String(refusal)).toContain('"opnai"');
    expect(String(refusal)).not.toContain("secret-reseller");
  }
});
