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
  /** Quiet after which the client is sent a keep-alive, and the latest moment that a stream's 200 is committed. */
  readonly keepAliveMs: number;
  /** A client that takes nothing from its stream. */
  readonly stalledClientMs: number;
  /** A process that has not been heard of for so long is dead, and its holds are released; read at the start. */
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
