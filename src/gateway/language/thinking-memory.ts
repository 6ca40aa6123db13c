import type { Clock } from "../../core/time/clock.ts";
import type { CallThinking, ThoughtCall } from "../../protocols/recalled-thinking.ts";

/** Remembers what models thought before they called tools, for clients that drop it. Of this process alone. */
export interface ThinkingMemory {
  /** Whether anything is remembered for an account's models of a family. */
  has(account: string, family: string): boolean;
  /** What is known of the calls with these keys, by key; of a key that stands for several thoughts, nothing. */
  recall(account: string, family: string, keys: readonly string[]): Readonly<Record<string, CallThinking>>;
  remember(account: string, family: string, calls: readonly ThoughtCall[]): void;
}

/** So much of it is kept in all, as characters. The oldest goes first. */
const MOST_CHARACTERS = 16 * 1024 * 1024;

/** An agent at work goes on within this time; later the thought is of no use. */
const KEPT_MS = 6 * 3_600_000;

interface Remembered {
  readonly thinking: CallThinking;
  readonly size: number;
  readonly untilMs: number;
  /** Two answers had the same call and other thoughts. */
  readonly isUnclear: boolean;
}

/** An empty memory. */
export function createThinkingMemory(clock: Clock, mostCharacters = MOST_CHARACTERS): ThinkingMemory {
  /** The oldest first, by account, family and call. */
  const calls = new Map<string, Remembered>();
  /** How many calls are kept, by account and family. */
  const counts = new Map<string, number>();
  let characters = 0;

  const count = (owner: string, by: 1 | -1): void => {
    const left = (counts.get(owner) ?? 0) + by;
    if (left === 0) counts.delete(owner);
    else counts.set(owner, left);
  };
  const forget = (name: string, { size }: Remembered): void => {
    calls.delete(name);
    characters -= size;
    count(ownerIn(name), -1);
  };
  const forgetOld = (): void => {
    const now = clock.steadyMs();
    for (const [name, one] of calls) {
      if (characters <= mostCharacters && one.untilMs > now) return;
      forget(name, one);
    }
  };

  return {
    has: (account, family) => counts.has(ownerOf(account, family)),
    recall(account, family, keys) {
      const now = clock.steadyMs();
      const found = keys.flatMap((key) => {
        const one = calls.get(`${ownerOf(account, family)} ${key}`);
        return one === undefined || one.isUnclear || one.untilMs <= now ? [] : [[key, one.thinking] as const];
      });
      return Object.fromEntries(found);
    },
    remember(account, family, thought) {
      const owner = ownerOf(account, family);
      for (const { key, thinking } of thought) {
        const name = `${owner} ${key}`;
        const before = calls.get(name);
        if (before !== undefined) forget(name, before);
        const isUnclear =
          before !== undefined &&
          (before.isUnclear || JSON.stringify(before.thinking) !== JSON.stringify(thinking));
        const kept = isUnclear ? NOTHING : thinking;
        const size = name.length + JSON.stringify(kept).length;
        calls.set(name, { thinking: kept, size, untilMs: clock.steadyMs() + KEPT_MS, isUnclear });
        characters += size;
        count(owner, 1);
      }
      forgetOld();
    },
  };
}

const NOTHING: CallThinking = { before: [] };

function ownerOf(account: string, family: string): string {
  return `${account} ${family}`;
}

/** Neither accounts nor families nor keys have a space. */
function ownerIn(name: string): string {
  return name.slice(0, name.lastIndexOf(" "));
}
