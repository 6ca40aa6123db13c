/** Does one turn of a repeated work; false says that it was the last. */
export type Turn = () => boolean;

/** Many repeated works at one interval, each in its own phase, on one timer. */
export interface TimerWheel {
  /** Takes the first turn one interval from now and one each interval after it. */
  add(turn: Turn): void;
  /** Takes the turns that are due; for tests, since a running wheel calls it by itself. */
  advance(): void;
  stop(): void;
}

const SLOT_MS = 1;

/** Makes a wheel whose timer runs only while there is work. */
export function createTimerWheel(
  intervalMs: number,
  nowMs: () => number = () => performance.now(),
): TimerWheel {
  const slots: Turn[][] = Array.from({ length: Math.max(1, Math.round(intervalMs / SLOT_MS)) }, () => []);
  let timer: ReturnType<typeof setInterval> | undefined;
  let position = 0;
  let works = 0;

  const slotNow = () => Math.floor(nowMs() / SLOT_MS);
  const stop = () => {
    clearInterval(timer);
    timer = undefined;
  };
  const advance = () => {
    const target = slotNow();
    // After a long pause of the process one lap is taken, not all that were missed.
    position = Math.max(position, target - slots.length);
    while (position < target) {
      position += 1;
      works -= takeTurns(slots[position % slots.length] ?? []);
    }
    if (works === 0) stop();
  };

  return {
    add(turn) {
      if (timer === undefined) {
        position = slotNow();
        timer = setInterval(advance, SLOT_MS);
      }
      slots[slotNow() % slots.length]?.push(turn);
      works += 1;
    },
    advance,
    stop,
  };
}

/** Takes each turn of a slot once and drops those that are done; returns how many were. */
function takeTurns(slot: Turn[]): number {
  let done = 0;
  for (let index = slot.length - 1; index >= 0; index--) {
    const turn = slot[index];
    if (turn === undefined || turn()) continue;
    done += 1;
    const last = slot.pop();
    if (last !== undefined && index < slot.length) slot[index] = last;
  }
  return done;
}
