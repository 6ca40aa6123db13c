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
