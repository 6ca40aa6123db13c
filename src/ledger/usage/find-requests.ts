import { type RawBuilder, type Selectable, sql } from "kysely";
import type { Engine } from "../../db/engine.ts";
import type { Database, RequestsTable } from "../../db/schema.ts";
import { jsonOfAmounts } from "../../core/json/json-value.ts";
import type { Names } from "./measures.ts";
import { COLUMN_OF, filtersOf, rollupsBy, rollupsWhere } from "./rollups.ts";
import { DAY_MS, type Dimension, HOUR_MS, startOf, viewFor } from "./views.ts";

/** Which requests are looked for; an absent member is not asked. */
export interface WantedRequests {
  readonly filter: Partial<Names>;
  /** Settled then or later, */
  readonly fromMs?: number;
  /** and before then. */
  readonly toMs?: number;
  /** With a lower number. */
  readonly before?: bigint;
}

export type RequestRow = Selectable<RequestsTable>;

/**
 * The newest requests that are wanted, `count` at the most. Requests have no index by time, model, provider or outcome,
 * which each request would pay for. Rollups say in which days and hours there are such requests, and between which
 * numbers: only there are they looked for. Requests above the mark are read by themselves. The mark is read first, so
 * that each request below it is in the rollups that are read after it.
 */
export async function findRequests(
  database: Database,
  engine: Engine,
  wanted: WantedRequests,
  count: number,
): Promise<readonly RequestRow[]> {
  const { request_seq: mark } = await database
    .selectFrom("usage_mark")
    .select("request_seq")
    .executeTakeFirstOrThrow();
  const where = conditionsOf(wanted);
  const uncounted = await database
    .selectFrom("requests")
    .selectAll()
    .where(where)
    .where("seq", ">", mark)
    .orderBy("seq", "desc")
    .limit(count)
    .execute();
  const found = [...uncounted];
  let below = wanted.before !== undefined && wanted.before <= mark ? wanted.before : mark + 1n;
  const calendar = (await daysOf(database, engine, { ...wanted, filter: {} })).toSorted(
    (a, b) => b.timeMs - a.timeMs,
  );
  let days: readonly Day[] = [];
  for (let length = FIRST_DAYS; found.length < count && calendar.length > 0; length *= 2) {
    const next = calendar.splice(0, length);
    const of = await daysOf(database, engine, wanted, next);
    days = [...days, ...of].toSorted((a, b) => Number(b.last - a.last));
    // Above it no day has a request that was not looked at yet.
    const unseen = calendar.reduce((most, { last }) => (last > most ? last : most), 0n);
    while (found.length < count && (days[0]?.last ?? 0n) > unseen) {
      const { taken, left, floor } = takeDays(days, count - found.length, unseen);
      const spans = await spansIn(database, engine, wanted, { days: taken, above: floor, below });
      if (spans.length > 0)
        found.push(...(await rowsIn(database, engine, { spans, where, count: count - found.length })));
      days = left;
      below = floor + 1n;
    }
  }
  return found;
}

/** So many days are looked at first, then twice as many, and so on: what is listed is mostly of the last ones. */
const FIRST_DAYS = 16;

/** The request of that id, where it is wanted. */
export function requestOf(
  database: Database,
  wanted: WantedRequests,
  id: string,
): Promise<readonly RequestRow[]> {
  return database
    .selectFrom("requests")
    .selectAll()
    .where("id", "=", id)
    .where(conditionsOf(wanted))
    .execute();
}

/** Numbers from the first to the last. */
interface Span {
  readonly first: bigint;
  readonly last: bigint;
}

/** A day that has wanted requests, and between which numbers they are. */
interface Day extends Span {
  readonly timeMs: number;
  /** How many there are, but for those at the ends of the time that is asked for; 0 where some were looked at. */
  readonly requests: number;
}

/** The days that have wanted requests: any of them, or some that follow one another, the last first. */
async function daysOf(
  database: Database,
  engine: Engine,
  wanted: WantedRequests,
  among?: readonly Day[],
): Promise<readonly Day[]> {
  const view = viewFor(DAY_MS, Object.keys(wanted.filter) as Dimension[]);
  const { fromMs, toMs, before } = wanted;
  const { rows } = await sql<{ timeMs: bigint; first: bigint; last: bigint; requests: bigint }>`
    select time_ms as ${sql.id("timeMs")}, min(first_seq) as first, max(last_seq) as last,
      cast(sum(requests) as bigint) as requests
    from ${rollupsBy(engine, { grainMs: DAY_MS, view, filter: wanted.filter })} where ${sql.join(
      [
        ...rollupsWhere(DAY_MS, view, wanted.filter),
        ...(fromMs === undefined ? [] : [sql`time_ms >= ${BigInt(startOf(DAY_MS, fromMs))}`]),
        ...(toMs === undefined ? [] : [sql`time_ms < ${BigInt(toMs)}`]),
        ...(before === undefined ? [] : [sql`first_seq < ${before}`]),
        ...(among === undefined
          ? []
          : [
              sql`time_ms >= ${BigInt(among.at(-1)?.timeMs ?? 0)}`,
              sql`time_ms <= ${BigInt(among[0]?.timeMs ?? 0)}`,
            ]),
      ],
      sql` and `,
    )}
    group by time_ms`.execute(database);
  return rows.map(({ timeMs, first, last, requests }) => ({
    first,
    last,
    timeMs: Number(timeMs),
    requests: Number(requests),
  }));
}

/**
 * Takes days until they promise enough, of those with the highest numbers. All that is wanted above `floor` is in the
 * days that are taken. No other of `days` reaches above it, and a day outside `days` has none above `unseen`. What the
 * taken days have below `floor` is left. At least one day is taken that was not looked at before, where there is one.
 */
function takeDays(
  days: readonly Day[],
  count: number,
  unseen: bigint,
): { readonly taken: readonly Day[]; readonly left: readonly Day[]; readonly floor: bigint } {
  let [promised, next] = [0, 0];
  for (; next < days.length && promised < count; next += 1) promised += days[next]?.requests ?? 0;
  const taken = days.slice(0, next);
  const below = days[next]?.last ?? 0n;
  const floor = below > unseen ? below : unseen;
  const begun = taken
    .filter(({ first }) => first <= floor)
    .map((day) => Object.assign({}, day, { last: day.last < floor ? day.last : floor, requests: 0 }));
  // In the same order: what was begun reaches as high as the floor, which no day behind it is above.
  return { taken, left: [...begun, ...days.slice(next)], floor };
}

/**
 * Between which numbers the hours of those days have wanted requests, apart from one another. Each day by itself: without
 * `offset` PostgreSQL reads all hours and compares each with the days.
 */
async function spansIn(
  database: Database,
  engine: Engine,
  { filter, fromMs, toMs }: WantedRequests,
  { days, above, below }: { readonly days: readonly Day[]; readonly above: bigint; readonly below: bigint },
): Promise<readonly Span[]> {
  const view = viewFor(HOUR_MS, Object.keys(filter) as Dimension[]);
  const conditions = [
    ...rollupsWhere(HOUR_MS, view, filter),
    sql`time_ms >= d.first and time_ms < d.first + ${sql.lit(DAY_MS)}`,
    ...(fromMs === undefined ? [] : [sql`time_ms >= ${BigInt(startOf(HOUR_MS, fromMs))}`]),
    ...(toMs === undefined ? [] : [sql`time_ms < ${BigInt(toMs)}`]),
    sql`first_seq < ${below} and last_seq > ${above}`,
  ];
  const starts = days.map(({ timeMs }) => ({ first: timeMs, last: 0 }));
  const given = givenSpans(engine, starts, "d");
  const hours = sql`${rollupsBy(engine, { grainMs: HOUR_MS, view, filter })}
    where ${sql.join(conditions, sql` and `)}`;
  const { rows } = await sql<Span>`select first_seq as first, last_seq as last
    from ${given} cross join ${engine === "postgres" ? sql`lateral (select * from ${hours} offset 0) h` : hours}
    order by first_seq`.execute(database);
  const spans: { first: bigint; last: bigint }[] = [];
  for (const row of rows) {
    const first = row.first > above ? row.first : above + 1n;
    const last = row.last < below ? row.last : below - 1n;
    const before = spans.at(-1);
    if (before === undefined || first > before.last) spans.push({ first, last });
    else if (last > before.last) before.last = last;
  }
  return spans;
}

/** The newest wanted requests of some spans. */
async function rowsIn(
  database: Database,
  engine: Engine,
  {
    spans,
    where,
    count,
  }: { readonly spans: readonly Span[]; readonly where: RawBuilder<boolean>; readonly count: number },
): Promise<readonly RequestRow[]> {
  const given = givenSpans(engine, spans, "s");
  const within = sql`r.seq >= s.first and r.seq <= s.last and ${where}`;
  const last = sql`order by r.seq desc limit ${count}`;
  // Each span by itself: a plan that walks all requests and compares each with the spans looks cheap and is not.
  const { rows } = await (
    engine === "postgres"
      ? sql<RequestRow>`select r.* from ${given}
        cross join lateral (select * from requests r where ${within} ${last}) r ${last}`
      : sql<RequestRow>`select r.* from ${given} cross join requests r where ${within} ${last}`
  ).execute(database);
  return rows;
}

/** A table of spans by the name of `as`; SQLite reads tables in the order in which a cross join names them. */
function givenSpans(
  engine: Engine,
  spans: readonly { readonly first: bigint | number; readonly last: bigint | number }[],
  as: string,
): RawBuilder<unknown> {
  const given = jsonOfAmounts(spans);
  const [first, last] = [sql.lit("$.first"), sql.lit("$.last")];
  return engine === "postgres"
    ? sql`json_to_recordset(${given}::json) as ${sql.id(as)}(first bigint, last bigint)`
    : sql`(select cast(json_extract(value, ${first}) as integer) as first,
          cast(json_extract(value, ${last}) as integer) as last from json_each(${given})) as ${sql.id(as)}`;
}

function conditionsOf({ filter, fromMs, toMs, before }: WantedRequests): RawBuilder<boolean> {
  return sql<boolean>`${sql.join(
    [
      ...filtersOf(filter),
      ...(fromMs === undefined ? [] : [sql`settled_at_ms >= ${BigInt(fromMs)}`]),
      ...(toMs === undefined ? [] : [sql`settled_at_ms < ${BigInt(toMs)}`]),
      ...(before === undefined ? [] : [sql`seq < ${before}`]),
      sql`true`,
    ],
    sql` and `,
  )}`;
}

/** Whether any request ever had a provider of that name. */
export async function wasProvider(database: Database, provider: string): Promise<boolean> {
  const { rows } = await sql`select 1 from usage_rollups
    where grain_ms = ${sql.lit(DAY_MS)} and view_name = 'route' and ${sql.ref(COLUMN_OF.provider)} = ${provider}
    union all
    select 1 from requests where seq > (select request_seq from usage_mark) and provider = ${provider}
    limit 1`.execute(database);
  return rows.length > 0;
}
