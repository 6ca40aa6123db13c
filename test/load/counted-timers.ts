import { systemClock } from "../../src/core/time/clock.ts";

// Loaded into a gateway before its own code (`--preload`): counts the timers of its clock that wait, in a file that the
// test reads.

const file = process.env.LOAD_TIMERS;
if (Bun.isMainThread && file !== undefined) {
  const waiting = new Uint32Array(Bun.mmap(file).buffer);
  const add = (change: number): void => void (waiting[0] = (waiting[0] ?? 0) + change);
  const setTimer = systemClock.setTimer.bind(systemClock);
  systemClock.setTimer = (delayMs, run) => {
    let isOver = false;
    const end = (): void => {
      if (!isOver) add(-1);
      isOver = true;
    };
    add(1);
    const timer = setTimer(delayMs, () => {
      end();
      run();
    });
    return {
      cancel() {
        end();
        timer.cancel();
      },
    };
  };
}
