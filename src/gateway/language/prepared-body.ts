import { lengthOf, type Pieces } from "../../core/bytes/bytes.ts";
import type { MemoryShare } from "../../core/bytes/request-memory.ts";
import type { Handover } from "../../core/handover.ts";
import type { UpstreamBody } from "../../protocols/protocol.ts";
import { keptByCall } from "../../providers/upstream.ts";

/** A larger body is let go of once it was sent, so it is sent once. */
const MOST_KEPT_BYTES = 4 * 1024 * 1024;

/** What is kept until an answer begins leaves room for so many of its size, or is let go of. */
const LEAST_ROOM = 16;

/** A request that is written for one way, as it can be sent. */
export interface PreparedBody extends Handover<Pieces> {
  readonly headers: Readonly<Record<string, string>>;
  readonly warnings: UpstreamBody["warnings"];
  readonly echo: UpstreamBody["echo"] | undefined;
  readonly length: number;
  /** The same can be sent again, until it is released. */
  readonly isKept: boolean;
  /** The body as it was given. Throws as `take` does. */
  written(): UpstreamBody;
  /** Lets go of it. */
  release(): void;
}

/** The body as it can be sent: once, or more often where it is small or `memory` has much room. */
export function prepareBody(body: UpstreamBody, memory: Pick<MemoryShare, "free">): PreparedBody {
  const length = lengthOf(body.body);
  const isSmall = keptByCall(length) > 0;
  const isKept = isSmall || (length <= MOST_KEPT_BYTES && memory.free() >= LEAST_ROOM * length);
  return new SentBody(body, length, isKept);
}

/** A class, since one is made for each request: its functions are not. */
class SentBody implements PreparedBody {
  readonly headers: PreparedBody["headers"];
  readonly warnings: PreparedBody["warnings"];
  readonly echo: PreparedBody["echo"];
  readonly length: number;
  readonly isKept: boolean;
  #held: Pieces | undefined;

  constructor({ body, headers = NO_HEADERS, warnings, echo }: UpstreamBody, length: number, isKept: boolean) {
    this.headers = headers;
    this.warnings = warnings;
    this.echo = echo;
    this.length = length;
    this.isKept = isKept;
    this.#held = body;
  }

  take(): Pieces {
    if (this.#held === undefined) throw new Error("The body was sent before, and is not kept.");
    const pieces = this.#held;
    if (!this.isKept) this.#held = undefined;
    return pieces;
  }

  written(): UpstreamBody {
    const { headers, warnings, echo } = this;
    return { body: this.take(), headers, warnings, ...(echo !== undefined && { echo }) };
  }

  release(): void {
    this.#held = undefined;
  }
}

const NO_HEADERS: Readonly<Record<string, string>> = {};
