import { GatewayError } from "../../core/errors.ts";
import type { Clock } from "../../core/time/clock.ts";
import type { Grouping, UsageInterval } from "../../ledger/usage/read-usage.ts";
import { DAY_MS, HOUR_MS, startOf } from "../../ledger/usage/views.ts";
import type { StoreReader } from "../store-read.ts";
import { checkFilters, type FilterParts, type Named } from "./filters.ts";
import type { AdminThread } from "./thread/admin-thread.ts";
import type { TimeRange } from "./time-range.ts";
import { type Figure, FIGURES } from "./usage-text.ts";

export { GROUPINGS, USAGE_INTERVALS } from "../../ledger/usage/read-usage.ts";
export { type Figure, FIGURES } from "./usage-text.ts";

/** Those of a query that names none. */
const USUAL_FIGURES = FIGURES.filter((name) => name !== "latency_spread");

/** Which usage is asked for; absent ends of time are a day ago and now. */
export interface UsageRequest extends TimeRange {
  readonly interval: UsageInterval;
  readonly groupBy: Grouping;
  readonly filter: Named;
  /** How many groups the caller wants, the most charged first; absent: all, by name. */
  readonly top?: number;
  /** Absent: all but the spread of latency. */
  readonly figures?: readonly Figure[];
  /** Whether what the operator owes providers is left out. */
  readonly hidesCost?: boolean;
}

/** What usage is read with. */
export interface UsageParts extends FilterParts {
  readonly read: StoreReader;
  readonly thread: Pick<AdminThread, "usage">;
  readonly clock: Clock;
}

/** By the hour no more than this: each interval may have a row for each group. */
const MAX_HOURS_MS = 100 * DAY_MS;

/** The usage of paid requests, as JSON. */
export async function usageOf(parts: UsageParts, request: UsageRequest): Promise<Uint8Array> {
  const { fromMs: from, toMs: to, interval, groupBy, filter, top } = request;
  const { figures = USUAL_FIGURES, hidesCost = false } = request;
  const { read, thread, clock } = parts;
  const toMs = to ?? clock.nowMs();
  // From the beginning of an hour, which is all in one row.
  const fromMs = from ?? startOf(HOUR_MS, toMs - DAY_MS);
  if (interval === "hour" && toMs - fromMs > MAX_HOURS_MS)
    throw new GatewayError(
      "invalid_request_error",
      "interval may be hour for 100 days at the most. Ask for days.",
      { param: "interval" },
    );
  if (top !== undefined && interval !== "all")
    throw new GatewayError(
      "invalid_request_error",
      "top is for groups of all the time: ask for interval=all.",
      {
        param: "top",
      },
    );
  return read(async () => {
    await checkFilters(parts, filter);
    const { account_id: account, key_id: key, ...names } = filter;
    const ask = (isOpen: boolean): Promise<Uint8Array> =>
      thread.usage({
        fromMs,
        toMs,
        isOpen,
        interval,
        groupBy,
        ...(top === undefined ? {} : { top }),
        figures,
        hidesCost,
        filter: {
          ...names,
          ...(account === undefined ? {} : { account }),
          ...(key === undefined ? {} : { key }),
        },
      });
    // An end that is still to come leaves out no request. So the hour that it is in need not be read by requests: of a
    // busy gateway that are hundreds of thousands.
    const isAhead = (): boolean => to === undefined || to > clock.nowMs();
    if (!isAhead()) return ask(false);
    const usage = await ask(true);
    return isAhead() ? usage : ask(false);
  });
}
