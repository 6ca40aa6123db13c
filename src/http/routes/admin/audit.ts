import { Type } from "typebox";
import { respondJson } from "../../respond.ts";
import type { Route } from "../../route.ts";
import { flagOf } from "./body.ts";

const AuditSchema = Type.Object(
  {
    ok: Type.Boolean(),
    checks: Type.Array(
      Type.Object({
        id: Type.String({ description: "Name of the invariant" }),
        ok: Type.Boolean(),
        detail: Type.String({ description: "What was looked at, or what is wrong" }),
      }),
    ),
  },
  { title: "Audit" },
);

/** Audits the books. */
export const auditRoute: Route = {
  method: "get",
  path: "/admin/v1/audit",
  access: "admin",
  summary: "Check the invariants of the books now",
  tag: "admin",
  query: {
    full: Type.Boolean({
      default: false,
      description: "From the beginning, not from where the last audit stopped",
    }),
  },
  answers: { 200: { description: "What was checked, right or wrong", schema: AuditSchema } },
  errors: [400, 503],
  handle: async ({ services, query }) =>
    respondJson(await services.admin.audit(flagOf(query, "full", false))),
};
