/** A request that waits for somebody else. */
export interface LiveCall {
  /** Ends the wait, for a reason that the client is told. */
  abort(reason: Error): void;
}

/** The requests under way. Once they were ended, one that begins is ended, too: its body came late. */
export class LiveCalls extends Set<LiveCall> {
  #reason: Error | undefined;

  override add(call: LiveCall): this {
    super.add(call);
    if (this.#reason !== undefined) call.abort(this.#reason);
    return this;
  }

  /** Ends every one for this reason, now and later. */
  end(reason: Error): void {
    this.#reason = reason;
    for (const call of this) call.abort(reason);
  }
}
