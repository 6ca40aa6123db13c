import { type Static, Type } from "typebox";
import { type KeyLimits, NO_LIMITS } from "../../../core/rate-limits.ts";
import { respondJson, respondWhole } from "../../respond.ts";
import type { Route } from "../../route.ts";
import { bodyOf, pageOf, textsOf } from "./body.ts";
import {
  IssuedKeySchema,
  KeyChangeSchema,
  KeyDetailSchema,
  KeySchema,
  NewKeySchema,
  PAGE_QUERY,
  pageSchema,
} from "./schemas.ts";

const readNewKey = bodyOf(NewKeySchema);
const readKeyChange = bodyOf(KeyChangeSchema);

/** API keys: issue, list, change, revoke. */
export const keyRoutes: readonly Route[] = [
  {
    method: "post",
    path: "/admin/v1/keys",
    access: "admin",
    summary: "Issue a key",
    tag: "admin",
    body: NewKeySchema,
    answers: { 201: { description: "The key; its text is shown this once", schema: IssuedKeySchema } },
    errors: [400, 404, 503],
    async handle(context) {
      const { account_id, name, models, budget, limits, routes, expires_at } = await readNewKey(context);
      const issued = await context.services.admin.issueKey({
        accountId: account_id,
        name,
        models: models ?? null,
        budget: budget ?? null,
        limits: { ...NO_LIMITS, ...namedLimits(limits ?? null) },
        routes: routes ?? false,
        expiresAtSec: expires_at ?? null,
      });
      return respondJson(issued, 201);
    },
  },
  {
    method: "get",
    path: "/admin/v1/keys",
    access: "admin",
    summary: "Keys, oldest first",
    tag: "admin",
    query: { ...PAGE_QUERY, account_id: Type.String() },
    answers: { 200: { description: "A page", schema: pageSchema(KeySchema) } },
    errors: [400, 503],
    async handle(context) {
      const { services, query } = context;
      return respondWhole(context, await services.admin.keys(textsOf(query, ["account_id"]), pageOf(query)));
    },
  },
  {
    method: "get",
    path: "/admin/v1/keys/:id",
    access: "admin",
    summary: "One key, what it uses of its limits, and what it may still spend",
    tag: "admin",
    answers: { 200: { description: "The key, without its text", schema: KeyDetailSchema } },
    errors: [404, 503],
    handle: async ({ services, params }) => respondJson(await services.operations.key(params.id ?? "")),
  },
  {
    method: "patch",
    path: "/admin/v1/keys/:id",
    access: "admin",
    summary: "Change a key's name, models, budget, limits, routes or expiry",
    tag: "admin",
    body: KeyChangeSchema,
    answers: { 200: { description: "The key as it now is", schema: KeySchema } },
    errors: [400, 404, 503],
    async handle(context) {
      const { name, models, budget, limits, routes, expires_at } = await readKeyChange(context);
      const changed = await context.services.admin.changeKey(context.params.id ?? "", {
        ...(name === undefined ? {} : { name }),
        ...(models === undefined ? {} : { models }),
        ...(budget === undefined ? {} : { budget }),
        ...(limits === undefined ? {} : { limits: namedLimits(limits) }),
        ...(routes === undefined ? {} : { routes }),
        ...(expires_at === undefined ? {} : { expiresAtSec: expires_at }),
      });
      return respondJson(changed);
    },
  },
  {
    method: "delete",
    path: "/admin/v1/keys/:id",
    access: "admin",
    summary: "Revoke a key",
    tag: "admin",
    answers: {
      200: {
        description: "It is revoked",
        schema: Type.Object({ id: Type.String(), revoked: Type.Literal(true) }),
      },
    },
    errors: [404, 503],
    async handle({ services, params }) {
      const id = params.id ?? "";
      await services.admin.revokeKey(id);
      return respondJson({ id, revoked: true });
    },
  },
];

/** The limits that a body names; `null` for the whole removes all of them. */
function namedLimits(
  limits: NonNullable<Static<typeof KeyChangeSchema>["limits"]> | null,
): Partial<KeyLimits> {
  if (limits === null) return NO_LIMITS;
  const { requests_per_minute, tokens_per_minute, concurrency } = limits;
  return {
    ...(requests_per_minute === undefined ? {} : { requestsPerMinute: requests_per_minute }),
    ...(tokens_per_minute === undefined ? {} : { tokensPerMinute: tokens_per_minute }),
    ...(concurrency === undefined ? {} : { concurrency }),
  };
}
