/** How long answers took to begin, or work to be done. */
export interface Latency {
  /** The mean of late; `undefined` without a recent sample. */
  ofLateMs(nowMs: number): number | undefined;
  sample(nowMs: number, ms: number): void;
}

/** The part of the last sample in the mean: after ten calls nine tenths are new. */
const NEW_PART = 0.2;

/** Older samples do not count. */
const RECENT_MS = 5 * 60_000;

/** Nothing is known yet. */
export function createLatency(): Latency {
  let meanMs = 0;
  let sampledAtMs = -Infinity;
  const ofLateMs = (nowMs: number): number | undefined =>
    nowMs - sampledAtMs <= RECENT_MS ? meanMs : undefined;
  return {
    ofLateMs,
    sample(nowMs, ms) {
      const known = ofLateMs(nowMs);
      meanMs = known === undefined ? ms : known + (ms - known) * NEW_PART;
      sampledAtMs = nowMs;
    },
  };
}
