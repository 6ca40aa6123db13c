import { wait } from "../../../core/time/clock.ts";
import type { MediaRefusal } from "../../../providers/media.ts";
import type { Place } from "../../routing/health.ts";
import type { Job, JobEnd } from "./open-job.ts";
import type { JobRoute } from "./route.ts";
import { grown, heededMs, jittered } from "./waits.ts";

/** Says at which of its routes a task is tried next, and when. */
export interface Turns {
  /**
   * The first route, in their order, that has not refused the task or whose wait is over. It is not one that is left
   * alone after what others have met there. Waits for it. Only the present one where the task `stays`. An end where
   * none can be tried before the deadline. Rejects with the reason of the run's signal.
   */
  next(stays: boolean): Promise<Turn | { readonly end: JobEnd }>;
  /** The route takes no work now. It is tried again after as long as it says, else after twice as long each time. */
  busy(route: JobRoute, retryAfterMs?: number): void;
  /** The route takes no work of this gateway: it is not tried again. */
  out(route: JobRoute, refusal: MediaRefusal): void;
}

/** A route that is to be tried now. */
export interface Turn {
  readonly route: JobRoute;
  /** The attempt's place there; to be ended. */
  readonly place: Place;
}

/** A route, and when it may be tried. */
interface Waiting {
  readonly route: JobRoute;
  readyMs: number;
  refusals: number;
}

/** Turns of the routes that can be asked for all of the request. */
export function createTurns(job: Job): Turns {
  const { run, parts, routes } = job;
  const { clock, random, routing } = parts;
  let turns: readonly Waiting[] = routes
    .filter(({ lacks }) => lacks === undefined)
    .map((route) => ({ route, readyMs: clock.steadyMs(), refusals: 0 }));
  /** Why there is no route, once there is none. */
  let refusal = routes[0]?.lacks ?? { reason: "failed", message: "" };

  return {
    async next(stays) {
      for (;;) {
        const open = stays ? turns.filter(({ route }) => route === job.at) : turns;
        const [first] = open;
        if (first === undefined) return { end: { state: "refused", refusal } };
        const nowMs = clock.steadyMs();
        const waits: number[] = [];
        for (const { route, readyMs } of open) {
          const way =
            readyMs > nowMs ? { waitMs: readyMs - nowMs } : routing.health.admit(route.key, route.bounds);
          if ("end" in way) return { route, place: way };
          if (way.isOperators !== true) waits.push(way.waitMs);
        }
        // What only the operator can mend is not waited for: where that is all, the client is to be told of it now.
        if (waits.length === 0) {
          const { route } = first;
          const way = routing.health.admit(route.key, route.bounds, true);
          if ("end" in way) return { route, place: way };
          waits.push(way.waitMs);
        }
        const waitMs = Math.min(...waits);
        if (nowMs + waitMs >= run.deadlineMs) return { end: { state: "overloaded" } };
        await wait(clock, waitMs, run.signal);
      }
    },

    busy(route, retryAfterMs) {
      const turn = turns.find((each) => each.route === route);
      if (turn === undefined) return;
      const waitMs =
        retryAfterMs === undefined ? grown(1_000, turn.refusals, 60_000) : heededMs(retryAfterMs);
      turn.readyMs = clock.steadyMs() + jittered(waitMs, random);
      turn.refusals += 1;
    },

    out(route, said) {
      turns = turns.filter((turn) => turn.route !== route);
      // The client can ask for less, so the gateway tells it this rather than a fault that only the operator can mend.
      if (refusal.reason !== "beyond_limit") refusal = said;
    },
  };
}
