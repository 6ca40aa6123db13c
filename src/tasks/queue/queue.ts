import type { TaskKind } from "../../core/task.ts";
import type { Engine as StoreEngine } from "../../db/engine.ts";
import type { Database } from "../../db/schema.ts";
import { type Busy, createFairOrder, type Line } from "./fair-order.ts";
import type { TaskTerms } from "../../ledger/reads/task-hold.ts";
import {
  countRunning,
  findHeads,
  findOrphans,
  type Placed,
  type QueuedTask,
  readLine,
} from "./queue-reads.ts";

/** A task and its provider. */
export interface Picked {
  readonly task: QueuedTask;
  readonly provider: string;
  /** Tasks that this provider may run at a time, this one included. */
  readonly providerLimit: number;
}

/**
 * The provider of a task of a model now, and its limit; `undefined` while there is none. The answer may change between
 * two calls.
 */
export type ProviderOf = (
  kind: TaskKind,
  model: string,
  terms: TaskTerms,
) => { readonly provider: string; readonly limit: number } | undefined;

/** Tasks that can be claimed. Reads, and writes nothing. */
export interface Queue {
  /** Running tasks that their process has left behind, at most `room` of those that `skip` does not name. */
  orphans(room: number, skip: ReadonlySet<string>): Promise<readonly Picked[]>;
  /** Pending tasks in fair order, at most `room`. */
  pending(room: number, skip: ReadonlySet<string>): Promise<readonly Picked[]>;
}

/** What the queue is read with. */
export interface QueueParts {
  readonly database: Database;
  readonly storeEngine: StoreEngine;
  readonly steadyMs: () => number;
  readonly bootId: string;
  readonly providerOf: ProviderOf;
  /** Lines of one read; for tests. */
  readonly maxLines?: number;
}

/** Lines (tasks of an account for one model) of one read. */
const MAX_LINES = 200;

/** Reads at most, while there is room: the rest has its turn in the next look. */
const MAX_GOES = 10;

/** Of a running task, which has its place at its provider already: taking it over needs no further one. */
const NO_LIMIT = Number.MAX_SAFE_INTEGER;

/** The queue as the store has it. */
export function createQueue({ maxLines = MAX_LINES, ...parts }: QueueParts): Queue {
  const { database, providerOf } = parts;
  /** The last line that was looked at, when there were more. */
  let lookedAt: Placed | undefined;

  /** Picks from the lines behind those that were read last; `picked` count as if they ran. */
  const pickNext = async (
    room: number,
    skip: ReadonlySet<string>,
    picked: readonly Picked[],
  ): Promise<readonly Picked[]> => {
    const heads = await findHeads(database, lookedAt, maxLines);
    lookedAt = heads.length === maxLines ? heads.at(-1) : undefined;
    if (heads.length === 0) return [];
    const order = createFairOrder([...(await countRunning(database)), ...picked.map(busyWith)]);
    const lines = new Map<Line, Waiting>();
    const steadyMs = parts.steadyMs();
    const add = (line: Line, seq: bigint, waiting: Waiting): void => {
      order.at(line, seq);
      lines.set(line, waiting);
    };
    /** Its first task says for which provider the line waits. */
    const enter = (waiting: Waiting): void => {
      const [first] = waiting.known;
      if (first === undefined) return;
      const { accountId, kind, model, terms } = first.task;
      const served = providerOf(kind, model, terms);
      if (served !== undefined) add({ accountId, kind, model, ...served }, first.seq, waiting);
    };
    for (const head of heads)
      if (steadyMs >= head.task.readyAtMs) enter({ head, known: [head], isWhole: false });
    const picks: Picked[] = [];
    for (let line = order.next(); line !== undefined && picks.length < room; line = order.next()) {
      const waiting = lines.get(line) as Waiting;
      const first = waiting.known.shift();
      order.ended(line);
      if (first === undefined) {
        // Only now a read of the tasks behind the first of the line is worth its cost.
        waiting.known = await readLine(database, waiting.head, { steadyMs, limit: room + skip.size });
        waiting.isWhole = true;
      } else if (!skip.has(first.task.id) && steadyMs < first.task.deadlineMs) {
        order.taken(line);
        picks.push({ task: first.task, provider: line.provider, providerLimit: line.limit });
      }
      if (waiting.isWhole) enter(waiting);
      // Which provider the next task is for is not known yet.
      else add({ ...line, limit: NO_LIMIT }, waiting.head.seq, waiting);
    }
    return picks;
  };

  return {
    async orphans(room, skip) {
      const view = { storeEngine: parts.storeEngine, bootId: parts.bootId, steadyMs: parts.steadyMs() };
      const found = await findOrphans(database, view, room + skip.size);
      return found
        .filter(({ task }) => !skip.has(task.id))
        .slice(0, room)
        .map(({ task, provider }) => ({ task, provider, providerLimit: NO_LIMIT }));
    },

    async pending(room, skip) {
      const begunAt = lookedAt;
      const picks: Picked[] = [];
      // From the beginning once more where it began in the middle, so that a woken look misses no line.
      for (let goes = 0, rounds = begunAt === undefined ? 1 : 2; goes < MAX_GOES && rounds > 0; goes += 1) {
        const known = new Set([...skip, ...picks.map(({ task }) => task.id)]);
        picks.push(...(await pickNext(room - picks.length, known, picks)));
        if (picks.length >= room) break;
        if (lookedAt === undefined) rounds -= 1;
      }
      return picks;
    },
  };
}

function busyWith({ task: { accountId }, provider }: Picked): Busy {
  return { accountId, provider, tasks: 1 };
}

/** The known tasks of a line. */
interface Waiting {
  readonly head: Placed;
  /** Its next tasks; only the first while it is not whole. */
  known: Placed[];
  /** Whether all tasks that can be taken in one look are known. */
  isWhole: boolean;
}
