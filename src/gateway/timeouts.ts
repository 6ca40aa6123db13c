/** How long one request to a provider may take, in milliseconds. */
export interface CallTimeouts {
  /** Until the provider is connected, TLS included. */
  readonly connectMs: number;
  /** For how long the provider may take nothing of the request. */
  readonly writeMs: number;
  /** A whole answer that is not streamed. */
  readonly plainMs: number;
}

/** How long each stage of a call may take, in milliseconds: of language models, where it does not say otherwise. */
export interface Timeouts extends CallTimeouts {
  /** A streamed answer's first byte. */
  readonly firstByteMs: number;
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
  readonly embedding: CallTimeouts;
  /** The request that begins an image, or makes it. */
  readonly image: CallTimeouts;
  readonly video: CallTimeouts;
}

const CALL: CallTimeouts = { connectMs: 5_000, writeMs: 60_000, plainMs: 600_000 };
const MEDIA: CallTimeouts = { ...CALL, plainMs: 300_000 };

export const DEFAULT_TIMEOUTS: Timeouts = {
  ...CALL,
  firstByteMs: 120_000,
  idleMs: 60_000,
  contentIdleMs: 300_000,
  streamMs: 600_000,
  keepAliveMs: 15_000,
  stalledClientMs: 60_000,
  processLeaseMs: 30_000,
  embedding: CALL,
  image: MEDIA,
  video: MEDIA,
};
