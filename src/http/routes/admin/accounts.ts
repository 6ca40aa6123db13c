import { Type } from "typebox";
import { ENTRY_ORDERS } from "../../../gateway/admin/entries.ts";
import { respondJson, respondWhole } from "../../respond.ts";
import type { Route } from "../../route.ts";
import { bodyOf, pageOf, rangeOf, rangeQuery, wordOf } from "./body.ts";
import {
  AccountSchema,
  CreditsSchema,
  EntrySchema,
  NewAccountSchema,
  PAGE_QUERY,
  pageSchema,
} from "./schemas.ts";

const readNewAccount = bodyOf(NewAccountSchema);
const readCredits = bodyOf(CreditsSchema);

/** Accounts, their credit and their ledger. */
export const accountRoutes: readonly Route[] = [
  {
    method: "post",
    path: "/admin/v1/accounts",
    access: "admin",
    summary: "Open an account",
    tag: "admin",
    body: NewAccountSchema,
    answers: { 201: { description: "The account, with nothing on it", schema: AccountSchema } },
    errors: [400, 503],
    async handle(context) {
      const { name } = await readNewAccount(context);
      return respondJson(await context.services.admin.createAccount(name), 201);
    },
  },
  {
    method: "get",
    path: "/admin/v1/accounts",
    access: "admin",
    summary: "Accounts, oldest first",
    tag: "admin",
    query: PAGE_QUERY,
    answers: { 200: { description: "A page", schema: pageSchema(AccountSchema) } },
    errors: [400, 503],
    handle: async (context) =>
      respondWhole(context, await context.services.admin.accounts(pageOf(context.query))),
  },
  {
    method: "get",
    path: "/admin/v1/accounts/:id",
    access: "admin",
    summary: "One account",
    tag: "admin",
    answers: { 200: { description: "The account", schema: AccountSchema } },
    errors: [404, 503],
    handle: async ({ services, params }) => respondJson(await services.admin.account(params.id ?? "")),
  },
  {
    method: "patch",
    path: "/admin/v1/accounts/:id",
    access: "admin",
    summary: "Change an account's name",
    tag: "admin",
    body: NewAccountSchema,
    answers: { 200: { description: "The account as it now is", schema: AccountSchema } },
    errors: [400, 404, 503],
    async handle(context) {
      const { name } = await readNewAccount(context);
      return respondJson(await context.services.admin.renameAccount(context.params.id ?? "", name));
    },
  },
  {
    method: "post",
    path: "/admin/v1/accounts/:id/close",
    access: "admin",
    summary: "Close an account for ever: its keys end, its waiting tasks are cancelled, what runs ends",
    tag: "admin",
    answers: { 200: { description: "The account, which is closed", schema: AccountSchema } },
    errors: [404, 503],
    handle: async ({ services, params }) =>
      respondJson(await services.operations.closeAccount(params.id ?? "")),
  },
  {
    method: "post",
    path: "/admin/v1/accounts/:id/credits",
    access: "admin",
    summary: "Give credit, or take it back",
    tag: "admin",
    body: CreditsSchema,
    answers: {
      200: { description: "The balance after it", schema: Type.Object({ balance: Type.Number() }) },
    },
    errors: [400, 404, 409, 503],
    async handle(context) {
      const { amount, reason, idempotency_key } = await readCredits(context);
      const grant = {
        accountId: context.params.id ?? "",
        amount,
        reason,
        requestId: context.requestId,
        ...(idempotency_key === undefined ? {} : { idempotencyKey: idempotency_key }),
      };
      return respondJson(await context.services.admin.grant(grant));
    },
  },
  {
    method: "get",
    path: "/admin/v1/accounts/:id/ledger",
    access: "admin",
    summary: "Movements of an account's credit",
    tag: "admin",
    query: {
      ...PAGE_QUERY,
      ...rangeQuery("Written"),
      order: Type.Enum([...ENTRY_ORDERS], {
        default: "asc",
        description: "`asc` is the oldest first, `desc` the newest; the pages of a list have one order",
      }),
    },
    answers: { 200: { description: "A page", schema: pageSchema(EntrySchema) } },
    errors: [400, 404, 503],
    async handle(context) {
      const { services, params, query } = context;
      return respondWhole(
        context,
        await services.admin.ledger({
          account: params.id ?? "",
          range: rangeOf(query),
          page: pageOf(query),
          order: wordOf(query, "order", ENTRY_ORDERS) ?? "asc",
        }),
      );
    },
  },
];
