import type { Clock } from "../../src/core/time/clock.ts";
import type { Choices } from "./choices.ts";

/** Who a step belongs to: one that has died does nothing more, one that is frozen does nothing for now. */
export interface Owner {
  readonly name: string;
  alive: boolean;
  /** Frozen until then. */
  frozenUntilMs: number;
}

/** What can happen next. */
interface Step {
  readonly owner: Owner | undefined;
  readonly label: string;
  readonly dueMs: number;
  readonly run: () => void;
}

/** Virtual time, and everything that waits for its turn: nothing goes on but by a step of the scheduler. */
export interface World {
  readonly choices: Choices;
  readonly trace: string[];
  nowMs(): number;
  /** The number of the step that runs. */
  stepNumber(): number;
  /** Puts a step where the scheduler finds it, not before `delayMs` have passed; returns how to take it away. */
  later(owner: Owner | undefined, label: string, run: () => void, delayMs?: number): () => void;
  /** Resolves when the scheduler has come to it. */
  turn(owner: Owner, label: string, delayMs?: number): Promise<void>;
  /** A clock of one process, which may go wrong by `skewMs`. */
  clockOf(owner: Owner, skewMs: number): Clock;
  /** Runs one of the steps that can run now; `false` when there is none. */
  runOne(): Promise<boolean>;
  /** Moves time on to the next step that waits for it; `false` when there is none. */
  passTime(): boolean;
  /** Moves time on by so much, past whatever falls due. */
  leap(ms: number): void;
  /** Takes away the steps of the dead. */
  bury(owner: Owner): void;
  note(line: string): void;
}

const START_MS = Date.UTC(2026, 10, 21, 12);

/** A world in which nothing has happened yet. */
export function createWorld(choices: Choices): World {
  let nowMs = START_MS;
  let stepNumber = 0;
  let waiting: Step[] = [];
  const trace: string[] = [];
  const dueOf = (step: Step): number => Math.max(step.dueMs, step.owner?.frozenUntilMs ?? 0);
  const note = (line: string): void => void trace.push(`${String(nowMs - START_MS).padStart(7)} ms  ${line}`);

  const later: World["later"] = (owner, label, run, delayMs = 0) => {
    const step: Step = { owner, label, dueMs: nowMs + delayMs, run };
    if (owner?.alive ?? true) waiting.push(step);
    return () => {
      waiting = waiting.filter((other) => other !== step);
    };
  };

  return {
    choices,
    trace,
    note,
    later,
    nowMs: () => nowMs,
    stepNumber: () => stepNumber,
    turn: (owner, label, delayMs) => new Promise((resolve) => later(owner, label, resolve, delayMs)),
    clockOf: (owner, skewMs) => ({
      nowMs: () => nowMs + skewMs,
      steadyMs: () => nowMs + skewMs,
      setTimer: (delayMs, run) => ({ cancel: later(owner, "", run, delayMs) }),
    }),
    async runOne() {
      const able = waiting.filter((step) => dueOf(step) <= nowMs);
      const step = able[able.length <= 1 ? 0 : choices.choose(able.length)];
      if (step === undefined) return false;
      waiting = waiting.filter((other) => other !== step);
      stepNumber += 1;
      if (step.label !== "") note(step.label);
      step.run();
      await settle();
      return true;
    },
    passTime() {
      const next = Math.min(...waiting.map(dueOf).filter((due) => due > nowMs));
      if (next === Infinity) return false;
      nowMs = next;
      return true;
    },
    leap(ms) {
      nowMs += ms;
    },
    bury(owner) {
      waiting = waiting.filter((step) => step.owner !== owner);
    },
  };
}

/** Lets everything run that waits for nothing but promises. */
function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
