import { lengthOf, type Pieces } from "../../core/bytes/bytes.ts";
import type { MemoryShare } from "../../core/bytes/request-memory.ts";
import type { Handover } from "../../core/handover.ts";
import type { UpstreamBody } from "../../protocols/protocol.ts";
import { keptByCall } from "../../providers/upstream.ts";

/** A larger body is let go of once it was sent, so it is sent once. */
const MOST_KEPT_BYTES = 4 * 1024 * 1024;

/** What is kept until an answer begins leaves room for so many of its size, or is let go of. */
const LEAST_ROOM = 16;

/** A request that is written for one way. */
export interface PreparedBody extends Omit<UpstreamBody, "body"> {
  readonly sent: Handover<Pieces>;
  readonly length: number;
  /** The same can be sent again, until it is released. */
  readonly isKept: boolean;
  /** Lets go of it. */
  release(): void;
}

/** The body as it can be sent: once, or more often where it is small or `memory` has much room. */
export function prepareBody(
  { body, ...rest }: UpstreamBody,
  memory: Pick<MemoryShare, "free">,
): PreparedBody {
  const length = lengthOf(body);
  const isSmall = keptByCall(length) > 0;
  const isKept = isSmall || (length <= MOST_KEPT_BYTES && memory.free() >= LEAST_ROOM * length);
  let held: Pieces | undefined = body;
  const take = (): Pieces => {
    if (held === undefined) throw new Error("The body was sent before, and is not kept.");
    const pieces = held;
    if (!isKept) held = undefined;
    return pieces;
  };
  return { ...rest, sent: { take }, length, isKept, release: () => void (held = undefined) };
}
