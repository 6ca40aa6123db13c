import type { Clock } from "../../core/time/clock.ts";
import { isJsonObject, type JsonObject } from "../../core/json/json-value.ts";
import type { Category, Model, ProtocolId, Route } from "../../core/model.ts";
import type { ChatDialect } from "../../protocols/chat-dialect.ts";
import type { EmbeddingDialect } from "../../protocols/embeddings/dialect.ts";
import type { OutboundRequest } from "../../runtime/fetch.ts";
import { contentHash } from "../../runtime/hash.ts";
import type {
  MediaProvider,
  ProtocolDefinition,
  Provider,
  ProviderDefinition,
  SpokenEmbeddings,
  SpokenProtocol,
} from "../provider.ts";
import { composeAnswer, drawImages } from "./answer.ts";
import { answerEmbeddings } from "./embeddings.ts";
import { Refusal } from "./formats/ask.ts";
import { chatFormat } from "./formats/chat-answer.ts";
import { eventStream } from "./event-stream.ts";
import type { SandboxEvent, SandboxFormat, WriteContext } from "./formats/format.ts";
import { generateFormat } from "./formats/generate-answer.ts";
import { createSandboxMedia } from "./media/media.ts";
import { textOf } from "./members.ts";
import { messagesFormat } from "./formats/messages-answer.ts";
import { responsesFormat } from "./formats/responses-answer.ts";
import { answerAsOrdered, ORDERS_HEADER } from "./orders.ts";
import { SANDBOX } from "./name.ts";
import { createSeal, type Seal } from "./seal.ts";
import { openStudio, type Studio } from "./media/studio.ts";

export interface SandboxParts {
  readonly clock: Clock;
  /** A keyed hash of this installation: what it signs, only it can sign. */
  readonly hash: (text: string) => string;
  /** The models that it stands for. */
  readonly modelOf: (id: string, category: Category) => Model | undefined;
  /** The providers in whose place it answers. */
  readonly definitions: readonly ProviderDefinition[];
}

/** What an answer of the sandbox has comes back to it as it was given, whichever vendor it stands for. */
const OWN_ANSWERS: Pick<
  ChatDialect,
  "reasoningBack" | "foreignDetails" | "messageImages" | "imageSignatures" | "thinking"
> = {
  reasoningBack: ["reasoning_content", "reasoning_details"],
  foreignDetails: true,
  messageImages: true,
  imageSignatures: true,
  thinking: { effort: "reasoning", toggle: "reasoning", budget: "reasoning" },
};

const FORMATS: Readonly<Record<ProtocolId, SandboxFormat>> = {
  compat_chat_completions: chatFormat,
  compat_messages: messagesFormat,
  compat_generate_content: generateFormat,
  compat_responses: responsesFormat,
};

/**
 * The routes of a model to the sandbox, in the place of each of its own. So the model is asked in the format of its
 * first provider. What that provider leaves out or refuses is left out or refused here too.
 */
export function sandboxRoutes({ id, category, routes }: Model): readonly Route[] {
  if (category === "image" || category === "video") return [{ provider: MEDIA_ENTRY, upstreamId: id }];
  return routes.map((route) => ({ ...route, provider: entryOf(route.provider), upstreamId: id }));
}

/** What the routes of image and video models call it. */
const MEDIA_ENTRY = entryOf("media");

/** What the routes of language models call it in a provider's place. No provider of the settings can have such a name. */
function entryOf(provider: string): string {
  return `${SANDBOX}:${provider}`;
}

export interface Sandbox {
  readonly providers: ReadonlyMap<string, Provider>;
  readonly mediaProviders: ReadonlyMap<string, MediaProvider>;
  /** Starts the thread that draws, which else starts with the first order. */
  startThread(): void;
}

/**
 * The sandbox: a server within this process that speaks the four formats as their vendors' servers do. It has one entry
 * in the place of each provider of language models, and one that makes images and videos.
 */
export function createSandbox({ clock, hash, modelOf, definitions }: SandboxParts): Sandbox {
  const seal = createSeal(hash);
  const studio = openStudio(clock);
  const spoken = ({ id, dialect }: ProtocolDefinition, format: SandboxFormat): SpokenProtocol => ({
    id,
    baseUrl: ADDRESS,
    headers: {},
    dialect: {
      kind: "native",
      unknownFields: "remove",
      streamUsageOption: true,
      padding: [],
      ...(dialect.chat === undefined ? {} : { chat: { ...dialect.chat, ...OWN_ANSWERS } }),
    },
    transport: (url, request) => respond({ clock, seal, studio, modelOf, format }, url, request),
  });
  const spokenEmbeddings = (dialect: EmbeddingDialect): SpokenEmbeddings => ({
    baseUrl: ADDRESS,
    headers: {},
    dialect,
    transport: (url, request) => answerEmbeddings({ clock, dialect, modelOf }, url, request),
  });
  const entry = ({ id, protocols, embeddings }: ProviderDefinition): readonly [string, Provider] => [
    entryOf(id),
    {
      id: SANDBOX,
      protocols: protocols.map((definition) => spoken(definition, FORMATS[definition.id])),
      ...(embeddings === undefined ? {} : { embeddings: spokenEmbeddings(embeddings) }),
      secrets: [],
      clientHeaders: [ORDERS_HEADER],
      answerHeaders: { "x-switchyard-provider": SANDBOX },
      failsAsAsked: true,
    },
  ];
  return {
    providers: new Map(definitions.filter(({ protocols }) => protocols.length > 0).map(entry)),
    mediaProviders: new Map([[MEDIA_ENTRY, createSandboxMedia({ clock, studio, modelOf })]]),
    startThread: studio.startThread,
  };
}

/** Nobody's: its calls stay in this process. */
const ADDRESS = "http://sandbox.invalid";

interface SandboxServer extends Pick<SandboxParts, "clock" | "modelOf"> {
  readonly seal: Seal;
  readonly studio: Studio;
  readonly format: SandboxFormat;
}

function respond(sandbox: SandboxServer, url: string, request: OutboundRequest): Promise<Response> {
  const { clock, seal, studio, format } = sandbox;
  const { headers, signal } = request;
  return answerAsOrdered(clock, request, format.writeRefusal, async (body, orders) => {
    const model = modelIn(sandbox, url, body);
    if (COUNTING.test(url)) return Response.json(countOf(sandbox, model, body));
    const ask = format.readAsk(body, { model, digest: digestOf(model, body), seal });
    const maxTokens = Math.min(ask.maxTokens ?? Infinity, model.maxOutput ?? Infinity);
    const composed = composeAnswer({ ...ask, maxTokens }, orders, seal);
    const answer = await drawImages(composed, (order) => studio.draw(order, signal));
    const context: WriteContext = { body, model, nowSec: Math.floor(clock.nowMs() / 1_000) };
    const isStream = headers.accept === STREAM;
    const events = (): Iterable<SandboxEvent> =>
      isStream
        ? format.writeStream(answer, context)
        : [{ text: JSON.stringify(format.writePlain(answer, context)), tokens: 0 }];
    const pace = { clock, signal, speed: orders.speed, breaks: orders.fail === "reset_mid_stream" };
    const type = isStream ? STREAM : "application/json";
    return new Response(eventStream(events, pace), { headers: { "content-type": type } });
  });
}

const STREAM = "text/event-stream";

/** The ends of the addresses at which it counts and does not answer. */
const COUNTING = /\/(count_tokens|input_tokens)$|:countTokens$/;

/** What it would charge for the input, also of one that is too long to be answered. */
function countOf({ format, seal }: SandboxServer, model: Model, body: JsonObject): JsonObject | undefined {
  const whole = body.generateContentRequest;
  const context = { model: { ...model, totalContext: null }, digest: "", seal };
  return format.writeCount?.(format.readAsk(isJsonObject(whole) ? whole : body, context).inputTokens);
}

function modelIn({ modelOf }: SandboxServer, url: string, body: JsonObject): Model {
  const inPath = /\/models\/([^?]+):\w+(?:\?|$)/.exec(url)?.[1];
  const model = modelOf(inPath ?? textOf(body.model), "language");
  if (model === undefined) throw new Refusal(404, "not_found", "The sandbox has no such model.");
  return model;
}

/** The same for the same request, streamed or not. */
function digestOf({ id }: Model, body: JsonObject): string {
  return contentHash(JSON.stringify([id, { ...body, stream: undefined, stream_options: undefined }]));
}
