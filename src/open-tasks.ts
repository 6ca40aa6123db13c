import type { Assets } from "./assets/assets.ts";
import type { Settings } from "./config.ts";
import { createByteBudget } from "./core/bytes/byte-budget.ts";
import type { Clock } from "./core/time/clock.ts";
import type { Failpoint } from "./core/failpoint.ts";
import type { Log } from "./core/log/log.ts";
import type { Random } from "./core/random.ts";
import { createGuardedFetch } from "./gateway/fetch/guarded-fetch.ts";
import { createMediaJob } from "./gateway/media/job/job.ts";
import { inOrder, taskRoutes } from "./gateway/media/provider.ts";
import type { Offers } from "./gateway/offers.ts";
import type { Routing } from "./gateway/routing/routing.ts";
import type { OpenMetrics } from "./open-metrics.ts";
import type { Books } from "./open-books.ts";
import type { MediaProvider } from "./providers/provider.ts";
import { createGridCutter } from "./runtime/images/grid-cutter.ts";
import { createEndings } from "./tasks/endings.ts";
import { createScheduler, type Scheduler } from "./tasks/scheduler.ts";
import type { ProviderOf } from "./tasks/queue/queue.ts";
import { createRequestCache } from "./tasks/request-cache.ts";
import { createTasks, type Tasks } from "./tasks/tasks.ts";

/** Tasks, and the scheduler that runs them; it stands still until it is started. */
export interface OpenTasks {
  readonly tasks: Tasks;
  readonly scheduler: Scheduler;
  /** Starts the threads that are needed later. */
  startThreads(): void;
}

/** What tasks are opened with. */
export interface OpenTasksParts {
  readonly books: Books;
  readonly offers: Offers<Settings>;
  readonly routing: Pick<Routing, "health" | "order">;
  readonly assets: Assets;
  readonly failpoint: Failpoint;
  /** Where runs are counted. */
  readonly metrics: Pick<OpenMetrics, "meter">;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/** How often the store is polled for tasks that requests of this process wait for. */
const POLL_MS = 500;

/** Builds tasks over the books. */
export function openTasks({ books, offers, routing, metrics, ...parts }: OpenTasksParts): OpenTasks {
  const { bootId, database, writer, cipher } = books;
  const settings = () => offers.current().settings.tasks;
  const limitOf = ({ id }: MediaProvider): number => {
    const { runningAt, runningPerProvider } = settings();
    return runningAt[id] ?? runningPerProvider;
  };
  const providerOf: ProviderOf = (kind, model, terms) => {
    const { offer: now } = offers.current();
    const [first] = inOrder(routing, now, { kind, model, terms }, taskRoutes(now, kind, model));
    return first === undefined
      ? undefined
      : { provider: first.route.provider, limit: limitOf(first.provider) };
  };
  const fetch = createGuardedFetch({
    allowedHosts: () => offers.current().settings.outbound.allowedHosts,
    plainHttp: () => offers.current().settings.outbound.plainHttp,
    clock: parts.clock,
    log: parts.log,
  });
  const memory = createByteBudget(() => settings().memoryBytes);
  const grids = createGridCutter();
  const offer = () => offers.current().offer;
  const timeouts = () => offers.current().settings.timeouts;
  const doJob = createMediaJob({
    ...parts,
    offer,
    limitOf,
    routing,
    fetch,
    timeouts,
    memory,
    cutGrid: grids.cut,
  });
  const endings = createEndings({ database, clock: parts.clock, pollMs: POLL_MS });
  const requests = createRequestCache(memory, parts.clock);
  const shared = { ...parts, bootId, database, writer, cipher, endings, requests };
  const scheduler = createScheduler({
    ...shared,
    doJob,
    storeEngine: books.engine,
    settings,
    providerOf,
    onRunEnd: (ended) => metrics.meter.taskRun(ended),
  });
  const tasks = createTasks({ ...shared, scheduler, maxPending: () => settings().pendingPerAccount });
  return { tasks, scheduler, startThreads: grids.startThread };
}
