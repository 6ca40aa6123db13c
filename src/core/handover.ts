/**
 * A value that is taken once. An async function keeps its parameters until it ends, so a request of 30 MB would stay in
 * memory while its answer takes. A handover lets go of it.
 */
export interface Handover<Value> {
  /** The value; throws the second time. */
  take(): Value;
}

/** Begins a handover. */
export function handOver<Value extends object>(value: Value): Handover<Value> {
  return new OpenHandover(value);
}

/** A class, since some are made for each request: its functions are not. */
class OpenHandover<Value extends object> implements Handover<Value> {
  #kept: Value | undefined;

  constructor(value: Value) {
    this.#kept = value;
  }

  take(): Value {
    if (this.#kept === undefined) throw new Error("It was taken before.");
    const taken = this.#kept;
    this.#kept = undefined;
    return taken;
  }
}
