import { creditsNumber } from "../../core/money/credits.ts";
import { type ChargeLine, chargeLines } from "../../core/money/charge-lines.ts";
import { NO_USAGE } from "../../core/money/usage.ts";
import type { Database, HoldsTable, RequestsTable } from "../../db/schema.ts";
import { readRules, readTaskTerms, type TaskTerms } from "../../ledger/reads/task-hold.ts";
import { type EntryView, entryView } from "./entries.ts";
import { type PriceUnit, unitOf, usdOf } from "./views.ts";
import { readUsage, type RequestView, requestView } from "./requests.ts";

/** A part of a charge, as the admin interface shows it. */
export interface LineView {
  readonly bucket: ChargeLine["bucket"];
  readonly quantity: number;
  /** In USD. */
  readonly price: number | null;
  /** Null for an adjustment. */
  readonly unit: PriceUnit | null;
  readonly credit: number;
}

/** One paid request: its row, and where its money went. */
export interface RequestDetail extends RequestView {
  /** Their credit adds up to the request's. */
  readonly lines: readonly LineView[];
  readonly ledger: readonly EntryView[];
  readonly task_id: string | null;
  readonly hold: {
    readonly amount: number;
    readonly state: HoldsTable["state"];
    readonly created_at: number;
    readonly ended_at: number | null;
  };
}

/** The request of that id, once it has ended; `undefined` for any other. */
export async function readRequest(database: Database, id: string): Promise<RequestDetail | undefined> {
  const row = await database
    .selectFrom("requests")
    .innerJoin("holds", "holds.id", "requests.hold_id")
    .innerJoin("price_versions", "price_versions.version", "requests.price_version")
    .leftJoin("tasks", "tasks.id", "holds.task_id")
    .selectAll("requests")
    .select([
      "price_versions.rules",
      "holds.task_id",
      "tasks.terms",
      "holds.amount as hold_amount",
      "holds.state as hold_state",
      "holds.created_at_ms as hold_created_at_ms",
      "holds.ended_at_ms as hold_ended_at_ms",
    ])
    .where("requests.id", "=", id)
    .executeTakeFirst();
  if (row === undefined) return undefined;
  const entries = await database
    .selectFrom("ledger")
    .selectAll()
    .where(
      "cause",
      "in",
      ["settle", "loss", "late"].map((kind) => `${row.hold_id}:${kind}`),
    )
    .orderBy("seq")
    .execute();
  return {
    ...requestView(row),
    lines: linesOf(row),
    ledger: entries.map(entryView),
    task_id: row.task_id,
    hold: {
      amount: creditsNumber(row.hold_amount),
      state: row.hold_state,
      created_at: Number(row.hold_created_at_ms) / 1000,
      ended_at: row.hold_ended_at_ms === null ? null : Number(row.hold_ended_at_ms) / 1000,
    },
  };
}

/** What the lines of a request are made from. */
type Priced = Pick<RequestsTable, "usage" | "charge" | "price_version" | "admitted_at_ms"> & {
  readonly rules: string;
  readonly task_id: string | null;
  /** Of its task, while that is kept. */
  readonly terms: string | null;
};

/** The charge of a request, made again from its usage by the prices of then. */
export function linesOf(row: Priced): readonly LineView[] {
  // A request is priced by the moment of its admission.
  const { pricedAtMs, facts }: TaskTerms =
    row.terms === null ? { pricedAtMs: Number(row.admitted_at_ms) } : readTaskTerms(row.terms);
  const lines = chargeLines({
    usage: { ...NO_USAGE, ...readUsage(row.usage) },
    snapshot: {
      version: row.price_version,
      prices: readRules(row.rules),
      pricedAtMs,
      ...(facts === undefined ? {} : { facts }),
    },
    factsAreKnown: row.task_id === null || row.terms !== null,
    charge: row.charge,
  });
  return lines.map(lineView);
}

function lineView({ bucket, quantity, price, credit }: ChargeLine): LineView {
  return {
    bucket,
    quantity,
    price: price === null || bucket === "adjustment" ? null : usdOf(bucket, price),
    unit: bucket === "adjustment" ? null : unitOf(bucket),
    credit: creditsNumber(credit),
  };
}
