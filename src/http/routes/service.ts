import { Type } from "typebox";
import { GatewayError } from "../../core/errors.ts";
import { METRICS_TYPE } from "../../gateway/metrics/metrics-text.ts";
import { describeOpenApi } from "../openapi.ts";
import { respondJson, respondLong } from "../respond.ts";
import type { Route } from "../route.ts";

const Status = Type.Object({ status: Type.Literal("ok") }, { title: "Status" });

/** Health and description of the service; public. */
export function serviceRoutes(table: () => readonly Route[]): readonly Route[] {
  return [
    {
      method: "get",
      path: "/healthz",
      access: "public",
      summary: "The process is up",
      tag: "service",
      answers: { 200: { description: "It is", schema: Status } },
      errors: [],
      handle: () => respondJson({ status: "ok" }),
    },
    {
      method: "get",
      path: "/readyz",
      access: "public",
      summary: "The gateway can take work",
      tag: "service",
      answers: { 200: { description: "It can", schema: Status } },
      errors: [503],
      async handle({ services }) {
        try {
          await services.ready();
        } catch (cause) {
          throw new GatewayError("overloaded_error", "The gateway cannot take work now.", {
            cause,
            retryAfterSec: 2,
          });
        }
        return respondJson({ status: "ok" });
      },
    },
    {
      method: "get",
      path: "/metrics",
      access: "admin",
      summary: "What this process counts, for Prometheus",
      tag: "service",
      answers: { 200: { description: "The text format of Prometheus, version 0.0.4", text: "text/plain" } },
      errors: [],
      async handle(context) {
        const text = await context.services.metrics();
        context.limitStall();
        return new Response(text, { headers: { "content-type": METRICS_TYPE } });
      },
    },
    {
      method: "get",
      path: "/openapi.json",
      access: "public",
      summary: "This description",
      tag: "service",
      answers: { 200: { description: "OpenAPI 3.1", schema: Type.Object({}) } },
      errors: [],
      handle(context) {
        const { services } = context;
        return respondLong(context, describeOpenApi(table(), services.publicUrl(), services.version));
      },
    },
  ];
}
