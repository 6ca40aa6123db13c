import type { ChatEvent, ChatRequest, WebSearch } from "../core/chat.ts";
import { creditsText, type MicroCredits } from "../core/money/credits.ts";
import type { GatewayError } from "../core/errors.ts";
import { isJsonObject, type JsonObject, present } from "../core/json/json-value.ts";
import type { Effort, Model } from "../core/model.ts";
import { exactNumber, parseExact } from "./exact-json.ts";
import { backToCustom, customNames, noteCustom, withoutCustom } from "./custom-tools.ts";
import { type EventForm, matchedText } from "./event-form.ts";
import { type Losses, openLosses } from "./losses.ts";
import type {
  AnswerContext,
  Demand,
  EventSpan,
  Metered,
  Place,
  PlaceNames,
  RelayProtocol,
  RelayRequest,
  RelayTarget,
  StreamSink,
  WireRequest,
} from "./protocol.ts";
import {
  callsWithoutThinking,
  openThinkingListener,
  type ThinkingListener,
  withThinking,
} from "./recalled-thinking.ts";
import type { RepeatWriter } from "./repeat-writer.ts";
import { noteStops, untilStop } from "./stop-sequences.ts";

/** The end of a format that answers clients. */
export interface ServerEnd {
  readonly protocol: RelayProtocol;
  /** A checked request in no format. Throws a `GatewayError` for what cannot be said in any other format. */
  decodeRequest(request: RelayRequest): DecodedRequest;
  /** A whole answer as this format writes it, up to the charge. */
  encodeAnswer(events: readonly ChatEvent[], metered: Metered, context: AnswerContext): JsonObject;
  openEncoder(context: AnswerContext): EventEncoder;
}

/** What a client end leaves out or refuses for a model. It knows places of requests and no fields. */
export interface ClientLimits {
  /** Places that have no field in the format. */
  readonly untaken: readonly (keyof ChatRequest)[];
  readonly mostChoices: number;
  /** Absent: as many as clients may send. */
  readonly mostStops?: number;
  /** The efforts that the model has there, `none` among them where it can be kept from thinking. */
  readonly efforts: readonly Effort[];
}

/** The end of a format that calls providers. */
export interface ClientEnd {
  readonly protocol: RelayProtocol;
  /** What `encodeRequest` leaves out or refuses, so that it can be told beforehand. */
  limits(model: Model): ClientLimits;
  /** Its answers end before a stop sequence on their way to the client: the format cannot be told of any. */
  readonly hasNoStops?: true;
  /** Whether such a search, in such a request, can be asked for; absent: none can. */
  canSearch?(search: WebSearch, chat: ChatRequest): boolean;
  /** Whether a target is told custom tools as such; absent: none is, and they are functions of a text. */
  takesCustomTools?(target: RelayTarget): boolean;
  /**
   * The body as a client of this format would write it, without `model` and `stream`, which are put in where they
   * belong. What the model takes of it is then for the format's own `upstreamBody` to say. Throws a refusal of `losses`
   * for what would change the answer's meaning; what only helps is left out and noted there.
   */
  encodeRequest(chat: ChatRequest, target: RelayTarget, losses: Losses): JsonObject;
  /** Puts model and mode where the format has them, and checks such a body as one that a client sent. */
  readWritten(
    body: JsonObject,
    address: NonNullable<WireRequest["address"]>,
    carrier?: RelayRequest["carrier"],
  ): RelayRequest;
  /** A whole answer that the relay has checked. Throws for one that is a refusal in this format and an error in others. */
  decodeAnswer(answer: JsonObject, context: AnswerContext): readonly ChatEvent[];
  /** A decoder that hands what it reads to `say`. */
  openDecoder(say: (event: ChatEvent) => void, context: AnswerContext): EventDecoder;
}

/** A request in no format, as it came from its server. */
export interface DecodedRequest {
  readonly chat: ChatRequest;
  /** What its caller calls each place. */
  readonly names: PlaceNames;
  /** Places that the format fills by itself where its caller says nothing. */
  readonly unsaid?: readonly Place[];
  readonly stream: boolean;
  /** What has no place in a `ChatRequest` and was left out, one sentence each. */
  readonly warnings: readonly string[];
  /** What `encodeAnswer` and `openEncoder` must know of it; they find it in their context. */
  readonly echo?: JsonObject;
}

/** Events in, a stream's text out. */
export interface EventEncoder {
  push(event: ChatEvent): string;
  /** The end of a good answer, after its `finish`. */
  tail(metered: Metered, credit: MicroCredits): string;
  /** The end of an answer that broke. */
  failureTail(error: GatewayError, metered: Metered, credit: MicroCredits | undefined): string;
  readonly keepAlive: Uint8Array;
}

/** A provider's events in. They are whole, repaired, and judged to be good by the format's own reader. */
export interface EventDecoder {
  /** Tells all of an event but that the answer has ended. */
  read(event: JsonObject): void;
  /** Tells more text as the last event told its own; `undefined` where that told anything else. */
  readonly more: ((text: string) => void) | undefined;
  /** The answer is whole, and charged: tells why it ended. */
  end(): void;
}

/**
 * A format served by a provider that speaks another one. Its requests are the server's. The gateway calls, reads and
 * meters the provider exactly as in a relay of the client's format. It translates only what goes in and what comes out.
 */
export function translate(server: ServerEnd, client: ClientEnd): RelayProtocol {
  const decoded = new WeakMap<RelayRequest, DecodedRequest>();
  const written = new WeakMap<RelayRequest, WrittenRequest>();

  const decode = (request: RelayRequest): DecodedRequest =>
    decoded.getOrInsertComputed(request, server.decodeRequest);

  /** Decoded once, and written once for what it costs and what is sent, unless a bound of ours comes between. */
  const write = (request: RelayRequest, target: RelayTarget): WrittenRequest => {
    const known = written.get(request);
    if (known?.target === target) return known;
    const { chat, names, unsaid, stream, warnings, echo } = decode(request);
    const losses = openLosses(names, target.model.id, unsaid);
    const thought = target.recalled === undefined ? chat : withThinking(chat, target.recalled);
    const isCustom = client.takesCustomTools?.(target) === true;
    const forAnswer = isCustom ? echo : noteCustom(echo, customNames(chat));
    const noted = client.hasNoStops === true ? noteStops(forAnswer, chat.stop) : forAnswer;
    const told = isCustom ? thought : withoutCustom(thought);
    const body = client.encodeRequest(offered(told, target, client, losses), target, losses);
    const made = {
      target,
      names,
      request: client.readWritten(body, { model: target.model.id, stream }, request.carrier),
      warnings: [...warnings, ...losses.warnings],
      ...present({ echo: noted }),
    };
    written.set(request, made);
    return made;
  };

  return {
    ...server.protocol,
    upstreamPath: client.protocol.upstreamPath,
    callsWithoutThinking: (request) => callsWithoutThinking(decode(request).chat),
    demandAt(request, target) {
      const { request: written } = write(request, target);
      const sent = client.protocol.demandAt?.(written, target) ?? written.demand;
      return demandAt(request.demand, sent);
    },
    upstreamBody(request, target) {
      const { request: written, names, warnings, echo } = write(request, target);
      // What the model takes of it (thinking, sampling, bounds) is said once, for relayed requests and translated ones.
      const sent = client.protocol.upstreamBody(written, target, names);
      return { ...sent, warnings: [...warnings, ...sent.warnings], ...present({ echo }) };
    },
    readAnswer(body, context) {
      const read = client.protocol.readAnswer(body, context);
      const { metered, repairs } = read;
      const events: ChatEvent[] = [];
      const hear = fitted(context, (event) => void events.push(event));
      for (const event of client.decodeAnswer(read.said(), context)) hear(event);
      if (context.remember !== undefined) {
        const listener = openThinkingListener();
        for (const event of events) listener.hear(event);
        context.remember(listener.calls);
      }
      const answer = server.encodeAnswer(events, metered, context);
      const charged = (credit: MicroCredits): string =>
        JSON.stringify({ ...answer, credit: exactNumber(creditsText(credit)) });
      const encode = (credit: MicroCredits): Uint8Array => {
        const text = charged(credit);
        context.keep?.(text);
        return encoder.encode(text);
      };
      return { metered, repairs, said: () => answer, encode };
    },
    openStream: (context) =>
      client.protocol.openStream(context, new TranslatingSink(server.openEncoder(context), client, context)),
    readRefusal: client.protocol.readRefusal,
    ...present({ unsigned: client.protocol.unsigned }),
  };
}

/** Hands events on to `say` as the request wants them, where its provider's format could not be told all of it. */
function fitted({ echo }: AnswerContext, say: (event: ChatEvent) => void): (event: ChatEvent) => void {
  return untilStop(echo, backToCustom(echo, say));
}

/**
 * The request with the tools that its target has. A search of the web needs a field and a price. Where a format cannot
 * tell tools that are there from those that may be called, only the latter are there. Throws a 400 for a search that is
 * chosen, or that is the only tool.
 */
function offered(chat: ChatRequest, target: RelayTarget, client: ClientEnd, losses: Losses): ChatRequest {
  const { webSearch: asked, allowedTools, ...rest } = chat;
  // Hardly any request has either.
  if (asked === undefined && allowedTools === undefined) return chat;
  const webSearch = asked && searchAt(asked, chat, target, client);
  if (asked !== undefined && webSearch === undefined) {
    const isMeant = asked.forced === true || asked.needed === true || chat.tools.length === 0;
    if (isMeant) throw losses.refusal({ place: "webSearch", why: "no_search" });
    losses.note({ place: "webSearch", why: "search_left" });
  }
  const searched = { ...rest, ...present({ webSearch }) };
  const { untaken } = client.limits(target.model);
  if (allowedTools === undefined || !untaken.includes("allowedTools"))
    return { ...searched, ...present({ allowedTools }) };
  losses.note({ place: "allowedTools", why: "narrowed" });
  const allowed = new Set(allowedTools);
  return { ...searched, tools: rest.tools.filter(({ name }) => allowed.has(name)) };
}

/** The search that can be had there; `undefined` without a price of its own, or a way to ask for it. */
function searchAt(
  asked: WebSearch,
  chat: ChatRequest,
  { model }: RelayTarget,
  client: ClientEnd,
): WebSearch | undefined {
  const canSearch = model.prices.web_search !== undefined && client.canSearch?.(asked, chat) === true;
  return canSearch ? asked : undefined;
}

/** A request in the client's format, and what was left out on the way. */
interface WrittenRequest {
  readonly target: RelayTarget;
  readonly request: RelayRequest;
  readonly names: PlaceNames;
  readonly warnings: readonly string[];
  readonly echo?: JsonObject;
}

/** The input as its provider will count it; the bounds on output as the caller set them, if at all, or as they are raised. */
function demandAt(asked: Demand, sent: Demand): Demand {
  const { maxOutputTokens, outputModalities } = asked;
  const { maxOutputTokens: most, outputModalities: _kinds, ...input } = sent;
  return {
    ...input,
    choices: asked.choices,
    // A search that was left out costs nothing.
    buckets: [...new Set([...asked.buckets.filter((bucket) => bucket !== "web_search"), ...sent.buckets])],
    // The target may take no bound that is as low.
    ...(maxOutputTokens === undefined ? {} : { maxOutputTokens: Math.max(maxOutputTokens, most ?? 0) }),
    ...(outputModalities === undefined ? {} : { outputModalities }),
  };
}

/** Writes a provider's events as those of the server's format. */
class TranslatingSink implements StreamSink {
  readonly #to: EventEncoder;
  readonly #from: EventDecoder;
  readonly #context: AnswerContext;
  readonly #listener: ThinkingListener | undefined;
  #text = "";

  constructor(to: EventEncoder, client: ClientEnd, context: AnswerContext) {
    this.#to = to;
    this.#context = context;
    const listener = context.remember === undefined ? undefined : openThinkingListener();
    this.#listener = listener;
    const say = (event: ChatEvent): void => {
      listener?.hear(event);
      this.#text += to.push(event);
    };
    this.#from = client.openDecoder(fitted(context, say), context);
  }

  event({ bytes, start, end }: Readonly<EventSpan>): void {
    // What a tool is called with is written again, and must keep its digits.
    const event = parseExact(decoder.decode(bytes.subarray(start, end)));
    if (isJsonObject(event)) this.#from.read(event);
  }

  repeat(_span: Readonly<EventSpan>, form: EventForm): RepeatWriter | undefined {
    const { more } = this.#from;
    return more && { write: (bytes) => more(matchedText(form, bytes)), flush() {} };
  }

  take(): Uint8Array | undefined {
    if (this.#text === "") return undefined;
    const bytes = encoder.encode(this.#text);
    this.#text = "";
    return bytes;
  }

  tail(metered: Metered, credit: MicroCredits): Uint8Array {
    this.#from.end();
    if (this.#listener !== undefined) this.#context.remember?.(this.#listener.calls);
    this.#text += this.#to.tail(metered, credit);
    return this.take() ?? new Uint8Array(0);
  }

  failureTail(error: GatewayError, metered: Metered, credit: MicroCredits | undefined): Uint8Array {
    return encoder.encode(this.#to.failureTail(error, metered, credit));
  }

  get keepAlive(): Uint8Array {
    return this.#to.keepAlive;
  }
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();
