import type { Clock, Timer } from "../core/time/clock.ts";

/** The warming of a process. */
export interface WarmUp {
  /** Runs it once. Resolves when it has ended, for whichever reason. Rejects with what went wrong in it. */
  run(): Promise<void>;
  /** A client's request came: the warming waits until none has come for a moment. */
  giveWay(): void;
  /** Ends it at once. */
  stop(): void;
}

/** Lets others have a turn where the present one has lasted long enough. It never resolves once the warming is over. */
export type Breathe = () => Promise<void>;

/** Runs once all that is to be warmed. */
export type Rehearsal = () => Promise<void>;

/** What is warmed. */
export interface WarmUpParts {
  /** Opens a rehearsal that awaits `breathe` every few milliseconds. */
  readonly open: (breathe: Breathe) => Promise<Rehearsal>;
  readonly clock: Clock;
}

/**
 * Rounds of the rehearsal. The compiler takes a function for a hot one after 100 calls or more, and each round has most
 * of them several times. With 10 the first requests cost a third more, with 60 no less (measured on Bun 1.4.5).
 */
const ROUNDS = 20;

/** A process that ends soon, or has work at once, is not warmed. */
const BEGIN_MS = 1_000;

/** It ends after this long, however many rounds were run. */
const MOST_MS = 9_000;

/** The longest turn, but for what runs between two calls of `breathe`. */
const TURN_MS = 2;

/** Between two turns. */
const PAUSE_MS = 1;

/** How long no request must have come before the next turn. */
const QUIET_MS = 50;

/** A warming that runs a rehearsal in short turns while no client asks for anything. */
export function createWarmUp({ open, clock }: WarmUpParts): WarmUp {
  const { promise: ended, resolve, reject } = Promise.withResolvers<void>();
  let lastMs = Infinity;
  let turnMs = -Infinity;
  let askedMs = -Infinity;
  let isOver = false;
  let timer: Timer | undefined;

  const pause = (delayMs: number): Promise<void> =>
    new Promise((next) => {
      timer = clock.setTimer(delayMs, next);
    });

  const stop = (): void => {
    isOver = true;
    turnMs = -Infinity;
    timer?.cancel();
    resolve();
  };

  const breathe = async (): Promise<void> => {
    if (clock.steadyMs() - turnMs < TURN_MS) return;
    if (!isOver) await pause(PAUSE_MS);
    while (clock.steadyMs() - askedMs < QUIET_MS && clock.steadyMs() < lastMs) await pause(QUIET_MS);
    if (clock.steadyMs() >= lastMs) stop();
    if (isOver) return NEVER;
    turnMs = clock.steadyMs();
  };

  const warm = async (): Promise<void> => {
    lastMs = clock.steadyMs() + MOST_MS;
    await pause(BEGIN_MS);
    await breathe();
    const rehearse = await open(breathe);
    for (let round = 0; round < ROUNDS; round += 1) await rehearse();
  };

  return {
    run() {
      warm().then(stop, reject);
      return ended;
    },
    giveWay() {
      askedMs = clock.steadyMs();
      turnMs = -Infinity;
    },
    stop,
  };
}

const NEVER = new Promise<never>(() => {});
