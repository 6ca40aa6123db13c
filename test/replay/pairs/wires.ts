import { joinBytes } from "../../../src/core/bytes/bytes.ts";
import { buildModel } from "../../../src/catalog/catalog.ts";
import type { ModelFacts } from "../../../src/catalog/schema.ts";
import { REFERENCE_CHAT } from "../../../src/protocols/chat-dialect.ts";
import { chatCompletionsClient } from "../../../src/protocols/chat-completions/client/index.ts";
import { chatCompletionsServer } from "../../../src/protocols/chat-completions/server/index.ts";
import { generateContentClient } from "../../../src/protocols/generate-content/client/index.ts";
import { generateContentServer } from "../../../src/protocols/generate-content/server/index.ts";
import { messagesClient } from "../../../src/protocols/messages/client/index.ts";
import { messagesServer } from "../../../src/protocols/messages/server/index.ts";
import { responsesClient } from "../../../src/protocols/responses/client/index.ts";
import { responsesServer } from "../../../src/protocols/responses/server/index.ts";
import type { RelayTarget, WireRequest } from "../../../src/protocols/protocol.ts";
import type { ClientEnd, DecodedRequest, ServerEnd } from "../../../src/protocols/translate.ts";
import { wireRequest } from "../../protocols/wire-request.ts";
import { loadRecordings, type Recording, recordingsAvailable } from "../../upstream/recordings.ts";
import type { Json } from "../wire-json.ts";

/** A wire format with both of its ends, and a model that is reached in it. */
export interface Wire {
  readonly name: string;
  readonly server: ServerEnd;
  readonly client: ClientEnd;
  readonly target: RelayTarget;
  /** Whether a recording is an interaction in this format. */
  holds(recording: Recording): boolean;
}

const FACTS: ModelFacts = {
  input_modalities: ["text", "image", "audio", "video", "pdf"],
  output_modalities: ["text", "image"],
  max_output: 128_000,
  prices: { input: 1, output: 1, cache_read: 1, cache_write_5m: 1, cache_write_1h: 1, web_search: 0.01 },
};

/** A model without limits of its own: what is lost on the way to it is lost by the format. */
function targetOf(id: string, facts: Partial<ModelFacts> = {}): RelayTarget {
  const reach = { supportedProtocols: [], routes: [] };
  return {
    model: buildModel(id, "language", { ...FACTS, ...facts }, reach),
    upstreamId: id.split("/")[1] ?? id,
    unknownFields: "remove",
    native: true,
    streamUsageOption: true,
    chat: REFERENCE_CHAT,
  };
}

const speaks =
  (protocol: string) =>
  ({ protocol: spoken }: Recording): boolean =>
    spoken === protocol;

/** The formats, each with a model of its own. */
export const WIRES: readonly Wire[] = [
  {
    name: "chat completions",
    server: chatCompletionsServer,
    client: chatCompletionsClient,
    target: targetOf("openai/gpt", { max_tokens_field: "max_completion_tokens" }),
    holds: speaks("chat-completions"),
  },
  {
    name: "messages",
    server: messagesServer,
    client: messagesClient,
    target: targetOf("anthropic/claude", { thinking: { style: "adaptive" }, system_turns: true }),
    holds: speaks("messages"),
  },
  {
    name: "generateContent",
    server: generateContentServer,
    client: generateContentClient,
    target: targetOf("google/gemini-3"),
    holds: speaks("generate-content"),
  },
  {
    name: "Responses",
    server: responsesServer,
    client: responsesClient,
    target: targetOf("openai/gpt-pro"),
    holds: ({ protocol, request }) =>
      protocol === "responses" || (protocol === "other" && /\/responses(\?|$)/.test(request.url)),
  },
];

/** The pairs of two formats, first the caller's. */
export const PAIRS: readonly (readonly [Wire, Wire])[] = WIRES.flatMap((asked) =>
  WIRES.filter((spoken) => spoken !== asked).map((spoken) => [asked, spoken] as const),
);

/** Recorded interactions of a format, by path. */
export function recordingsOf(wire: Wire): readonly Recording[] {
  if (!recordingsAvailable()) return [];
  return ["chat-completions", "messages", "generate-content", "responses", "other", "cross-protocol"]
    .flatMap((folder) => loadRecordings(folder))
    .filter((recording) => recording.request.method !== "GET" && wire.holds(recording));
}

/** The recorded request as a client of the gateway sends it, for the model of the wire's target. */
export function requestOf({ target, name }: Wire, { request }: Recording): WireRequest {
  const body = request.body as Json;
  const { id } = target.model;
  if (name !== "generateContent") return wireRequest({ ...body, model: id });
  const stream = request.url.includes(":streamGenerateContent");
  return wireRequest(body, { address: { model: id, stream } });
}

/** The body as its provider's own client would have sent it to the gateway. */
export function sent({ target }: Wire, body: readonly Uint8Array[]): Uint8Array {
  const text = new TextDecoder().decode(joinBytes(body));
  return new TextEncoder().encode(
    text.replace(
      `"model":${JSON.stringify(target.upstreamId)}`,
      `"model":${JSON.stringify(target.model.id)}`,
    ),
  );
}

/** A request of a client of the format, in no format. */
export function decode({ server }: Wire, wire: WireRequest): DecodedRequest {
  return server.decodeRequest(server.protocol.readRequest(wire));
}
