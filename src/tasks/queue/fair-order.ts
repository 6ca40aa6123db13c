import type { TaskKind } from "../../core/task.ts";

/** Pending tasks of one account for one model, oldest first, and their provider. */
export interface Line {
  readonly accountId: string;
  readonly kind: TaskKind;
  readonly model: string;
  readonly provider: string;
  /** Tasks that the provider may run at a time. */
  readonly limit: number;
}

/** How many tasks of an account a provider runs. */
export interface Busy {
  readonly accountId: string;
  readonly provider: string;
  readonly tasks: number;
}

/** Chooses the next task. */
export interface FairOrder {
  /** The line whose first task is next; `undefined` when no line waits for a provider that has room. */
  next(): Line | undefined;
  /** The first task of the line came as the `seq`th, or later. */
  at(line: Line, seq: bigint): void;
  /** The first task of the line was taken. */
  taken(line: Line): void;
  /** The line is empty. */
  ended(line: Line): void;
}

/**
 * A fair order: the account with the fewest running tasks is next, and of several the one whose task came first. So
 * each account gets what it asks for, as long as none gets more than another that waits. A task for a provider that is
 * full holds up no other.
 */
export function createFairOrder(busy: readonly Busy[]): FairOrder {
  const first = new Map<Line, bigint>();
  const ofAccount = new Map<string, number>();
  const ofProvider = new Map<string, number>();
  const add = ({ accountId, provider }: Pick<Line, "accountId" | "provider">, tasks: number): void => {
    ofAccount.set(accountId, (ofAccount.get(accountId) ?? 0) + tasks);
    ofProvider.set(provider, (ofProvider.get(provider) ?? 0) + tasks);
  };
  for (const each of busy) add(each, each.tasks);

  const isBefore = (line: Line, other: Line): boolean => {
    const by = (ofAccount.get(line.accountId) ?? 0) - (ofAccount.get(other.accountId) ?? 0);
    return by === 0 ? (first.get(line) ?? 0n) < (first.get(other) ?? 0n) : by < 0;
  };

  return {
    next() {
      let best: Line | undefined;
      for (const line of first.keys()) {
        if ((ofProvider.get(line.provider) ?? 0) >= line.limit) continue;
        if (best === undefined || isBefore(line, best)) best = line;
      }
      return best;
    },
    at: (line, seq) => void first.set(line, seq),
    taken: (line) => add(line, 1),
    ended: (line) => void first.delete(line),
  };
}
