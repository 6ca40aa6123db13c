/** A pending timer; cancelling one that has fired does nothing. */
export interface Timer {
  cancel(): void;
}

/** A timer of the runtime's. */
interface RunningTimer {
  ref(): unknown;
  unref(): unknown;
}

/** What a list of timers runs on. */
export interface TimerListParts {
  /** Milliseconds by a clock that only goes forward. */
  now(): number;
  start(delayMs: number, run: () => void): RunningTimer;
  /** Called when the list has neither a timer nor one of the runtime's; it can be forgotten. */
  onIdle(): void;
}

/** Timers that all wait equally long. */
export interface TimerList {
  /** Calls `run` once, not before the time is over. */
  add(run: () => void): Timer;
}

/**
 * Timers of `delayMs` each. Nearly all are cancelled, so they share one of the runtime's. That one is set for the first
 * that may be due, and is not touched when one is added or cancelled.
 */
export function createTimerList(delayMs: number, parts: TimerListParts): TimerList {
  return new SharedTimer(delayMs, parts);
}

class SharedTimer implements TimerList {
  readonly #parts: TimerListParts;
  readonly #delayMs: number;
  /** A ring: before the first entry and behind the last one stands this, which is no timer. */
  readonly #ends: Entry;
  #count = 0;
  #running: RunningTimer | undefined;
  /** Whether those that are due run now: the next start is for the first that is left then. */
  #isDue = false;

  constructor(delayMs: number, parts: TimerListParts) {
    this.#delayMs = delayMs;
    this.#parts = parts;
    this.#ends = new Entry(this, Infinity, () => {});
  }

  add(run: () => void): Timer {
    const entry = new Entry(this, this.#parts.now() + this.#delayMs, run);
    const last = this.#ends.previous;
    entry.previous = last;
    entry.next = this.#ends;
    last.next = entry;
    this.#ends.previous = entry;
    this.#count += 1;
    if (this.#isDue) return entry;
    if (this.#running === undefined) this.#start(this.#delayMs);
    else if (this.#count === 1) this.#running.ref();
    return entry;
  }

  remove(entry: Entry): void {
    if (entry.next === entry) return;
    entry.leave();
    this.#count -= 1;
    // Where nothing is waited for, the runtime's timer must not keep the process.
    if (this.#count === 0) this.#running?.unref();
  }

  #start(delayMs: number): void {
    this.#running = this.#parts.start(delayMs, () => this.#runDue());
  }

  #runDue(): void {
    this.#running = undefined;
    this.#isDue = true;
    const now = this.#parts.now();
    try {
      for (let first = this.#ends.next; first.dueMs <= now; first = this.#ends.next) {
        this.remove(first);
        first.run();
      }
    } finally {
      // Also after one that has thrown: the others wait on.
      this.#isDue = false;
      if (this.#count === 0) this.#parts.onIdle();
      else this.#start(Math.max(1, Math.ceil(this.#ends.next.dueMs - this.#parts.now())));
    }
  }
}

/** One timer; alone it is its own neighbour. */
class Entry implements Timer {
  readonly #list: SharedTimer;
  readonly dueMs: number;
  readonly run: () => void;
  previous: Entry = this;
  next: Entry = this;

  constructor(list: SharedTimer, dueMs: number, run: () => void) {
    this.#list = list;
    this.dueMs = dueMs;
    this.run = run;
  }

  leave(): void {
    this.previous.next = this.next;
    this.next.previous = this.previous;
    this.next = this;
    this.previous = this;
  }

  cancel(): void {
    this.#list.remove(this);
  }
}
