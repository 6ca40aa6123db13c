import { type RawBuilder, sql } from "kysely";
import { jsonOfAmounts } from "../../core/json/json-value.ts";
import type { Engine } from "../../db/engine.ts";
import type { Database } from "../../db/schema.ts";
import { givenRows } from "../given-rows.ts";
import { columnList, USAGE_ROLLUPS, type UsageRollup } from "../rows.ts";
import { type Histogram, histogramText, readHistogram, readHistograms } from "./histogram.ts";
import { beginOfRow, type Interval } from "./intervals.ts";
import {
  addMeasures,
  addRequest,
  type CountedRow,
  type Measure,
  type Measures,
  type Names,
  namesOf,
  noMeasures,
  timeOf,
} from "./measures.ts";
import { DAY_MS, type Dimension, namesIn, startOf, type View, VIEWS } from "./views.ts";

/** Usage of five minutes, an hour, a day or thirty days in memory. */
export interface Rollup extends Names {
  readonly grainMs: number;
  readonly view: string;
  readonly timeMs: number;
  readonly measures: Measures;
  firstSeq: bigint;
  lastSeq: bigint;
}

/** What these requests come to, in every view and by these times, the shortest of them first. */
export function rollupsOf(
  rows: readonly CountedRow[],
  grains: readonly [number, ...number[]],
): readonly Rollup[] {
  const rollups = new Map<string, Rollup>();
  // Most of them have their hour and all their names in common with others: what those come to goes into the views.
  for (const together of addedUp(rows, grains[0]))
    for (const view of Object.keys(VIEWS) as View[]) {
      const names = namesIn(view, together);
      const kept: readonly number[] = VIEWS[view].grains;
      for (const grainMs of grains) {
        if (!kept.includes(grainMs)) continue;
        const { firstSeq, lastSeq } = together;
        const of = { grainMs, view, timeMs: startOf(grainMs, together.timeMs), ...names };
        const name = nameOf(of);
        let rollup = rollups.get(name);
        if (rollup === undefined) {
          rollup = { ...of, measures: noMeasures(), firstSeq, lastSeq };
          rollups.set(name, rollup);
        }
        addMeasures(rollup.measures, together.measures);
        if (firstSeq < rollup.firstSeq) rollup.firstSeq = firstSeq;
        if (lastSeq > rollup.lastSeq) rollup.lastSeq = lastSeq;
      }
    }
  return [...rollups.values()];
}

/** Requests of one time that have all names in common. */
interface Together extends Names {
  readonly timeMs: number;
  readonly measures: Measures;
  readonly firstSeq: bigint;
  lastSeq: bigint;
}

/** Adds up requests that come in the order of their numbers. */
function addedUp(rows: readonly CountedRow[], grainMs: number): Iterable<Together> {
  const all = new Map<string, Together>();
  for (const row of rows) {
    const names = namesOf(row);
    const timeMs = startOf(grainMs, timeOf(row));
    const name = `${timeMs}\n${names.model}\n${names.provider}\n${names.account}\n${names.key}\n${names.outcome}`;
    let together = all.get(name);
    if (together === undefined) {
      together = { ...names, timeMs, measures: noMeasures(), firstSeq: row.seq, lastSeq: row.seq };
      all.set(name, together);
    }
    addRequest(together.measures, row);
    together.lastSeq = row.seq;
  }
  return all.values();
}

/** What `rollups` come to together with what is stored of them. */
export async function withStored(
  database: Database,
  engine: Engine,
  rollups: readonly Rollup[],
): Promise<readonly Rollup[]> {
  const known = new Map((await load(database, engine, rollups)).map((rollup) => [nameOf(rollup), rollup]));
  return rollups.map((rollup) => {
    const stored = known.get(nameOf(rollup));
    if (stored === undefined) return rollup;
    addMeasures(stored.measures, rollup.measures);
    if (rollup.firstSeq < stored.firstSeq) stored.firstSeq = rollup.firstSeq;
    if (rollup.lastSeq > stored.lastSeq) stored.lastSeq = rollup.lastSeq;
    return stored;
  });
}

/** Writes these in the place of those that were stored. */
export async function storeRollups(
  database: Database,
  engine: Engine,
  rollups: readonly Rollup[],
): Promise<void> {
  const rows = jsonOfAmounts(rollups.map(rowOf));
  const members = Object.keys(USAGE_ROLLUPS.columns).map((member) => sql.ref(`t.${member}`));
  await sql`insert into usage_rollups (${sql.raw(columnList(USAGE_ROLLUPS))})
    select ${sql.join(members)} from ${givenRows(engine, USAGE_ROLLUPS, rows)} where true
    on conflict (${sql.raw(KEY.map(columnOf).join(", "))})
    do update set ${sql.raw(
      MEASURED.map(columnOf)
        .map((name) => `${name} = excluded.${name}`)
        .join(", "),
    )}`.execute(database);
}

/** The column of each name, of rollups and of requests. */
export const COLUMN_OF = {
  model: "model",
  provider: "provider",
  account: "account_id",
  key: "key_id",
  outcome: "outcome",
} as const satisfies Readonly<Record<Dimension, string>>;

/** Conditions on rows of rollups or of requests: that they have these names. */
export function filtersOf(filter: Partial<Names>): RawBuilder<unknown>[] {
  return (Object.entries(filter) as [Dimension, string][]).map(
    ([dimension, name]) => sql`${sql.ref(COLUMN_OF[dimension])} = ${name}`,
  );
}

/**
 * The table of rollups with the index that finds these names in it. SQLite has no statistics of it, and takes the primary
 * key, which is in the order of time, wherever a time is asked for.
 */
export function rollupsBy(
  engine: Engine,
  {
    grainMs,
    view,
    filter,
  }: { readonly grainMs: number; readonly view: View; readonly filter: Partial<Names> },
): RawBuilder<unknown> {
  const index = indexOf(grainMs, view, filter);
  if (engine === "postgres" || index === undefined) return sql`usage_rollups`;
  return sql`usage_rollups indexed by ${sql.id(index)}`;
}

function indexOf(grainMs: number, view: View, { key, account, outcome }: Partial<Names>): string | undefined {
  if (key !== undefined) return "usage_of_key";
  if (account !== undefined) return "usage_of_account";
  return outcome !== undefined && view === "full" && grainMs === DAY_MS ? "usage_by_outcome" : undefined;
}

/** Conditions on rollups, with constants in the text: a partial index is used by such alone. */
export function rollupsWhere(grainMs: number, view: View, filter: Partial<Names>): RawBuilder<unknown>[] {
  return [sql`grain_ms = ${sql.lit(grainMs)}`, sql`view_name = ${sql.lit(view)}`, ...filtersOf(filter)];
}

/** Which stored usage is added up, and by what. */
export interface SumForm {
  readonly grainMs: number;
  readonly view: View;
  /** What rows have; */
  readonly filter: Partial<Names>;
  /** and when they are. */
  readonly time: RawBuilder<unknown>;
  /** Sums of each of these; absent: of all. */
  readonly interval: Interval | undefined;
  /** Sums of each of these names; the others are empty. */
  readonly by: readonly Dimension[];
  /** What is added up; the others are nothing. */
  readonly measures: readonly Measure[];
}

/** Usage of one interval and of some names. */
export interface UsageSum extends Names {
  /** 0 for the sums of all. */
  readonly timeMs: number;
  readonly measures: Measures;
}

/** Adds stored usage up where it lies, since a year may have many thousands of rows. */
export async function sumRollups(
  database: Database,
  engine: Engine,
  { grainMs, view, filter, time: span, interval, by, measures }: SumForm,
): Promise<readonly UsageSum[]> {
  const time = interval === undefined ? sql`0` : beginOfRow(interval, grainMs);
  const names = by.map((dimension) => sql`${sql.ref(COLUMN_OF[dimension])} as ${sql.id(dimension)}`);
  const sums = SUMMED.filter((member) => measures.includes(member)).map(
    (member) => sql`cast(sum(${sql.ref(columnOf(member))}) as bigint) as ${sql.id(member)}`,
  );
  const joined = sql.raw(engine === "postgres" ? "string_agg" : "group_concat");
  const durations = DURATIONS.filter((member) => measures.includes(member)).map(
    (member) => sql`${joined}(${sql.ref(columnOf(member))}, ',') as ${sql.id(member)}`,
  );
  const groups = [
    ...(interval === undefined ? [] : [time]),
    ...by.map((dimension) => sql.ref(COLUMN_OF[dimension])),
  ];
  // Without groups there would be a row for none, too: `having` leaves it out.
  const { rows } = await sql<SumRow>`select cast(${time} as bigint) as ${sql.id("timeMs")},
    ${sql.join([...names, ...sums, ...durations])} from ${rollupsBy(engine, { grainMs, view, filter })}
    where ${sql.join([...rollupsWhere(grainMs, view, filter), span], sql` and `)}
    ${groups.length === 0 ? sql`` : sql`group by ${sql.join(groups)}`}
    having count(*) > 0`.execute(database);
  return rows.map(toSum);
}

/** The numbers between which the counted requests of one time are; `undefined` where there are none. */
export async function numbersOf(
  database: Database,
  { grainMs, timeMs }: { readonly grainMs: number; readonly timeMs: number },
): Promise<{ readonly first: bigint; readonly last: bigint } | undefined> {
  const { rows } = await sql<{ readonly first: bigint | null; readonly last: bigint | null }>`
    select min(first_seq) as first, max(last_seq) as last from usage_rollups
    where grain_ms = ${BigInt(grainMs)} and view_name = 'outcome' and time_ms = ${BigInt(timeMs)}`.execute(
    database,
  );
  const { first = null, last = null } = rows[0] ?? {};
  return first === null || last === null ? undefined : { first, last };
}

const DURATIONS = ["latency", "firstByte"] as const;
const SUMMED = [
  "requests",
  "failed",
  "inputTokens",
  "outputTokens",
  "cacheReadTokens",
  "images",
  "seconds",
  "credit",
  "cost",
  "creditWithCost",
] as const;

/** Measures as a store gives them. */
type MeasuredRow = Readonly<
  Record<(typeof SUMMED)[number], bigint> & Record<(typeof DURATIONS)[number], string>
>;

/** Sums as a store gives them, of what is added up. */
type SumRow = Partial<Names & MeasuredRow> & { readonly timeMs: bigint };

function toSum(row: SumRow): UsageSum {
  const { timeMs, model = "", provider = "", account = "", key = "", outcome = "" } = row;
  return {
    timeMs: Number(timeMs),
    model,
    provider,
    account,
    key,
    outcome,
    // The whole row: a year may have many thousands of them, and a copy of each is most of the work.
    measures: toMeasures(row, readHistograms),
  };
}

/** The members that name a row; all others are measured. */
const KEY = ["grainMs", "view", "timeMs", "model", "provider", "account", "key", "outcome"] as const;
type Member = keyof UsageRollup;
const MEASURED = (Object.keys(USAGE_ROLLUPS.columns) as Member[]).filter(
  (member) => !(KEY as readonly Member[]).includes(member),
);
const columnOf = (member: Member): string => USAGE_ROLLUPS.columns[member].name;

function nameOf(rollup: Pick<Rollup, (typeof KEY)[number]>): string {
  return KEY.map((member) => rollup[member]).join("\n");
}

async function load(
  database: Database,
  engine: Engine,
  rollups: readonly Rollup[],
): Promise<readonly Rollup[]> {
  const keys = jsonOfAmounts(rollups.map((rollup) => Object.fromEntries(KEY.map((m) => [m, rollup[m]]))));
  const same = KEY.map((member) => sql`${sql.ref(`u.${columnOf(member)}`)} = ${sql.ref(`t.${member}`)}`);
  const columns = (Object.keys(USAGE_ROLLUPS.columns) as Member[]).map(
    (member) => sql`${sql.ref(`u.${columnOf(member)}`)} as ${sql.id(member)}`,
  );
  const { rows } =
    await sql<GivenRow>`select ${sql.join(columns)} from ${givenRows(engine, USAGE_ROLLUPS, keys)}
    join usage_rollups u on ${sql.join(same, sql` and `)}`.execute(database);
  return rows.map(toRollup);
}

/** As a store gives it. Written out, since a year may have many thousands of them. */
type GivenRow = {
  readonly [Name in Member]: UsageRollup[Name] extends string ? string : bigint;
};

function toRollup(row: GivenRow): Rollup {
  return {
    grainMs: Number(row.grainMs),
    view: row.view,
    timeMs: Number(row.timeMs),
    model: row.model,
    provider: row.provider,
    account: row.account,
    key: row.key,
    outcome: row.outcome,
    measures: toMeasures(row, readHistogram),
    firstSeq: row.firstSeq,
    lastSeq: row.lastSeq,
  };
}

function rowOf({ measures, ...rest }: Rollup): UsageRollup {
  const { latency, firstByte, ...sums } = measures;
  return { ...rest, ...sums, latency: histogramText(latency), firstByte: histogramText(firstByte) };
}

function toMeasures(row: Partial<MeasuredRow>, read: (text: string) => Histogram): Measures {
  return {
    requests: Number(row.requests ?? 0),
    failed: Number(row.failed ?? 0),
    inputTokens: Number(row.inputTokens ?? 0),
    outputTokens: Number(row.outputTokens ?? 0),
    cacheReadTokens: Number(row.cacheReadTokens ?? 0),
    images: Number(row.images ?? 0),
    seconds: Number(row.seconds ?? 0),
    credit: row.credit ?? 0n,
    cost: row.cost ?? 0n,
    creditWithCost: row.creditWithCost ?? 0n,
    latency: row.latency === undefined ? [] : read(row.latency),
    firstByte: row.firstByte === undefined ? [] : read(row.firstByte),
  };
}
