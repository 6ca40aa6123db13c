import { wait } from "../../../core/time/clock.ts";
import type { MediaRefusal } from "../../../providers/media.ts";
import type { Job, JobEnd } from "./open-job.ts";
import type { JobRoute } from "./route.ts";
import { grown, heededMs, jittered } from "./waits.ts";

/** Says at which of its routes a task is tried next, and when. */
export interface Turns {
  /**
   * The first route, in their order, that has not refused the task or whose wait is over; waits for it. Only the present
   * one where the task `stays`. An end where none can be tried before the deadline. Rejects with the reason of the run's
   * signal.
   */
  next(stays: boolean): Promise<{ readonly route: JobRoute } | { readonly end: JobEnd }>;
  /** The route takes no work now. It is tried again after as long as it says, else after twice as long each time. */
  busy(route: JobRoute, retryAfterMs?: number): void;
  /** The route takes no work of this gateway: it is not tried again. */
  out(route: JobRoute, refusal: MediaRefusal): void;
}

/** A route, and when it may be tried. */
interface Turn {
  readonly route: JobRoute;
  readyMs: number;
  refusals: number;
}

/** Turns of the routes that can be asked for all of the request. */
export function createTurns(job: Job): Turns {
  const { run, parts, routes } = job;
  const { clock, random } = parts;
  let turns: readonly Turn[] = routes
    .filter(({ lacks }) => lacks === undefined)
    .map((route) => ({ route, readyMs: clock.steadyMs(), refusals: 0 }));
  /** Why there is no route, once there is none. */
  let refusal = routes[0]?.lacks ?? { reason: "failed", message: "" };

  return {
    async next(stays) {
      for (;;) {
        const open = stays ? turns.filter(({ route }) => route === job.at) : turns;
        if (open.length === 0) return { end: { state: "refused", refusal } };
        const nowMs = clock.steadyMs();
        const ready = open.find(({ readyMs }) => readyMs <= nowMs);
        if (ready !== undefined) return { route: ready.route };
        const readyMs = Math.min(...open.map((turn) => turn.readyMs));
        if (readyMs >= run.deadlineMs) return { end: { state: "overloaded" } };
        await wait(clock, readyMs - nowMs, run.signal);
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
      refusal = said;
    },
  };
}
