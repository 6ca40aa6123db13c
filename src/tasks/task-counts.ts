import { sql } from "kysely";
import type { Clock } from "../core/time/clock.ts";
import type { TaskKind } from "../core/task.ts";
import type { Database } from "../db/schema.ts";

/** How many tasks of a kind are in a state that is not an end. */
export interface TaskCount {
  readonly kind: TaskKind;
  readonly state: "pending" | "running";
  readonly count: number;
}

/** How long a count is good for. */
const GOOD_MS = 5_000;

/** More tasks of one state are not counted: so many take 2 ms (measured on SQLite, over an index alone). */
const MOST = 20_000;

/** Counts the tasks in the store that have not ended; asks it every few seconds at the most, however often it is called. */
export function createTaskCounts(database: Database, clock: Clock): () => Promise<readonly TaskCount[]> {
  let counting: Promise<readonly TaskCount[]> | undefined;
  let countedMs = -Infinity;
  return () => {
    const nowMs = clock.steadyMs();
    if (counting === undefined || nowMs - countedMs >= GOOD_MS) {
      countedMs = nowMs;
      counting = countTasks(database);
    }
    return counting;
  };
}

async function countTasks(database: Database): Promise<readonly TaskCount[]> {
  const [pending, running] = await Promise.all([countIn(database, "pending"), countIn(database, "running")]);
  return [...pending, ...running];
}

async function countIn(database: Database, state: TaskCount["state"]): Promise<readonly TaskCount[]> {
  const { image, video } = await database
    // A constant in the statement's text: a partial index is used only where the statement itself has its condition.
    .selectFrom((from) =>
      from.selectFrom("tasks").select("kind").where("state", "=", sql.lit(state)).limit(MOST).as("those"),
    )
    .select(({ fn }) => [
      fn.countAll().filterWhere("kind", "=", "image").as("image"),
      fn.countAll().filterWhere("kind", "=", "video").as("video"),
    ])
    .executeTakeFirstOrThrow();
  return [
    { kind: "image", state, count: Number(image) },
    { kind: "video", state, count: Number(video) },
  ];
}
