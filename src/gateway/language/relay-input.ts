import type { MemoryShare } from "../../core/bytes/request-memory.ts";
import type { Caller } from "../../core/caller.ts";
import type { Handover } from "../../core/handover.ts";
import type { KeptResponses } from "../../kept/kept.ts";
import type { Limiter } from "../../limits/limiter.ts";
import type { RelayProtocol, WireRequest } from "../../protocols/protocol.ts";
import type { Offer } from "../offer.ts";
import type { Reader } from "../reading/reader.ts";
import type { RequestRecord } from "../request-record.ts";
import type { CallServices } from "./paid-call.ts";
import type { ThinkingMemory } from "./thinking-memory.ts";

/** What relaying needs. */
export interface RelayServices extends CallServices {
  /** The models and providers of this moment; a request sees one of them throughout. */
  offer(): Offer;
  readonly limiter: Limiter;
  readonly reader: Reader;
  /** What was thought before calls, for clients that drop it. */
  readonly thinking: ThinkingMemory;
  /** Answers that later requests may name. */
  readonly kept: KeptResponses;
}

/** One request of a caller. */
export interface RelayInput {
  readonly caller: Caller;
  readonly protocol: RelayProtocol;
  /** Of a request for a shorter conversation, which is never streamed. */
  readonly compacts?: true | undefined;
  readonly wire: Pick<WireRequest, "headers" | "address">;
  readonly body: Handover<Uint8Array>;
  /** Where the body is held. A plain answer is when it comes back, for whoever sends it to let go of. */
  readonly memory: MemoryShare;
  /** Ends when the client has gone. */
  readonly signal: AbortSignal;
  readonly record: RequestRecord;
}
