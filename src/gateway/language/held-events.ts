import type { MemoryPart, MemoryShare } from "../../core/bytes/request-memory.ts";
import { GatewayError } from "../../core/errors.ts";

/**
 * What is held of a stream at most before its content. It is as much as the longest line that a format takes, since an
 * event may repeat the request.
 */
const MOST_BYTES = 32 * 1024 * 1024;

/** So much is held without room, too: most providers repeat less, and their answer is paid for. */
const SURE_BYTES = 1024 * 1024;

/** What the runtime needs for a piece beside its bytes, so that small ones count. */
const PIECE_BYTES = 128;

const NONE: readonly Uint8Array[] = [];

/** Events of a stream that its client has not been sent, since no content has come. */
export interface HeldEvents {
  /**
   * Holds a copy, since the runtime may reuse the bytes that it gave. Throws where there is no memory left, unless they
   * have the first content: that is paid for.
   */
  add(bytes: Uint8Array, hasContent: boolean): void;
  /** Throws where so much has come without content that none is expected. */
  check(): void;
  /** What is held, which then is the caller's. */
  release(): readonly Uint8Array[];
}

/** Holds events as a part of their request's memory. */
export function openHeldEvents(memory: Pick<MemoryShare, "openPart">): HeldEvents {
  return new CountedEvents(memory);
}

/** A class, since one is made for each stream: its functions are not. */
class CountedEvents implements HeldEvents {
  readonly #memory: Pick<MemoryShare, "openPart">;
  #part: MemoryPart | undefined;
  #pieces: Uint8Array[] = [];
  #bytes = 0;

  constructor(memory: Pick<MemoryShare, "openPart">) {
    this.#memory = memory;
  }

  add(bytes: Uint8Array, hasContent: boolean): void {
    this.#pieces.push(bytes.slice());
    const more = bytes.length + PIECE_BYTES;
    this.#bytes += more;
    this.#part ??= this.#memory.openPart();
    if (hasContent || this.#bytes <= SURE_BYTES) this.#part.hold(this.#bytes);
    else if (!this.#part.take(more)) throw noRoom();
  }

  check(): void {
    if (this.#bytes > MOST_BYTES) throw noContent();
  }

  release(): readonly Uint8Array[] {
    const pieces = this.#pieces;
    if (pieces.length === 0) return NONE;
    this.#pieces = [];
    this.#bytes = 0;
    this.#part?.hold(0);
    return pieces;
  }
}

function noContent(): GatewayError {
  return new GatewayError("upstream_error", "The provider sent 32 MiB without any content.");
}

function noRoom(): GatewayError {
  const sentence =
    "The gateway has no memory left for what the provider sends before its answer. Try again shortly.";
  return new GatewayError("overloaded_error", sentence, { retryAfterSec: 2 });
}
