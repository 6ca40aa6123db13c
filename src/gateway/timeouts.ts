/** How long each stage of a call may take, in milliseconds. */
export interface Timeouts {
  /** A streamed answer's first byte. */
  readonly firstByteMs: number;
  /** A whole answer that is not streamed. */
  readonly plainMs: number;
  /** Between any two bytes of a stream. */
  readonly idleMs: number;
  /** Between two pieces of content; comments do not count. */
  readonly contentIdleMs: number;
  /** A stream from its call to its end. */
  readonly streamMs: number;
  /** Silence after which the client gets a keep-alive, and after which a stream's 200 is committed at the latest. */
  readonly keepAliveMs: number;
  /** For how long a client may take nothing of its stream. */
  readonly stalledClientMs: number;
  /**
   * A process that has not renewed its lease for so long is dead, and its holds are released; the value at the start
   * counts.
   */
  readonly processLeaseMs: number;
}

export const DEFAULT_TIMEOUTS: Timeouts = {
  firstByteMs: 120_000,
  plainMs: 600_000,
  idleMs: 60_000,
  contentIdleMs: 300_000,
  streamMs: 600_000,
  keepAliveMs: 15_000,
  stalledClientMs: 60_000,
  processLeaseMs: 30_000,
};
