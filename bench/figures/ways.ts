import { join } from "node:path";
import { joinBytes } from "../../src/core/bytes/bytes.ts";
import { loadModelFiles } from "../../src/catalog/catalog.ts";
import type { Model, ListedProtocolId } from "../../src/core/model.ts";
import { targetOf } from "../../src/gateway/language/admit.ts";
import { servedBy } from "../../src/protocols/index.ts";
import type { AnswerContext, RelayProtocol, RelayTarget } from "../../src/protocols/protocol.ts";
import type { Dialect } from "../../src/providers/provider.ts";
import { PROVIDERS } from "../../src/providers/registry.ts";

// The adapter: the only file of the figures that calls the protocols. A renamed function changes this file alone.

/** A way from a client's format to a provider's, with the model that takes it. */
export interface Way {
  readonly asked: ListedProtocolId;
  readonly spoken: ListedProtocolId;
  readonly modelId: string;
}

/** A request as it comes in: all that a format reads of it. */
export interface Incoming {
  readonly body: Uint8Array;
  readonly headers: Headers;
}

const GPT = "openai/gpt-5.6-luna";
const CLAUDE = "anthropic/claude-haiku-4.5";
const GEMINI = "google/gemini-3.8-flash";

/** Every way that the gateway serves, relays first. */
export const WAYS: readonly Way[] = [
  { asked: "compat_chat_completions", spoken: "compat_chat_completions", modelId: GPT },
  { asked: "compat_messages", spoken: "compat_messages", modelId: CLAUDE },
  { asked: "compat_generate_content", spoken: "compat_generate_content", modelId: GEMINI },
  { asked: "compat_chat_completions", spoken: "compat_messages", modelId: CLAUDE },
  { asked: "compat_chat_completions", spoken: "compat_generate_content", modelId: GEMINI },
];

/**
 * Does all that `gateway/language` has the protocols do from the body's bytes to the bytes for upstream. It keeps that
 * order: decode, parse, check, size the demand, write the body. Returns the bytes for upstream; throws the refusal of
 * the request.
 */
export function createRequestReader(way: Way): (request: Incoming) => Uint8Array {
  const { protocol, target } = destinationOf(way);
  // Only generateContent has model and verb in its path, and the others do not read them there.
  const address = { model: way.modelId, stream: true };
  return ({ body, headers }) => {
    const request = protocol.readRequest({ body, headers, address });
    const demand = protocol.demandAt?.(request, target) ?? request.demand;
    if (demand.choices !== 1) throw new Error("An agent asks for one answer.");
    return joinBytes(protocol.upstreamBody(request, target).body);
  };
}

/**
 * All that the protocols do with a streamed answer, from upstream's pieces to the bytes for the client, the end that
 * follows the settlement included. Returns the number of bytes.
 */
export function createStreamReader(way: Way): (pieces: readonly Uint8Array[]) => number {
  const { protocol, target, dialect } = destinationOf(way);
  const context: AnswerContext = {
    model: target.model.id,
    native: target.native,
    padding: dialect.padding,
    secrets: ["sk-figures"],
    requestId: "req_figures",
    nowSec: 1_800_000_000,
    choices: 1,
    expectedInput: 100,
  };
  return (pieces) => {
    const stream = protocol.openStream(context);
    let bytes = 0;
    for (const piece of pieces) bytes += stream.push(piece)?.length ?? 0;
    bytes += stream.end(true)?.length ?? 0;
    if (stream.failure !== undefined) throw stream.failure;
    if (!stream.hasContent || !stream.isComplete) throw new Error("The stream is cut.");
    return bytes + stream.tail(stream.metered(), 1_234n).length;
  };
}

interface Destination {
  readonly protocol: RelayProtocol;
  readonly target: RelayTarget;
  readonly dialect: Dialect;
}

let models: readonly Model[] | undefined;

function destinationOf({ asked, spoken, modelId }: Way): Destination {
  models ??= loadModelFiles(join(import.meta.dir, "../../models"));
  const model = models.find(({ id }) => id === modelId);
  const protocol = servedBy(asked, spoken);
  for (const { provider, upstreamId } of model?.routes ?? []) {
    const speaking = PROVIDERS.find(({ id }) => id === provider)?.protocols.find(({ id }) => id === spoken);
    if (model === undefined || protocol === undefined || speaking === undefined) continue;
    const { dialect } = speaking;
    return { protocol, dialect, target: targetOf(model, { spoken: speaking, upstreamId }) };
  }
  throw new Error(`${modelId} is not served in ${asked} by a provider that speaks ${spoken}.`);
}
