import { CompiledQuery } from "kysely";
import type { Engine } from "../../../db/engine.ts";
import type { Database } from "../../../db/schema.ts";
import { kyselyOver, openForReading } from "../../../db/sqlite.ts";
import { openForFigures } from "../../../db/sqlite-file.ts";
import { writeRefusals } from "../../../ledger/refusals.ts";
import { createHorizon, type Horizon } from "../../../ledger/usage/horizon.ts";
import { noteLedgerHours } from "../../../ledger/usage/ledger-hours.ts";
import { rollUpRecent } from "../../../ledger/usage/recent.ts";
import { readUsage } from "../../../ledger/usage/read-usage.ts";
import { rollUp } from "../../../ledger/usage/roll-up.ts";
import { sumThirtyDays } from "../../../ledger/usage/thirty-days.ts";
import { readGroupNames } from "../group-names.ts";
import { measuresOf, usageText } from "../usage-text.ts";
import { listText } from "./lists.ts";
import { type AdminDone, type AdminWork, type ThreadPlace, writeRows } from "./messages.ts";

/** Does the work of the thread, over connections of its own that are opened when they are first needed. */
export function openWork(place: ThreadPlace): (work: AdminWork) => Promise<AdminDone> {
  const engine: Engine = "file" in place ? "sqlite" : "postgres";
  let opening: Promise<Connections> | undefined;
  return async (work) => {
    const { reads, openFigures } = await (opening ??= connect(place));
    if ("sql" in work) {
      const { rows } = await reads.executeQuery(CompiledQuery.raw(work.sql, [...work.parameters]));
      return writeRows(rows as Record<string, unknown>[]);
    }
    if ("usage" in work) {
      const { usage } = work;
      const groups = await readUsage(reads, engine, { ...usage, measures: measuresOf(usage.figures) });
      return bytesOf(usageText(usage, groups, await readGroupNames(reads, usage, groups)));
    }
    if ("list" in work) return bytesOf(await listText({ database: reads, engine }, work));
    const figures = openFigures();
    if ("refusals" in work) {
      await writeRefusals(figures.database, engine, work.refusals);
      return { more: false };
    }
    const isMore = [
      await rollUp({ ...figures, engine, horizon: figures.requests }),
      await rollUpRecent({ ...figures, engine }),
      await sumThirtyDays({ ...figures, engine }),
      await noteLedgerHours({ ...figures, engine, horizon: figures.entries }),
    ];
    return { more: isMore.includes(true) };
  };
}

function bytesOf(text: string): AdminDone {
  return { bytes: new TextEncoder().encode(text) };
}

/** What a figure is written over. */
interface Figures {
  readonly database: Database;
  readonly requests: Horizon;
  readonly entries: Horizon;
}

interface Connections {
  readonly reads: Database;
  openFigures(): Figures;
}

/** Connections for reads on a shared store, beside the one that figures are written over. */
const READS = 2;

async function connect(place: ThreadPlace): Promise<Connections> {
  const once = (open: () => Database, engine: Engine): (() => Figures) => {
    let figures: Figures | undefined;
    return () => {
      if (figures === undefined) {
        const database = open();
        figures = {
          database,
          requests: createHorizon(database, engine, "requests"),
          entries: createHorizon(database, engine, "ledger"),
        };
      }
      return figures;
    };
  };
  if ("file" in place) {
    const openFigures = once(() => kyselyOver(openForFigures(place.file)), "sqlite");
    return { reads: openForReading(place.file), openFigures };
  }
  const { openPostgres } = await import("../../../db/postgres.ts");
  return {
    reads: openPostgres(place.url, READS),
    openFigures: once(() => openPostgres(place.url, 1), "postgres"),
  };
}
