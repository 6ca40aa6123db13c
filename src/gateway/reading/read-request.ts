import type { ProtocolId } from "../../core/model.ts";
import { COUNTERS, servedBy } from "../../protocols/index.ts";
import type {
  Demand,
  RelayRequest,
  RelayTarget,
  UpstreamBody,
  WireRequest,
} from "../../protocols/protocol.ts";

/** Why a language request is read: for an answer in its format, or for a count of its input. */
export interface Reading {
  readonly format: ProtocolId;
  readonly purpose: "answer" | "count";
}

/** The destination of a request: the format that its provider speaks, and the model there. */
export interface Aim {
  readonly spoken: ProtocolId;
  readonly target: RelayTarget;
}

/** The facts of a request that was read. */
export type RequestHead = Pick<RelayRequest, "model" | "stream" | "demand">;

/** A request that was read. Its text and its value stay where it was read, perhaps on a thread. */
export interface ReadRequest extends RequestHead {
  /** Sets the destination; resolves with the request's demand in the words of that format. Throws as `write` does. */
  aimAt(aim: Aim): Demand | Promise<Demand>;
  /**
   * Writes the body for the destination, and keeps it. Throws a `GatewayError` for a field that the target cannot
   * express.
   */
  write(): void | Promise<void>;
  /** Resolves with the body; written anew where our own bound on output must be in it. Ends the request. */
  take(outputBound: number | undefined): UpstreamBody | Promise<UpstreamBody>;
  /** Ends the request; has no effect on one that has ended. */
  release(): void;
}

/** How requests are read for a purpose, and written for a provider. */
interface Ways {
  read(wire: WireRequest): RelayRequest;
  demandAt(request: RelayRequest, aim: Aim): Demand;
  write(request: RelayRequest, aim: Aim): UpstreamBody;
}

/** Reads a request on this thread. Throws a `GatewayError` that names the field at fault. */
export function readRequest(reading: Reading, wire: WireRequest): ReadRequest {
  const ways = waysOf(reading);
  const request = ways.read(wire);
  const { model, stream, demand } = request;
  let kept: { readonly request: RelayRequest; aim?: Aim; written?: UpstreamBody } | undefined = { request };
  const current = () => {
    if (kept?.aim === undefined) throw new Error("The request has no aim, or has ended.");
    return { ...kept, aim: kept.aim };
  };
  return {
    model,
    stream,
    demand,
    aimAt(aim) {
      if (kept === undefined) throw new Error("The request has ended.");
      kept = { request: kept.request, aim };
      return ways.demandAt(kept.request, aim);
    },
    write() {
      const { request: asked, aim } = current();
      kept = { request: asked, aim, written: ways.write(asked, aim) };
    },
    take(outputBound) {
      const { request: asked, aim, written } = current();
      kept = undefined;
      if (outputBound === undefined && written !== undefined) return written;
      const target = outputBound === undefined ? aim.target : { ...aim.target, outputBound };
      return ways.write(asked, { ...aim, target });
    },
    release() {
      kept = undefined;
    },
  };
}

function waysOf({ format, purpose }: Reading): Ways {
  return purpose === "answer" ? answeringWays(format) : countingWays(format);
}

function answeringWays(format: ProtocolId): Ways {
  const to = (spoken: ProtocolId) => {
    const way = servedBy(format, spoken);
    if (way === undefined) throw new Error(`${format} is not served in ${spoken}.`);
    return way;
  };
  return {
    read: (wire) => to(format).readRequest(wire),
    demandAt: (request, { spoken, target }) => to(spoken).demandAt?.(request, target) ?? request.demand,
    write: (request, { spoken, target }) => to(spoken).upstreamBody(request, target),
  };
}

/** A count is never translated: it is asked for in the caller's own format. */
function countingWays(format: ProtocolId): Ways {
  const counter = COUNTERS[format];
  if (counter === undefined) throw new Error(`Nothing counts in ${format}.`);
  return {
    read: (wire) => counter.readRequest(wire),
    demandAt: ({ demand }) => demand,
    write: (request, { target }) => counter.upstreamBody(request, target),
  };
}
