import { Type } from "typebox";
import { TASK_ERRORS, TASK_KINDS, TASK_STATES } from "../../../core/task.ts";
import type { TaskFilter } from "../../../gateway/admin/tasks.ts";
import { respondJson, respondWhole } from "../../respond.ts";
import type { Route } from "../../route.ts";
import { pageOf, rangeOf, rangeQuery, textsOf, wordOf } from "./body.ts";
import { PAGE_QUERY, pageSchema } from "./schemas.ts";

const Seconds = Type.Number({ description: "Unix time in seconds, to the millisecond" });
const NullableSeconds = Type.Union([Seconds, Type.Null()]);

const TaskSchema = Type.Object(
  {
    id: Type.String(),
    kind: Type.Enum([...TASK_KINDS]),
    status: Type.Enum([...TASK_STATES]),
    account_id: Type.String(),
    key_id: Type.String(),
    request_id: Type.String({ description: "Of the request that submitted it, as in x-request-id" }),
    model: Type.String(),
    provider: Type.Union([Type.String(), Type.Null()], { description: "Null until it was begun" }),
    job: Type.Union([Type.String(), Type.Null()], {
      description: "What the provider calls it, and its address where the vendor has several",
    }),
    attempts: Type.Integer({ description: "How often the provider was about to be sent it" }),
    credit: Type.Union([Type.Number(), Type.Null()], {
      description: "What was charged; null unless it has completed",
    }),
    error: Type.Union([
      Type.Object({ type: Type.Enum([...TASK_ERRORS]), message: Type.String() }),
      Type.Null(),
    ]),
    warnings: Type.Array(Type.String()),
    timeout: Type.Integer({ description: "Seconds" }),
    created_at: Seconds,
    started_at: NullableSeconds,
    ended_at: NullableSeconds,
    files_until: Type.Union([Seconds, Type.Null()], { description: "Null when no files are kept" }),
  },
  { title: "Task" },
);

const CancelledSchema = Type.Object(
  { id: Type.String(), status: Type.Literal("cancelled") },
  { title: "CancelledTask" },
);

const TEXTS = ["id", "account_id", "key_id", "model", "provider"] as const;

const TaskDetailSchema = Type.Object(
  {
    ...TaskSchema.properties,
    states: Type.Array(Type.Object({ state: Type.Enum([...TASK_STATES]), at: Seconds }), {
      description: "Those it has been in, the first first",
    }),
    provider_job_id: Type.Union([Type.String(), Type.Null()], { description: "The same as `job`" }),
    outputs: Type.Array(
      Type.Object({
        url: Type.String({ format: "uri", description: "Signed now, for an hour" }),
        media_type: Type.String(),
        bytes: Type.Integer(),
      }),
      { description: "Files that are kept" },
    ),
  },
  { title: "TaskDetail" },
);

/** Tasks, one task, and its cancel. */
export const taskRoutes: readonly Route[] = [
  {
    method: "get",
    path: "/admin/v1/tasks",
    access: "admin",
    summary: "Tasks of images and videos, newest first",
    tag: "admin",
    query: {
      ...PAGE_QUERY,
      ...Object.fromEntries(TEXTS.map((name) => [name, Type.String()])),
      kind: Type.Enum([...TASK_KINDS]),
      status: Type.Enum([...TASK_STATES]),
      ...rangeQuery("Created"),
    },
    answers: { 200: { description: "A page", schema: pageSchema(TaskSchema) } },
    errors: [400, 503],
    async handle(context) {
      const { services, query } = context;
      return respondWhole(context, await services.admin.tasks(filterOf(query), pageOf(query)));
    },
  },
  {
    method: "get",
    path: "/admin/v1/tasks/counts",
    access: "admin",
    summary: "How many of the tasks of a time are in each state now",
    tag: "admin",
    query: rangeQuery("Created"),
    answers: {
      200: {
        description: "Every state, with the number of its tasks",
        schema: Type.Object({
          data: Type.Array(Type.Object({ status: Type.Enum([...TASK_STATES]), count: Type.Integer() })),
        }),
      },
    },
    errors: [400, 503],
    handle: async (context) =>
      respondWhole(context, await context.services.admin.taskCounts(rangeOf(context.query))),
  },
  {
    method: "get",
    path: "/admin/v1/tasks/:id",
    access: "admin",
    summary: "One task: the states it has been in, and the files it made",
    tag: "admin",
    answers: { 200: { description: "The task as it stands", schema: TaskDetailSchema } },
    errors: [404, 503],
    handle: async ({ services, params }) => respondJson(await services.operations.task(params.id ?? "")),
  },
  {
    method: "post",
    path: "/admin/v1/tasks/:id/cancel",
    access: "admin",
    summary: "Cancel a task while it is pending",
    tag: "admin",
    answers: { 200: { description: "It is cancelled, now or before", schema: CancelledSchema } },
    errors: [404, 409, 503],
    async handle({ services, params }) {
      const id = params.id ?? "";
      await services.operations.cancelTask(id);
      return respondJson({ id, status: "cancelled" });
    },
  },
];

function filterOf(query: URLSearchParams): TaskFilter {
  const kind = wordOf(query, "kind", TASK_KINDS);
  const status = wordOf(query, "status", TASK_STATES);
  return {
    ...textsOf(query, TEXTS),
    ...rangeOf(query),
    ...(kind === undefined ? {} : { kind }),
    ...(status === undefined ? {} : { status }),
  };
}
