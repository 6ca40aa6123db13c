import type { Recording } from "../upstream/recordings.ts";
import type { CountedTokens } from "./charge.ts";
import type { ExpectedError, OwnRefusal } from "./expected-refusal.ts";
import type { Exchange } from "./exchange.ts";
import type { RequestPair } from "./request-pair.ts";
import type { Json } from "./wire-json.ts";

/** What is replayed: an answer, an answer that is an error, or a refusal with a status of its own. */
export type CaseKind = "plain" | "stream" | "refusal";

/** One recording that is replayed through the gateway. */
export interface ReplayCase {
  readonly recording: Recording;
  readonly format: ReplayFormat;
  readonly kind: CaseKind;
  /** The provider of the gateway's configuration that serves it. */
  readonly provider: string;
  readonly native: boolean;
  /** The answer was recorded in another framing, and is put into that which the gateway asks for. */
  readonly reframed: boolean;
  /** The recorded request's body. */
  readonly body: Json;
  /** Whether the request asks for a stream. */
  readonly stream: boolean;
  /** The provider's id of the model. */
  readonly upstreamId: string;
  /** The gateway's id of the recorded model. */
  readonly modelId: string;
  /** Set where this gateway must refuse the request itself. */
  readonly ownRefusal?: OwnRefusal;
}

/** What a recorded request asks for, read from its body and, where the format has it there, its address. */
export interface RecordedRequest {
  readonly body: Json;
  readonly stream: boolean;
  /** The provider's own id of the model. */
  readonly upstreamId: string;
}

/** Why a recording of the format is not replayed as it was recorded. */
export interface Unservable {
  readonly reason: string;
  /** Whether its answer is still what a provider of this format would send. */
  readonly answerAlone: boolean;
}

/** What was found in a streamed answer that had to be compared with what is charged. */
export interface StreamCheck {
  readonly credit: string | undefined;
  /** Absent where the provider told no usage. */
  readonly counted: CountedTokens | undefined;
  /** The recorded stream ended in an error: all that came was charged. */
  readonly broken: boolean;
}

/** All that a replay must know of one wire format. What is expected is written from the vendor's reference. */
export interface ReplayFormat {
  /** As the recordings name the format. */
  readonly protocol: string;
  /** As a provider's settings name it. */
  readonly setting: "chat_completions" | "messages" | "generate_content" | "responses";
  /** What stands between the double's address and the format's own paths. */
  readonly basePath: string;
  /** The member of an answer that names the model; it shows the gateway's id. */
  readonly modelMember: string | undefined;
  /** The member that tells the usage; a native answer without it is given one. */
  readonly usageMember: string;
  /** Vendors whose answers pass as they are. */
  isNative(vendor: string): boolean;
  /** Whether models of these tests have a price for web searches. */
  readonly sellsSearches: boolean;
  /** The recording as a provider that is asked by the gateway would have answered. */
  served(recording: Recording): Recording;
  unservable(recording: Recording): Unservable | undefined;
  /** Whether a stream ends in an error before it has said anything, so that it is refused with a status. */
  failsAtOnce?(stream: string): boolean;
  request(recording: Recording): RecordedRequest;
  /** Why the gateway must refuse a recorded request by its fields; `undefined` where it must not. */
  refusedByUs?(body: Json): OwnRefusal | undefined;
  /** A request of our own making that the recorded answer could be one to. */
  madeUp(recording: Recording): RecordedRequest;
  /** What distinguishes models that have one id upstream, and how such a model is configured. */
  modelKind(body: Json): { readonly name: string; readonly settings: Json };
  /** The request as it was recorded, and in a spelling of `seed`; each with what upstream must get. */
  pairs(found: ReplayCase, seed: number): { readonly plain: RequestPair; readonly hostile: RequestPair };
  /** The same request, streamed. */
  streamedPair(found: ReplayCase): RequestPair;
  /** Where a client posts it. */
  clientPath(modelId: string, stream: boolean, seed: number): string;
  /** Headers of the recorded request that a client of this format sends. */
  clientHeaders(recording: Recording): Readonly<Record<string, string>>;
  upstreamTarget(upstreamId: string, stream: boolean): string;
  /** Headers that upstream must get with these values, beside those of every call. */
  upstreamHeaders(found: ReplayCase, key: string): Readonly<Record<string, string>>;
  /** Members of a recorded answer that repeat the request, as the client must get them. */
  echoed?(found: ReplayCase, recorded: Json): Readonly<Record<string, Json>>;
  /** Compares a whole answer with what was recorded; its usage, when it has one. */
  checkPlain(found: ReplayCase, recorded: Json, answer: Json): CountedTokens | undefined;
  /** Compares a streamed answer with what was recorded. */
  checkStream(found: ReplayCase, exchange: Exchange): StreamCheck;
  /** Fails unless an error body is what clients of this format read. */
  checkErrorBody(body: Json, expected: ExpectedError, requestId: string): void;
}
