/** A point at which an answer waits for the test: it is reached by the double and released by the test. */
export interface Gate {
  /** Resolves when an answer has come to the gate, so all bytes before it were handed to the kernel. */
  readonly reached: Promise<void>;
  /** Lets every answer through that waits here now or comes later. */
  release(): void;
  /** Resolves when the gate is released or the signal aborts, whichever comes first. */
  pass(signal: AbortSignal): Promise<void>;
}

/** Makes a closed gate. It stays open once released. */
export function createGate(): Gate {
  const reached = Promise.withResolvers<void>();
  const opened = Promise.withResolvers<void>();
  return {
    reached: reached.promise,
    release: opened.resolve,
    pass(signal) {
      reached.resolve();
      return orAbort(opened.promise, signal);
    },
  };
}

/** Resolves when the promise does or the signal aborts; it never rejects for the abort. */
export async function orAbort(promise: Promise<void>, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  const aborted = Promise.withResolvers<void>();
  const onAbort = () => aborted.resolve();
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    await Promise.race([promise, aborted.promise]);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}
