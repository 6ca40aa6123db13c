import type { TSchema } from "typebox";
import type { Pieces } from "../core/bytes/bytes.ts";
import type { ChatRequest } from "../core/chat.ts";
import type { MicroCredits } from "../core/money/credits.ts";
import type { GatewayError } from "../core/errors.ts";
import type { ImageSize } from "../core/media/image-size.ts";
import type { JsonObject } from "../core/json/json-value.ts";
import type { KnownValues } from "../core/json/known-values.ts";
import type { Modality, Model, ProtocolId } from "../core/model.ts";
import type { LimitState } from "../core/rate-limits.ts";
import type { PriceBucket } from "../core/money/price.ts";
import type { Usage, UsageFlag } from "../core/money/usage.ts";
import type { CarrierKey } from "./carrier.ts";
import type { ChatDialect } from "./chat-dialect.ts";
import type { CallThinking, ThoughtCall } from "./recalled-thinking.ts";
import type { RepeatWriter } from "./repeat-writer.ts";
import type { EventForm } from "./event-form.ts";

/**
 * What the gateway needs from a wire format to relay it. The request goes up as its own bytes with spans spliced. The
 * answer comes down as its own bytes with model, usage and credit put in. All of it is pure: bytes in, bytes out.
 */
export interface RelayProtocol {
  readonly id: ProtocolId;
  /** Path under a provider's base address. */
  upstreamPath(upstreamId: string, stream: boolean): string;
  /** Headers by which a provider of this format knows who asks; without a key only what the format itself needs. */
  credentialHeaders(apiKey: string | undefined): Readonly<Record<string, string>>;
  /** Parses and checks a request. Throws a `GatewayError` that names the field at fault. */
  readRequest(wire: WireRequest): RelayRequest;
  /**
   * What a request asks for in the words of the format that its provider is called in; absent where that is the
   * caller's own. Throws as `upstreamBody` does.
   */
  demandAt?(request: RelayRequest, target: RelayTarget): Demand;
  /** The caller's own part of a request's input, as its format's next request may name it: a JSON text. */
  ownInput?(request: RelayRequest): string;
  /** Of a translation: the keys of earlier calls that came back without a thought. */
  callsWithoutThinking?(request: RelayRequest): readonly string[];
  /**
   * The body for upstream. Throws a `GatewayError` for a field that the target cannot express. `names` are those of the
   * caller's format, where that is another one.
   */
  upstreamBody(request: RelayRequest, target: RelayTarget, names?: PlaceNames): UpstreamBody;
  /**
   * A body of `upstreamBody` without what earlier answers were signed with, and a sentence about that for its caller.
   * `undefined` where nothing in it is signed. Absent where the format has no signatures.
   */
  unsigned?(body: Uint8Array, target: RelayTarget): Pick<UpstreamBody, "body" | "warnings"> | undefined;
  /** Reads a whole answer. Throws `upstream_error` when it is none. */
  readAnswer(body: Uint8Array, context: AnswerContext): RelayAnswer;
  /** A stage for a streamed answer, which goes to the format's own clients unless a sink says otherwise. */
  openStream(context: AnswerContext, into?: StreamSink): RelayStream;
  /** The error a client is given for a refusal of the provider. */
  readRefusal(refusal: UpstreamRefusal, context: AnswerContext): GatewayError;
  /** The body of an error answer, as the clients of this format read it. */
  encodeError(error: GatewayError, requestId: string): JsonObject;
  /** What that body is. */
  readonly errorSchema: TSchema;
  /** The headers by which clients of this format see how their key stands against its limits. */
  limitHeaders(state: LimitState, nowMs: number): Readonly<Record<string, string>>;
}

/** How the tokens of a request are counted in a format that has a call for that. Pure, as the format itself. */
export interface TokenCounter extends Pick<RelayProtocol, "readRequest" | "upstreamBody"> {
  /** The format whose clients ask. */
  readonly protocol: RelayProtocol;
  /** Path under a provider's base address at which it counts, and does nothing else. */
  upstreamPath(upstreamId: string): string;
  /** What a provider's answer has in the place of the count, whatever that is. */
  countIn(answer: JsonObject): unknown;
  /** An answer with a count of ours. */
  encodeCount(tokens: InputCount): JsonObject;
}

/** Input tokens of one request. */
export interface InputCount {
  readonly total: number;
  /** Each kind of input that there is some of; they come to the total. */
  readonly byKind: Readonly<Partial<Record<Modality, number>>>;
}

/** What a client sent. */
export interface WireRequest {
  readonly body: Uint8Array;
  readonly headers: Headers;
  /** What the path said, in the format whose path names the model and the verb. */
  readonly address?: { readonly model: string; readonly stream: boolean } | undefined;
  /** Told what the body says in `model`, before anything is checked: a refusal is logged with it. */
  readonly asked?: ((model: unknown) => void) | undefined;
  /** What was read of its caller's earlier requests; absent where it is not worth a look. */
  readonly known?: KnownValues | undefined;
  /** Opens the carriers that our answers have given this caller. */
  readonly carrier?: CarrierKey | undefined;
  /** What it names of earlier answers; absent until that was looked up. */
  readonly found?: FoundState | undefined;
}

/** What a request has to do with answers that are kept. */
export interface RequestState {
  /** Whether its own answer is to be kept. */
  readonly keeps: boolean;
  /** The answer that it goes on from. */
  readonly previous?: string;
  /** What it names of earlier answers, which has to be found before it is read; absent where it names nothing. */
  readonly names?: StateNames;
}

/** The answer that a request goes on from, and items of any. */
export interface StateNames {
  readonly previous?: string;
  readonly items: readonly string[];
}

/** What was found of that, as JSON texts. */
export interface FoundState {
  /** All items up to and with the answer that it goes on from, with commas between them. */
  readonly before: string;
  /** Items by their ids. */
  readonly items: Readonly<Record<string, string>>;
  /** Characters that it makes a request longer by. */
  readonly size: number;
}

/** A model that a request names, and the field or the header that names it: `models[1]`. */
export interface AskedModel {
  readonly name: string;
  readonly field: string;
}

/** A request that was parsed and checked once. Protocols keep what else they need in their own extension. */
export interface RelayRequest {
  readonly model: string;
  /** The models that may serve it, in order, where its body names several; `model` is the first. */
  readonly models?: readonly [AskedModel, ...AskedModel[]];
  readonly stream: boolean;
  /** What it can cost, before prices. */
  readonly demand: Demand;
  /** Opens what earlier answers gave the caller to keep, and says whose caller that is. */
  readonly carrier?: CarrierKey | undefined;
  /** In the format whose answers are kept. */
  readonly state?: RequestState;
}

/** What a request asks for, in the terms that money and admission need. */
export interface Demand {
  /** Input tokens of the text as a good guess, and as a bound that it very probably stays under. */
  readonly textTokens: { readonly expected: number; readonly ceiling: number };
  /** How many input media there are of each kind. */
  readonly media: Readonly<Partial<Record<Modality, number>>>;
  /** The images among them. */
  readonly images: readonly ImageInput[];
  /** Bytes of the other media that came in the request itself. */
  readonly mediaBytes: number;
  /** Output tokens the caller set as the most, per choice. */
  readonly maxOutputTokens?: number;
  /** Reasoning tokens per choice that come on top of any bound on output; without an end where nothing bounds them. */
  readonly reasoningOnTop?: number;
  readonly choices: number;
  /** Web searches that the provider may make for it. */
  readonly webSearches: number;
  /** Searches and pages after each of which the provider reads the input anew and bills it; absent is none. */
  readonly rereads?: number;
  /** The most tokens of a page that the provider was allowed to read, where the request says it. */
  readonly pageTokens?: number;
  /** Buckets that only some requests use: those with no parent, and cache writes for an hour. */
  readonly buckets: readonly PriceBucket[];
  /** Modalities asked for in the answer; absent where the model gives all it can by itself. */
  readonly outputModalities?: readonly Modality[];
  /** It names something that a provider stores, by an id or an address of there: a file, a cache, a container. */
  readonly namesStored?: true;
}

/** An image in a request, as far as its tokens depend on it. */
export interface ImageInput {
  /** Absent when it is behind a link, or of a format that we do not read. */
  readonly size?: ImageSize;
  /** How closely the model shall look, in the vendor's word. */
  readonly detail?: string;
}

/** Where a request goes. */
export interface RelayTarget {
  readonly model: Model;
  readonly upstreamId: string;
  readonly unknownFields: "remove" | "pass";
  readonly native: boolean;
  readonly streamUsageOption: boolean;
  /** It makes conversations of Responses shorter itself. */
  readonly compacts?: true;
  /** Of tools in Responses that run at the caller's it takes functions alone. */
  readonly functionsOnly?: true;
  /** How its chat completions differ from the reference; nothing is known where it is absent. */
  readonly chat?: ChatDialect;
  /** Output bound to set when the caller set none; absent when the model's own is fine. */
  readonly outputBound?: number;
  /** What its models thought before calls that a translated request has without a thought, by the call's key. */
  readonly recalled?: Readonly<Record<string, CallThinking>>;
}

/** A place in a request of no format: one of its members, or what stands within its turns, parts and tools. */
export type Place =
  | keyof ChatRequest
  | "cache"
  | "callId"
  | "callInput"
  | "callSignature"
  | "detail"
  | "fileData"
  | "hidden"
  | "imageLink"
  | "jsonObject"
  | "jsonSchema"
  | "signature"
  | "strict"
  | "thinkingParts"
  | "toolName";

/** What a server's format calls each place. */
export type PlaceNames = Readonly<Record<Place, string>>;

export interface UpstreamBody {
  /** What stays of the client's bytes is a part of them. */
  readonly body: Pieces;
  /** Headers of the call beside the provider's own. */
  readonly headers?: Readonly<Record<string, string>>;
  /** What was left out or changed, one sentence each, for the `warning` header. */
  readonly warnings: readonly string[];
  /** What the answer's writer must know of the request: it comes back to its format as `AnswerContext.echo`. */
  readonly echo?: JsonObject;
}

/** What an answer is read against. */
export interface AnswerContext {
  /** The id to show as `model`. */
  readonly model: string;
  /** The model serves in place of the one that was asked for: its answer says so in every format. */
  readonly isFallback?: boolean;
  readonly native: boolean;
  readonly padding: readonly string[];
  /** Texts that must not reach a client: the provider's credential. */
  readonly secrets: readonly string[];
  /** Fallback for the id of chunks when upstream sends none. */
  readonly requestId: string;
  readonly nowSec: number;
  /** How many choices were asked for: a stream that is cut before all have begun is not whole. */
  readonly choices: number;
  /** Input tokens to state when upstream counts nothing. */
  readonly expectedInput: number;
  /** See `Demand`: a provider that does not find or open that says so by a 404 or a 403. */
  readonly namesStored?: boolean;
  /** What the request's format keeps of the request for its answer; see `UpstreamBody`. */
  readonly echo?: JsonObject;
  /** Told what was thought before calls, at the end of a translated answer; absent where nobody remembers it. */
  readonly remember?: (calls: readonly ThoughtCall[]) => void;
  /** Told a whole answer as its client has it, just before the client has its end; absent where it is not kept. */
  readonly keep?: (answer: string) => void;
  /** Seals what is the caller's to keep for us, and nobody else's to use. */
  readonly carrier?: CarrierKey;
}

/** Usage as the answer told it, or as we counted it. */
export interface Metered {
  readonly usage: Usage;
  readonly flags: readonly UsageFlag[];
  /** Counts of tokens that the provider tells, and that no bucket of `usage` is for: paths of its own usage. */
  readonly unknown?: readonly string[];
}

export interface RelayAnswer {
  readonly metered: Metered;
  /** Names of the repairs that were needed. */
  readonly repairs: readonly string[];
  /** The answer's bytes with the charge in them. */
  encode(credit: MicroCredits): Uint8Array;
  /** What it says, its repairs made; each number keeps its digits when it is written again. */
  said(): JsonObject;
}

/** What is sent to a client without an event of its provider's. */
interface StreamEnds {
  /** The end of a good answer. */
  tail(metered: Metered, credit: MicroCredits): Uint8Array;
  /** The end of an answer that broke: never looks complete. Without `credit` its charge is not known yet. */
  failureTail(error: GatewayError, metered: Metered, credit: MicroCredits | undefined): Uint8Array;
  /** Bytes that say nothing, to keep the connection open. */
  readonly keepAlive: Uint8Array;
}

/** A push-style stage for one streamed answer. It does no I/O and holds at most one unfinished event. */
export interface RelayStream extends StreamEnds {
  /**
   * Upstream's bytes in, the client's bytes out; `undefined` when there is nothing to send yet. What comes out may be a
   * view of what went in, good as long as that is.
   */
  push(bytes: Uint8Array): Uint8Array | undefined;
  /** Upstream has ended; the last event may lack its blank line. `told`: by its own word, so that nothing was cut. */
  end(told: boolean): Uint8Array | undefined;
  /** Something of the answer itself (not a comment, not an empty first chunk) has come. */
  readonly hasContent: boolean;
  /** Chunks of the answer so far; comments do not count. */
  readonly chunks: number;
  /** Upstream's end mark has come: nothing more is needed. */
  readonly isDone: boolean;
  /** Every choice that began has ended. */
  readonly isComplete: boolean;
  /** What made the stream unusable, if anything did. */
  readonly failure: GatewayError | undefined;
  readonly repairs: readonly string[];
  /** What has been used so far: what upstream said, else our count. */
  metered(): Metered;
}

/** What becomes of an event: it goes on to the client, waits for the end of the answer, or goes nowhere. */
export type Verdict = "pass" | "hold" | "drop";

/** An event's data, where it stands in the bytes that came. Good during one call only. */
export interface EventSpan {
  bytes: Uint8Array;
  start: number;
  end: number;
}

/** Writes what a client is sent for the events of one stream. */
export interface StreamSink extends StreamEnds {
  /** Takes an event that was just scanned and judged, and that is not dropped. */
  event(span: Readonly<EventSpan>, verdict: Verdict): void;
  comment?(bytes: Uint8Array, start: number, end: number): void;
  /** How events are written that repeat the one that `event` took last; `undefined` where each has to be taken. */
  repeat(span: Readonly<EventSpan>, form: EventForm, wholeStart: number): RepeatWriter | undefined;
  /** What was written since the last call, if anything. */
  take(): Uint8Array | undefined;
}

/** A provider's answer that is no answer. */
export interface UpstreamRefusal {
  readonly status: number;
  readonly body: Uint8Array;
  readonly retryAfter: string | null;
}
