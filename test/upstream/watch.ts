interface Waiter {
  settle(): boolean;
  abandon(reason: Error): void;
}

/** Promises about a changing state: whoever changes it says so, and nobody polls. */
export interface Watch {
  /** Resolves with the first value `check` gives that is not undefined; rejects when `check` throws. */
  until<T>(check: () => T | undefined): Promise<T>;
  /** To be called after every change: asks the waiting checks again. */
  changed(): void;
  /** Rejects everything that still waits. */
  abandon(reason: string): void;
}

/** Makes a watch that nobody waits on yet. */
export function createWatch(): Watch {
  let waiters: Waiter[] = [];
  return {
    until(check) {
      const waiter = createWaiter(check);
      if (!waiter.settle()) waiters.push(waiter);
      return waiter.promise;
    },
    changed() {
      waiters = waiters.filter((waiter) => !waiter.settle());
    },
    abandon(reason) {
      for (const waiter of waiters) waiter.abandon(new Error(reason));
      waiters = [];
    },
  };
}

function createWaiter<T>(check: () => T | undefined): Waiter & { promise: Promise<T> } {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  // A test may start to wait and then fail elsewhere: that must not count as an unhandled rejection too.
  promise.catch(() => undefined);
  return {
    promise,
    abandon: reject,
    settle() {
      try {
        const value = check();
        if (value === undefined) return false;
        resolve(value);
      } catch (error) {
        reject(error);
      }
      return true;
    },
  };
}
