import { existsSync, mkdirSync, readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { type Intent, type Intents, openIntents, readIntents } from "../intents.ts";

/**
 * Notes of the holds in this process's memory, in a folder of this machine: one file for each run. Another run on the
 * same folder finds in them what a run that died had open.
 */
export interface HoldNotes {
  /** Begins the file of this run anew, with the holds that are open. */
  open(boot: string, holds: () => Iterable<Intent>): void;
  /** Hands the note to the system before it returns. Throws where the disk does not take it. */
  note(intent: Intent): void;
  /** Runs that left a file, without this one. */
  left(): readonly string[];
  /** What a run noted, also of holds that have ended since. */
  read(boot: string): readonly Intent[];
  /** Removes the file of a run, unless that has changed since it was read: the run lives after all. */
  remove(boot: string): void;
  /** Ends this run's file, and removes it where the tables have every hold. */
  close(isDone: boolean): void;
}

const ENDING = ".holds";

/** Notes in `folder`, which is made when it is missing. */
export function openHoldNotes(folder: string): HoldNotes {
  let own: { readonly boot: string; readonly intents: Intents } | undefined;
  /** What the files of other runs were when they were read. */
  const seen = new Map<string, string>();
  const fileOf = (boot: string): string => join(folder, `${boot}${ENDING}`);
  return {
    open(boot, holds) {
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      own?.intents.close();
      own = { boot, intents: openIntents(fileOf(boot), boot, holds) };
    },
    note(intent) {
      if (own === undefined) throw new Error("The notes are not open.");
      own.intents.note(intent);
    },
    left: () =>
      (existsSync(folder) ? readdirSync(folder) : [])
        .filter((name) => name.endsWith(ENDING))
        .map((name) => name.slice(0, -ENDING.length))
        .filter((boot) => boot !== own?.boot),
    read(boot) {
      seen.set(boot, stateOf(fileOf(boot)));
      return readIntents(fileOf(boot), boot);
    },
    remove(boot) {
      if (stateOf(fileOf(boot)) !== seen.get(boot)) return;
      seen.delete(boot);
      for (const file of [fileOf(boot), `${fileOf(boot)}.next`]) rmSync(file, { force: true });
    },
    close(isDone) {
      if (own === undefined) return;
      own.intents.close();
      if (isDone) rmSync(fileOf(own.boot), { force: true });
    },
  };
}

function stateOf(file: string): string {
  const stat = statSync(file, { throwIfNoEntry: false });
  return stat === undefined ? "" : `${stat.ino} ${stat.size}`;
}
