/**
 * A value on its way to the one who needs it. Who passes it on keeps nothing of it: an async function holds its parameters
 * until it ends, and a request of 30 MB would stay for as long as its answer takes.
 */
export interface Handover<Value> {
  /** The value; only once. */
  take(): Value;
}

/** Begins a handover. */
export function handOver<Value extends object>(value: Value): Handover<Value> {
  let kept: Value | undefined = value;
  return {
    take() {
      if (kept === undefined) throw new Error("It was taken before.");
      const taken = kept;
      kept = undefined;
      return taken;
    },
  };
}
