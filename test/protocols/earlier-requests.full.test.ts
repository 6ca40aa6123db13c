import { expect, test } from "bun:test";
import { join } from "node:path";
import { joinBytes } from "../../src/core/bytes/bytes.ts";
import { loadModelFiles } from "../../src/catalog/catalog.ts";
import { errorDetails, GatewayError } from "../../src/core/errors.ts";
import { createKnownValueStore, type KnownValues } from "../../src/core/json/known-values.ts";
import type { ListedProtocolId } from "../../src/core/model.ts";
import { targetOf } from "../../src/gateway/language/admit.ts";
import { COUNTERS, servedBy } from "../../src/protocols/index.ts";
import type { RelayProtocol, RelayTarget, TokenCounter, WireRequest } from "../../src/protocols/protocol.ts";
import { PROVIDERS } from "../../src/providers/registry.ts";
import { seededRandom, sessionBodies } from "./agent-sessions.ts";
import { callSessionBodies } from "./call-sessions.ts";
import { wireRequest } from "./wire-request.ts";
import { LONG, SEED } from "../runs.ts";

const SESSIONS = LONG ? 1_500 : 8;
const TURNS = 14;

const GPT = "openai/gpt-5.6-luna";
const CLAUDE = "anthropic/claude-haiku-4.5";
const GEMINI = "google/gemini-3.8-flash";
const DEEPSEEK = "deepseek/deepseek-v4-pro";

const WAYS: readonly (readonly [asked: ListedProtocolId, spoken: ListedProtocolId, modelId: string])[] = [
  ["compat_chat_completions", "compat_chat_completions", GPT],
  ["compat_messages", "compat_messages", CLAUDE],
  ["compat_generate_content", "compat_generate_content", GEMINI],
  ["compat_chat_completions", "compat_messages", CLAUDE],
  ["compat_chat_completions", "compat_generate_content", GEMINI],
  ["compat_messages", "compat_chat_completions", GPT],
  ["compat_messages", "compat_generate_content", GEMINI],
  ["compat_messages", "compat_chat_completions", DEEPSEEK],
  ["compat_generate_content", "compat_chat_completions", GPT],
];

const models = loadModelFiles(join(import.meta.dir, "../../models"));

function targetFor(modelId: string, spoken: ListedProtocolId): RelayTarget {
  const model = models.find(({ id }) => id === modelId);
  for (const { provider, upstreamId } of model?.routes ?? []) {
    const speaking = PROVIDERS.find(({ id }) => id === provider)?.protocols.find(({ id }) => id === spoken);
    if (model !== undefined && speaking !== undefined)
      return targetOf(model, { spoken: speaking, upstreamId });
  }
  throw new Error(`${modelId} is not served in ${spoken}.`);
}

/** All that comes of a request: what it costs and what goes up, or the refusal. */
function outcomeOf(
  way: Pick<RelayProtocol, "readRequest" | "demandAt" | "upstreamBody"> | TokenCounter,
  wire: WireRequest,
  target: RelayTarget,
): unknown {
  const asked: unknown[] = [];
  const told = { asked };
  try {
    const request = way.readRequest({ ...wire, asked: (model) => asked.push(model) });
    const { model, stream, demand } = request;
    Object.assign(told, { model, stream, demand });
    if ("demandAt" in way) Object.assign(told, { demandAt: way.demandAt?.(request, target) });
    const { body, ...rest } = way.upstreamBody(request, target);
    return { ...told, ...rest, body: new TextDecoder().decode(joinBytes(body)) };
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    return { ...told, kind: error.kind, message: error.message, details: errorDetails(error) };
  }
}

/** Whoever changes what other requests have too is found out. */
function frozen(values: KnownValues): KnownValues {
  return {
    named: (name) => values.named(name),
    keep(value, instead) {
      freeze(value.value);
      values.keep(value, instead);
    },
  };
}

function freeze(value: unknown): void {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return;
  Object.freeze(value);
  for (const held of Object.values(value)) freeze(held);
}

for (const [asked, spoken, modelId] of WAYS) {
  test(`${asked} into ${spoken} of ${modelId}: a request costs and sends the same, or is refused alike, whatever was read before it`, () => {
    const random = seededRandom(SEED);
    const target = targetFor(modelId, spoken);
    const protocol = servedBy(asked, spoken);
    const counter = COUNTERS[asked];
    if (protocol === undefined) throw new Error("There is no such way.");
    for (let session = 0; session < SESSIONS; session += 1) {
      const store = createKnownValueStore(200_000);
      const known = frozen(store.of("key"));
      for (const body of sessionBodies(asked, modelId, random, TURNS)) {
        const plain = wireRequest(body, { address: { model: modelId, stream: true } });
        for (const way of asked === spoken && counter !== undefined ? [protocol, counter] : [protocol])
          expect(outcomeOf(way, { ...plain, known }, target)).toEqual(outcomeOf(way, plain, target));
      }
    }
  });
}

const CHAT_WAYS = WAYS.filter(([asked]) => asked === "compat_chat_completions");

test("sessions of calls that grow, part and go back: the same in each way, whatever was read and written before", () => {
  const random = seededRandom(SEED);
  for (let session = 0; session < SESSIONS; session += 1) {
    const store = createKnownValueStore(400_000);
    const known = frozen(store.of("key"));
    for (const body of callSessionBodies(GPT, random, 3 * TURNS)) {
      const plain = wireRequest(body);
      // What one way has found out is there for the next.
      for (const [asked, spoken, modelId] of CHAT_WAYS) {
        const way = servedBy(asked, spoken) as RelayProtocol;
        const target = targetFor(modelId, spoken);
        expect(outcomeOf(way, { ...plain, known }, target)).toEqual(outcomeOf(way, plain, target));
      }
    }
  }
});
