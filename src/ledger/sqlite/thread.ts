import { noFailpoint, parseFailpoint } from "../../core/failpoint.ts";
import { openForWriting } from "../../db/sqlite-file.ts";
import { serveThread } from "../../runtime/worker.ts";
import type { BooksState, References } from "../decide/state.ts";
import type { Batch, Written } from "./batch.ts";
import { openSqliteStore } from "./store.ts";

/** The settings of the thread. */
export interface ThreadSettings {
  readonly databaseFile: string;
  /** A failpoint for the thread's own code, as `name:action[:nth]`. */
  readonly failpoint: string | null;
}

/** What the thread is asked to do, in the order of asking. */
export type Work = { readonly load: References } | { readonly write: Batch };

/** What it has done. */
export interface WorkDone {
  readonly done: BooksState | Written;
  /** Why nothing that is written from now on can be trusted; absent while it can. */
  readonly lost?: string;
}

serveThread<ThreadSettings, Work, WorkDone>((settings) => {
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
  return (work) => {
    const done = "load" in work ? store.load(work.load) : store.write(work.write);
    return lost === undefined ? { done } : { done, lost };
  };
});
