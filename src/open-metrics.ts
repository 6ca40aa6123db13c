import { createRegistry, type Registry } from "./core/metrics/registry.ts";
import type { Clock } from "./core/time/clock.ts";
import type { Database } from "./db/schema.ts";
import type { LiveCalls } from "./gateway/live-calls.ts";
import { createMeter, type Meter } from "./gateway/metrics/meter.ts";
import { createMetricsText } from "./gateway/metrics/metrics-text.ts";
import { addStateFamilies, type StateParts } from "./gateway/metrics/state-families.ts";
import type { Offer } from "./gateway/offer.ts";
import type { Routing } from "./gateway/routing/routing.ts";
import { documentedPath } from "./http/openapi.ts";
import { ROUTED } from "./http/routes.ts";
import { SANDBOX } from "./providers/registry.ts";
import { createProcessFigures } from "./runtime/process-figures.ts";
import { createTaskCounts } from "./tasks/task-counts.ts";

/** What is counted of this process. */
export interface OpenMetrics {
  readonly registry: Registry;
  readonly meter: Meter;
  /** Milliseconds and parts of them since some moment. */
  nowMs(): number;
  /** All of it, for Prometheus. */
  text(): Promise<string>;
  /** The models and providers of the offer stay known: what began under their names ends under them. */
  keepNames(): void;
  /** From here on the text has what stands in these, too. */
  readState(parts: WatchedState): void;
  /** Tells how late the event loop was at a timer. */
  sawLoopDelay(lateMs: number): void;
}

/** What metrics are opened with. */
export interface OpenMetricsParts {
  readonly clock: Clock;
  /** See `ServiceParts`. */
  readonly stopwatch?: (() => number) | undefined;
}

/** What has a state that is counted. */
interface WatchedState extends Pick<StateParts, "memory" | "version"> {
  /** Paid calls that have not ended. */
  readonly calls: Pick<LiveCalls, "size">;
  readonly routing: Pick<Routing, "health">;
  readonly database: Database;
}

/** Paths that the router knows, those of the console's sessions as well, each as it is shown in a label. */
const ENDPOINTS = new Map(ROUTED.map((route) => [route.path, documentedPath(route)]));

/** In seconds. */
const DELAYS = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 5];

/** Metrics with nothing counted. */
export function openMetrics({ clock, stopwatch }: OpenMetricsParts, offer: () => Offer): OpenMetrics {
  const registry = createRegistry();
  const nowMs = stopwatch ?? (() => clock.steadyMs());
  const former = { models: new Set<string>(), providers: new Map<string, string>() };
  const meter = createMeter({
    registry,
    nowMs,
    endpoints: ENDPOINTS,
    isModel: (id) => offer().catalog.knownById(id).length > 0 || former.models.has(id),
    providerId(name) {
      const { providers, mediaProviders } = offer();
      const now = name === SANDBOX ? name : (providers.get(name) ?? mediaProviders.get(name))?.id;
      return now ?? former.providers.get(name);
    },
  });
  const delays = registry.histograms(
    {
      name: "switchyard_event_loop_delay_seconds",
      help: "How late the event loop was at a timer, looked at every 250 ms",
      labels: [],
    },
    DELAYS,
  )();
  return {
    registry,
    meter,
    nowMs,
    text: createMetricsText(registry),
    keepNames() {
      const { catalog, providers, mediaProviders } = offer();
      for (const { id } of catalog.models) former.models.add(id);
      for (const [name, { id }] of [...providers, ...mediaProviders]) former.providers.set(name, id);
    },
    readState: ({ calls, routing, database, ...state }) =>
      addStateFamilies(registry, {
        ...state,
        process: createProcessFigures(),
        ways: () => routing.health.snapshot(),
        openHolds: () => calls.size,
        countTasks: createTaskCounts(database, clock),
      }),
    sawLoopDelay: (lateMs) => delays.observe(lateMs / 1_000),
  };
}
