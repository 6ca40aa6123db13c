import { type RawBuilder, sql } from "kysely";
import { jsonOfAmounts } from "../../core/json/json-value.ts";
import type { Engine } from "../../db/engine.ts";
import type { Database } from "../../db/schema.ts";
import { givenRows } from "../given-rows.ts";
import { columnList, selectList, USAGE_ROLLUPS, type UsageRollup } from "../rows.ts";
import { histogramText, readHistogram } from "./histogram.ts";
import { addMeasures, type CountedRow, type Measures, type Names, noMeasures } from "./measures.ts";
import { namesIn, startOf, type View, VIEWS } from "./views.ts";

/** Usage of an hour or a day in memory. */
export interface Rollup extends Names {
  readonly grainMs: number;
  readonly view: string;
  readonly timeMs: number;
  readonly measures: Measures;
  firstSeq: bigint;
  lastSeq: bigint;
}

/** What the rows of `counted` come to, in every view and by hours and days. */
export function rollupsOf(counted: readonly CountedRow[]): readonly Rollup[] {
  const rollups = new Map<string, Rollup>();
  for (const row of counted)
    for (const view of Object.keys(VIEWS) as View[]) {
      const names = namesIn(view, row);
      for (const grainMs of VIEWS[view].grains) {
        const of = { grainMs, view, timeMs: startOf(grainMs, row.atMs), ...names };
        const name = nameOf(of);
        let rollup = rollups.get(name);
        if (rollup === undefined) {
          rollup = { ...of, measures: noMeasures(), firstSeq: row.seq, lastSeq: row.seq };
          rollups.set(name, rollup);
        }
        addMeasures(rollup.measures, row.measures);
        if (row.seq < rollup.firstSeq) rollup.firstSeq = row.seq;
        if (row.seq > rollup.lastSeq) rollup.lastSeq = row.seq;
      }
    }
  return [...rollups.values()];
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

/** Reads stored usage of one view; the caller bounds it. */
export function selectRollups(
  database: Database,
  {
    grainMs,
    view,
    where,
  }: { readonly grainMs: number; readonly view: View; readonly where: RawBuilder<unknown> },
): Promise<readonly Rollup[]> {
  return sql<GivenRow>`select ${sql.raw(selectList(USAGE_ROLLUPS))} from usage_rollups
    where grain_ms = ${BigInt(grainMs)} and view_name = ${view} and ${where}`
    .execute(database)
    .then(({ rows }) => rows.map(toRollup));
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
    measures: {
      requests: Number(row.requests),
      failed: Number(row.failed),
      inputTokens: Number(row.inputTokens),
      outputTokens: Number(row.outputTokens),
      cacheReadTokens: Number(row.cacheReadTokens),
      images: Number(row.images),
      seconds: Number(row.seconds),
      credit: row.credit,
      cost: row.cost,
      creditWithCost: row.creditWithCost,
      latency: readHistogram(row.latency),
      firstByte: readHistogram(row.firstByte),
    },
    firstSeq: row.firstSeq,
    lastSeq: row.lastSeq,
  };
}

function rowOf({ measures, ...rest }: Rollup): UsageRollup {
  const { latency, firstByte, ...sums } = measures;
  return { ...rest, ...sums, latency: histogramText(latency), firstByte: histogramText(firstByte) };
}
