import { noFailpoint, parseFailpoint } from "../../core/failpoint.ts";
import { openForWriting } from "../../db/sqlite.ts";
import { serveThread } from "../../runtime/worker.ts";
import type { Command, Outcome } from "../commands.ts";
import { openSqliteStore } from "./store.ts";

/** The settings of the thread. */
export interface ThreadSettings {
  readonly databaseFile: string;
  /** A failpoint for the thread's own code, as `name:action[:nth]`. */
  readonly failpoint: string | null;
}

/** Commands of one transaction. */
export interface Batch {
  readonly number: number;
  readonly commands: readonly Command[];
}

/** The outcomes of a batch, in the order of its commands. */
export interface BatchOutcomes {
  readonly number: number;
  readonly outcomes: readonly Outcome[];
  /** Why nothing that is written from now on can be trusted; absent while it can. */
  readonly lost?: string;
}

serveThread<ThreadSettings, Batch, BatchOutcomes>((settings) => {
  const failpoint =
    settings.failpoint === null
      ? noFailpoint
      : parseFailpoint(settings.failpoint, () => process.kill(process.pid, "SIGKILL"));
  let lost: string | undefined;
  const store = openSqliteStore(
    openForWriting(settings.databaseFile),
    failpoint,
    (reason) => (lost = reason),
  );
  return ({ number, commands }) => {
    const outcomes = store.apply(commands);
    return lost === undefined ? { number, outcomes } : { number, outcomes, lost };
  };
});
