import { upstreamIdFor } from "../../../core/media/upstream-id.ts";
import { mayBeBegun } from "../../../core/task.ts";
import type { MediaRefusal } from "../../../providers/media.ts";
import type { TaskRun } from "../../../tasks/run/job.ts";
import type { TaskRoute } from "../provider.ts";
import { bindAdapter, type BoundAdapter } from "./bind-adapter.ts";
import { credentialOf } from "./job-home.ts";
import type { MediaPayload } from "./payload.ts";

/** A route with the request that is to be done there. */
export interface JobRoute extends TaskRoute {
  /** What the provider calls the model for this request. */
  readonly upstreamId: string;
  readonly adapter: BoundAdapter;
  /** What of the request its provider cannot be asked for; `undefined`: nothing. */
  readonly lacks: MediaRefusal | undefined;
}

/** Where a task is, and where it may go. */
export interface JobRoutes {
  readonly at: JobRoute;
  /** In the order in which they are tried. */
  readonly routes: readonly JobRoute[];
}

/**
 * The routes of a run. A task that a provider has, or may have, stays there: `undefined` where that is no route any
 * more. Any other goes round, from where it was claimed for, or behind the provider that refused it last.
 */
export function routesOfRun(
  run: TaskRun,
  { request }: MediaPayload,
  found: readonly TaskRoute[],
  ordered: (routes: readonly JobRoute[]) => readonly JobRoute[],
): JobRoutes | undefined {
  const listed = found.flatMap((route) => jobRoute(route, request));
  if (run.job !== null || mayBeBegun(run)) {
    const present = listed[placeOf(run, listed)];
    return present === undefined ? undefined : { at: present, routes: [present] };
  }
  const routes = ordered(listed);
  const place = placeOf(run, routes);
  const present = routes[place];
  const first = run.attempts === 0 ? place : place + 1;
  const order = place === -1 ? routes : [...routes.slice(first), ...routes.slice(0, first)];
  const at = present ?? order[0];
  return at === undefined ? undefined : { at, routes: order };
}

/** The place of the route where the task is; of several by one provider that with the credential of its job, else the first. */
function placeOf({ provider, job }: TaskRun, routes: readonly JobRoute[]): number {
  const first = routes.findIndex(({ route }) => route.provider === provider);
  if (job === null) return first;
  const credential = credentialOf(job);
  const place = routes.findIndex(
    ({ route, key }) => route.provider === provider && key.credential === credential,
  );
  return place === -1 ? first : place;
}

function jobRoute(found: TaskRoute, request: MediaPayload["request"]): readonly JobRoute[] {
  const adapter = adapterFor(found, request);
  if (adapter === undefined) return [];
  const upstreamId = upstreamIdFor(found.route.upstreamId, request);
  return [{ ...found, upstreamId, adapter, lacks: adapter.lacks?.(upstreamId) }];
}

function adapterFor(
  { provider: { adapters } }: TaskRoute,
  request: MediaPayload["request"],
): BoundAdapter | undefined {
  switch (request.kind) {
    case "image":
      return adapters.image === undefined ? undefined : bindAdapter(adapters.image, request);
    case "video":
      return adapters.video === undefined ? undefined : bindAdapter(adapters.video, request);
  }
}
