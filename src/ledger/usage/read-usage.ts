import { type RawBuilder, sql } from "kysely";
import type { Engine } from "../../db/engine.ts";
import { atOneMoment } from "../../db/one-moment.ts";
import type { Database } from "../../db/schema.ts";
import { beginOf, INTERVALS } from "./intervals.ts";
import {
  addMeasures,
  addRequest,
  type CountedRow,
  type Measure,
  type Measures,
  type Names,
  namesOf,
  noMeasures,
  selectCounted,
  timeOf,
} from "./measures.ts";
import { readRecentMark } from "./recent.ts";
import { filtersOf, numbersOf, sumRollups, type UsageSum } from "./rollups.ts";
import { summedIn } from "./thirty-days.ts";
import {
  DAY_MS,
  type Dimension,
  FIVE_MINUTES_MS,
  HOUR_MS,
  isKeptBy,
  startOf,
  THIRTY_DAYS_MS,
  viewFor,
} from "./views.ts";

/** By what usage can be grouped: a route is a model at a provider. */
export const GROUPINGS = ["none", "model", "key", "account", "provider", "outcome", "route"] as const;
export type Grouping = (typeof GROUPINGS)[number];

/** Into what usage can be divided. */
export const USAGE_INTERVALS = [...INTERVALS, "all"] as const;
export type UsageInterval = (typeof USAGE_INTERVALS)[number];

/** Which usage is asked for. */
export interface UsageQuery {
  /** Of requests that were settled then or later, */
  readonly fromMs: number;
  /** and before then. */
  readonly toMs: number;
  /** All there is from `fromMs` on: `toMs` is now or later, and other processes may have a later time. */
  readonly isOpen: boolean;
  readonly interval: UsageInterval;
  readonly groupBy: Grouping;
  readonly filter: Partial<Names>;
  /** How many groups of all the time the caller wants, the most charged first; absent: each group of each interval. */
  readonly top?: number;
  /** What is asked for: to add up the others, durations above all, would be most of the work for a year. */
  readonly measures: readonly Measure[];
}

/** The usage of an interval and a group. */
export interface UsageGroup {
  /** When the interval begins. */
  readonly timeMs: number;
  /** Null for requests without such a name, and where nothing is grouped. */
  readonly group: string | null;
  /** Those that were asked for: what the others say means nothing. */
  readonly measures: Measures;
}

const GROUPED: Readonly<Record<Grouping, readonly Dimension[]>> = {
  none: [],
  model: ["model"],
  key: ["key"],
  account: ["account"],
  provider: ["provider"],
  outcome: ["outcome"],
  route: ["model", "provider"],
};

/**
 * Usage by the books at one moment, exact to each request. It sums the rollups, and counts the requests that are not in
 * them yet. It also counts single requests where a query asks for only a part of five minutes. The same goes for a part
 * of an hour that lies too far back to be kept by five minutes. Ordered by time and group.
 */
export function readUsage(
  database: Database,
  engine: Engine,
  query: UsageQuery,
): Promise<readonly UsageGroup[]> {
  return atOneMoment(database, (tx) => readFrom(tx, engine, query));
}

async function readFrom(
  database: Database,
  engine: Engine,
  query: UsageQuery,
): Promise<readonly UsageGroup[]> {
  const { fromMs, isOpen, interval, groupBy, filter } = query;
  const by = GROUPED[groupBy];
  const divided = interval === "all" ? undefined : interval;
  const toMs = isOpen ? Infinity : query.toMs;
  const sums = createSums(query);
  const wanted = [...by, ...(Object.keys(filter) as Dimension[])];
  const measures = query.top === undefined ? query.measures : [...query.measures, ...RANKED_BY];
  const filtered = sql.join([sql`true`, ...filtersOf(filter)], sql` and `);
  const { wholes, parts } = divide({ fromMs, toMs }, interval === "hour" ? [HOUR_MS] : [DAY_MS, HOUR_MS]);
  const addWhole = async ({ grainMs, ...span }: Whole): Promise<void> => {
    const view = viewFor(grainMs, wanted);
    const time = within("time_ms", span);
    const form = { grainMs, view, filter, time, interval: divided, by, measures };
    for (const sum of await sumRollups(database, engine, form)) sums.add(sum);
  };
  const hasLonger = interval === "all" && isKeptBy(THIRTY_DAYS_MS, viewFor(DAY_MS, wanted));
  const longestOf = async (whole: Whole): Promise<readonly Whole[]> =>
    hasLonger && whole.grainMs === DAY_MS ? withThirtyDays(whole, await summedIn(database, whole)) : [whole];
  for (const whole of wholes) for (const longest of await longestOf(whole)) await addWhole(longest);
  const { request_seq: mark } = await database
    .selectFrom("usage_mark")
    .select("request_seq")
    .executeTakeFirstOrThrow();
  const readRows = async (where: RawBuilder<unknown>): Promise<void> => {
    const bounded = sql<boolean>`${where} and ${filtered}`;
    for await (const row of counted(database, bounded)) sums.count(row);
  };
  const addRows = async (span: Span, grainMs: number): Promise<void> => {
    const numbers = await numbersOf(database, { grainMs, timeMs: startOf(grainMs, span.fromMs) });
    if (numbers === undefined) return;
    const { first, last } = numbers;
    await readRows(sql`seq >= ${first} and seq <= ${last} and ${within("settled_at_ms", span)}`);
  };
  const recent = parts.length === 0 ? undefined : await readRecentMark(database);
  for (const part of parts) {
    const fromMs = Math.min(Math.max(part.fromMs, recent?.fromMs ?? Infinity), part.toMs);
    if (part.fromMs < fromMs) await addRows({ fromMs: part.fromMs, toMs: fromMs }, HOUR_MS);
    if (recent === undefined || fromMs === part.toMs) continue;
    const span = { fromMs, toMs: part.toMs };
    const recently = divide(span, [FIVE_MINUTES_MS]);
    for (const whole of recently.wholes) await addWhole(whole);
    for (const edge of recently.parts) await addRows(edge, FIVE_MINUTES_MS);
    // These are counted by hours alone so far.
    await readRows(sql`seq > ${recent.seq} and seq <= ${mark} and ${within("settled_at_ms", span)}`);
  }
  await readRows(sql`seq > ${mark} and ${within("settled_at_ms", { fromMs, toMs })}`);
  const groups = sums.groups();
  return query.top === undefined ? groups : mostCharged(groups).slice(0, query.top);
}

/** What decides which group was charged the most. */
const RANKED_BY = ["credit", "requests"] as const;

function mostCharged(groups: readonly UsageGroup[]): readonly UsageGroup[] {
  return groups.toSorted(({ measures: one }, { measures: other }) =>
    one.credit === other.credit ? other.requests - one.requests : one.credit < other.credit ? 1 : -1,
  );
}

/** A span of time: from then, and before then. */
interface Span {
  readonly fromMs: number;
  readonly toMs: number;
}

/** Whole times of rollups. */
interface Whole extends Span {
  readonly grainMs: number;
}

/** Whole times of rollups within a span, and the parts of the shortest of them at its ends. */
interface Divided {
  readonly wholes: readonly Whole[];
  readonly parts: readonly Span[];
}

/** Divides a span: into whole times of the first grain, and what is left at both ends into those of the next. */
function divide(span: Span, [grainMs, ...finer]: readonly number[]): Divided {
  const { fromMs, toMs } = span;
  if (fromMs >= toMs) return { wholes: [], parts: [] };
  if (grainMs === undefined) return { wholes: [], parts: [span] };
  const first = startOf(grainMs, fromMs + grainMs - 1);
  const last = toMs === Infinity ? Infinity : startOf(grainMs, toMs);
  if (first >= last) {
    const edge = Math.min(first, toMs);
    return edge === toMs
      ? divide(span, finer)
      : both(divide({ fromMs, toMs: edge }, finer), divide({ fromMs: edge, toMs }, finer));
  }
  const ends = both(divide({ fromMs, toMs: first }, finer), divide({ fromMs: last, toMs }, finer));
  return { wholes: [{ grainMs, fromMs: first, toMs: last }, ...ends.wholes], parts: ends.parts };
}

/** The whole days of a span, by thirty where these begin. */
function withThirtyDays({ fromMs, toMs }: Whole, starts: readonly number[]): readonly Whole[] {
  const wholes: Whole[] = [];
  const add = (grainMs: number, from: number, to: number): void => {
    const last = wholes.at(-1);
    if (last?.grainMs === grainMs) wholes[wholes.length - 1] = { ...last, toMs: to };
    else if (from < to) wholes.push({ grainMs, fromMs: from, toMs: to });
  };
  let at = fromMs;
  for (const start of starts) {
    add(DAY_MS, at, start);
    add(THIRTY_DAYS_MS, start, (at = start + THIRTY_DAYS_MS));
  }
  add(DAY_MS, at, toMs);
  return wholes;
}

function both(one: Divided, other: Divided): Divided {
  return { wholes: [...one.wholes, ...other.wholes], parts: [...one.parts, ...other.parts] };
}

function within(column: string, { fromMs, toMs }: Span): RawBuilder<unknown> {
  const since = sql`${sql.ref(column)} >= ${BigInt(fromMs)}`;
  return toMs === Infinity ? since : sql`${since} and ${sql.ref(column)} < ${BigInt(toMs)}`;
}

/** Requests that are in memory at a time. */
const PAGE = 5_000;

async function* counted(database: Database, where: RawBuilder<boolean>) {
  for (let after = 0n; ;) {
    const rows = await selectCounted(database).where(where).where("seq", ">", after).limit(PAGE).execute();
    for (const row of rows) yield row;
    const last = rows.at(-1);
    if (last === undefined || rows.length < PAGE) return;
    after = last.seq;
  }
}

function createSums({ fromMs, interval, groupBy }: UsageQuery) {
  const times = new Map<number, Map<string, Measures>>();
  const groupsAt = (ms: number): Map<string, Measures> => {
    const timeMs = interval === "all" ? fromMs : beginOf(interval, ms);
    let groups = times.get(timeMs);
    if (groups === undefined) times.set(timeMs, (groups = new Map()));
    return groups;
  };
  return {
    /** Adds what is stored. */
    add(stored: UsageSum): void {
      const groups = groupsAt(stored.timeMs);
      const group = groupOf(groupBy, stored);
      const sum = groups.get(group);
      // The first of a group becomes its sum: of many groups it is the only one.
      if (sum === undefined) groups.set(group, stored.measures);
      else addMeasures(sum, stored.measures);
    },
    /** Adds a request that no stored sum has. */
    count(row: CountedRow): void {
      const groups = groupsAt(timeOf(row));
      const group = groupOf(groupBy, namesOf(row));
      let sum = groups.get(group);
      if (sum === undefined) groups.set(group, (sum = noMeasures()));
      addRequest(sum, row);
    },
    groups: (): readonly UsageGroup[] =>
      [...times]
        .toSorted(([one], [other]) => one - other)
        .flatMap(([timeMs, groups]) =>
          [...groups]
            .toSorted(([one], [other]) => (one < other ? -1 : 1))
            .map(([group, measures]) => ({ timeMs, group: group === "" ? null : group, measures })),
        ),
  };
}

function groupOf(groupBy: Grouping, names: Names): string {
  switch (groupBy) {
    case "none":
      return "";
    case "route":
      return names.provider === "" ? "" : `${names.model}@${names.provider}`;
    default:
      return names[groupBy];
  }
}
