/** A request that waits for somebody else. */
export interface LiveCall {
  /** Ends the wait, for a reason that the client is told. */
  abort(reason: Error): void;
}

/** The requests under way. Once they were ended, one that begins is ended, too: its body came late. */
export interface LiveCalls {
  readonly size: number;
  add(call: LiveCall): void;
  delete(call: LiveCall): void;
  /** Ends every one for this reason, now and later. */
  end(reason: Error): void;
}

/** None is under way yet. */
export function createLiveCalls(): LiveCalls {
  const calls = new Set<LiveCall>();
  let reason: Error | undefined;
  return {
    get size() {
      return calls.size;
    },
    add(call) {
      calls.add(call);
      if (reason !== undefined) call.abort(reason);
    },
    delete: (call) => void calls.delete(call),
    end(why) {
      reason = why;
      for (const call of calls) call.abort(why);
    },
  };
}
