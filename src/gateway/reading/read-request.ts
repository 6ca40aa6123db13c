import { type ProtocolId, PROTOCOLS } from "../../core/model.ts";
import { compactedBy, COUNTERS, servedBy } from "../../protocols/index.ts";
import type {
  Demand,
  FoundState,
  RelayRequest,
  RelayTarget,
  UpstreamBody,
  WireRequest,
} from "../../protocols/protocol.ts";
import { compaction } from "../../protocols/responses/compaction.ts";

/**
 * Why a language request is read. The client wants an answer in its format, a count of its input, or a shorter
 * conversation in its place.
 */
export interface Reading {
  readonly format: ProtocolId;
  readonly purpose: "answer" | "count" | "compact";
}

/** The destination of a request: the format that its provider speaks, and the model there. */
export interface Aim {
  readonly spoken: ProtocolId;
  readonly target: RelayTarget;
}

/** The facts of a request that was read. */
export type RequestHead = Pick<RelayRequest, "model" | "models" | "stream" | "demand" | "state">;

/** A request that was read. Its text and its value stay where it was read, perhaps on a thread. */
export interface ReadRequest extends RequestHead {
  /** The request with what it named of earlier answers in it, in the place of this one. Throws for what it then is not. */
  resolve(found: FoundState): ReadRequest | Promise<ReadRequest>;
  /** Its own input, for its answer to be kept with. */
  ownInput(): string | Promise<string>;
  /** Sets the destination; resolves with the request's demand in the words of that format. Throws as `write` does. */
  aimAt(aim: Aim): Demand | Promise<Demand>;
  /** The keys of earlier calls that came back without a thought, where the format that is spoken is another one. */
  callsWithoutThinking(spoken: ProtocolId): readonly string[] | Promise<readonly string[]>;
  /**
   * Writes the body for the destination, and keeps it. Throws a `GatewayError` for a field that the target cannot
   * express.
   */
  write(): void | Promise<void>;
  /** Resolves with the body; written anew where our own bound on output must be in it. Ends the request. */
  take(outputBound: number | undefined): UpstreamBody | Promise<UpstreamBody>;
  /** The same of a request that may be aimed elsewhere afterwards. */
  copy(outputBound: number | undefined): UpstreamBody | Promise<UpstreamBody>;
  /** Ends the request; has no effect on one that has ended. */
  release(): void;
}

/** How requests are read for a purpose, and written for a provider. */
interface Ways {
  read(wire: WireRequest): RelayRequest;
  demandAt(request: RelayRequest, aim: Aim): Demand;
  write(request: RelayRequest, aim: Aim): UpstreamBody;
  callsWithoutThinking(request: RelayRequest, spoken: ProtocolId): readonly string[];
  ownInput(request: RelayRequest): string;
}

/** Reads a request once more elsewhere, with what it named in it; `undefined` where it is small enough for here. */
export type ReadElsewhere = (wire: WireRequest) => Promise<ReadRequest> | undefined;

/** Reads a request on this thread. Throws a `GatewayError` that names the field at fault. */
export function readRequest(reading: Reading, wire: WireRequest, elsewhere?: ReadElsewhere): ReadRequest {
  return new ReadHere(waysOf(reading), wire, elsewhere);
}

/** A class, since one is made for each request: its functions are not. */
class ReadHere implements ReadRequest {
  readonly model: string;
  readonly models?: NonNullable<RequestHead["models"]>;
  readonly stream: boolean;
  readonly demand: Demand;
  readonly state?: NonNullable<RequestHead["state"]>;
  readonly #ways: Ways;
  /** What came, of a request that is read once more with what it names. */
  readonly #wire: WireRequest | undefined;
  readonly #elsewhere: ReadElsewhere | undefined;
  #kept: RelayRequest | undefined;
  #aim: Aim | undefined;
  #written: UpstreamBody | undefined;

  constructor(ways: Ways, wire: WireRequest, elsewhere?: ReadElsewhere) {
    const request = ways.read(wire);
    const { state, models } = request;
    if (models !== undefined) this.models = models;
    if (state !== undefined) this.state = state;
    if (state?.names !== undefined) {
      this.#wire = wire;
      this.#elsewhere = elsewhere;
    }
    this.model = request.model;
    this.stream = request.stream;
    this.demand = request.demand;
    this.#ways = ways;
    this.#kept = request;
  }

  resolve(found: FoundState): ReadRequest | Promise<ReadRequest> {
    if (this.#wire === undefined) throw new Error("The request names nothing.");
    const { known: _known, ...rest } = this.#wire;
    const wire = { ...rest, found };
    return this.#elsewhere?.(wire) ?? new ReadHere(this.#ways, wire);
  }

  ownInput(): string {
    if (this.#kept === undefined) throw new Error("The request has ended.");
    return this.#ways.ownInput(this.#kept);
  }

  aimAt(aim: Aim): Demand {
    if (this.#kept === undefined) throw new Error("The request has ended.");
    this.#aim = aim;
    this.#written = undefined;
    return this.#ways.demandAt(this.#kept, aim);
  }

  callsWithoutThinking(spoken: ProtocolId): readonly string[] {
    if (this.#kept === undefined) throw new Error("The request has ended.");
    return this.#ways.callsWithoutThinking(this.#kept, spoken);
  }

  write(): void {
    const { request, aim } = this.#current();
    this.#written = this.#ways.write(request, aim);
  }

  take(outputBound: number | undefined): UpstreamBody {
    const body = this.copy(outputBound);
    this.release();
    return body;
  }

  copy(outputBound: number | undefined): UpstreamBody {
    const { request, aim } = this.#current();
    const written = this.#written;
    if (outputBound === undefined && written !== undefined) return written;
    const target = outputBound === undefined ? aim.target : { ...aim.target, outputBound };
    return this.#ways.write(request, { ...aim, target });
  }

  release(): void {
    this.#kept = undefined;
    this.#written = undefined;
  }

  #current(): { readonly request: RelayRequest; readonly aim: Aim } {
    if (this.#kept === undefined || this.#aim === undefined)
      throw new Error("The request has no aim, or has ended.");
    return { request: this.#kept, aim: this.#aim };
  }
}

function waysOf({ format, purpose }: Reading): Ways {
  if (purpose === "compact") return COMPACTING;
  return purpose === "answer" ? ANSWERING[format] : countingWays(format);
}

const ANSWERING = Object.fromEntries(PROTOCOLS.map((format) => [format, answeringWays(format)])) as Readonly<
  Record<ProtocolId, Ways>
>;

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
    callsWithoutThinking: (request, spoken) => to(spoken).callsWithoutThinking?.(request) ?? NO_CALLS,
    ownInput: (request) => to(format).ownInput?.(request) ?? "",
  };
}

const NO_CALLS: readonly string[] = [];

const COMPACTING: Ways = {
  read: (wire) => compaction.readRequest(wire),
  demandAt: (request, { spoken, target }) =>
    compactedBy(spoken, target).demandAt?.(request, target) ?? request.demand,
  write: (request, { spoken, target }) => compactedBy(spoken, target).upstreamBody(request, target),
  callsWithoutThinking: (request, spoken) =>
    compactedBy(spoken, {}).callsWithoutThinking?.(request) ?? NO_CALLS,
  ownInput: () => "",
};

/** A count is never translated: it is asked for in the caller's own format. */
function countingWays(format: ProtocolId): Ways {
  const counter = COUNTERS[format];
  if (counter === undefined) throw new Error(`Nothing counts in ${format}.`);
  return {
    read: (wire) => counter.readRequest(wire),
    demandAt: ({ demand }) => demand,
    write: (request, { target }) => counter.upstreamBody(request, target),
    callsWithoutThinking: () => NO_CALLS,
    ownInput: () => "",
  };
}
