import { Type } from "typebox";
import { respondJson } from "../../respond.ts";
import type { Route } from "../../route.ts";

const Seconds = Type.Number({ description: "Unix time in seconds, to the millisecond" });

const StatusSchema = Type.Object(
  {
    version: Type.String(),
    started_at: Seconds,
    store: Type.Object({
      engine: Type.Enum(["sqlite", "postgres"]),
      place: Type.String({ description: "The file, or the server and its database" }),
      files: Type.String({ description: "The folder or the bucket that files of results are in" }),
    }),
    processes: Type.Integer({ description: "Gateways on this store that are alive" }),
    queue: Type.Object({
      pending: Type.Integer({ description: "Counted every 5 s, up to 20,000" }),
      running: Type.Integer(),
    }),
    open_holds: Type.Integer({
      description: "In the store and in this process; what others hold in memory alone is not counted",
    }),
    providers: Type.Array(
      Type.Object({
        id: Type.String(),
        live: Type.Boolean({ description: "Whether it can be called" }),
        credentials: Type.Integer(),
        sandbox: Type.Boolean({ description: "Whether its answers are invented" }),
      }),
    ),
    settings: Type.Record(Type.String(), Type.Unknown(), {
      description: "In force, by section, with the names of switchyard.yaml; no credential",
    }),
    audit: Type.Object({
      last_run_at: Type.Union([Seconds, Type.Null()], {
        description: "Null before the first of this process",
      }),
      ok: Type.Union([Type.Boolean(), Type.Null()]),
    }),
  },
  { title: "Status" },
);

/** How the gateway stands. */
export const statusRoute: Route = {
  method: "get",
  path: "/admin/v1/status",
  access: "admin",
  summary: "Version, store, processes, queue, providers and settings in force",
  tag: "admin",
  answers: { 200: { description: "As it is now", schema: StatusSchema } },
  errors: [503],
  handle: async ({ services }) => respondJson(await services.operations.status()),
};
