import { expect } from "bun:test";
import type { Recording } from "../../upstream/recordings.ts";
import type { RecordedRequest, ReplayCase, ReplayFormat, StreamCheck, Unservable } from "../format.ts";
import type { Exchange } from "../exchange.ts";
import { type Changes, hostilePair, plainPair } from "../request-pair.ts";
import type { Json } from "../wire-json.ts";
import { messagesEvents, streamedUsage, wantedEvents } from "./events.ts";
import { breachesOf } from "./stream-rules.ts";
import { messagesTokens } from "./tokens.ts";

/** Messages: one vendor, whose answers pass as they are. */
export const messagesFormat: ReplayFormat = {
  protocol: "messages",
  setting: "messages",
  basePath: "",
  modelMember: "model",
  usageMember: "usage",
  sellsSearches: true,
  isNative: () => true,
  served: (recording) => recording,
  unservable,
  request: ({ request }) => requestOf(request.body),
  madeUp: (recording) => requestOf(madeUpBody(recording)),
  modelKind: () => ({ name: "m", settings: {} }),
  pairs(found, seed) {
    const named = { ...found.body, model: found.modelId };
    const changes = (): Changes => changesFor(found);
    return { plain: plainPair(named, changes), hostile: hostilePair(named, seed, true, changes) };
  },
  streamedPair: (found) =>
    plainPair({ ...found.body, model: found.modelId, stream: true }, () => changesFor(found)),
  clientPath: (_, __, seed) => (seed % 2 === 0 ? "/api/v1/messages" : "/api/v1/v1/messages?beta=true"),
  clientHeaders: ({ request }) =>
    Object.fromEntries(Object.entries(request.headers).filter(([name]) => /^anthropic-/i.test(name))),
  upstreamTarget: () => "/v1/messages",
  upstreamHeaders({ recording }, key) {
    const relayed = betasOf(recording).filter((value) => !DEAR_BETA.test(value));
    return {
      "x-api-key": key,
      "anthropic-version": "2023-06-01",
      ...(relayed.length === 0 ? {} : { "anthropic-beta": relayed.join(",") }),
    };
  },
  checkPlain(_, recorded, answer) {
    expect(answer.usage).toEqual(recorded.usage);
    return messagesTokens(recorded.usage);
  },
  checkStream,
  checkErrorBody(body, expected, requestId) {
    expect([body.type, typeof body.error.message, body.error.type, body.request_id]).toEqual([
      "error",
      "string",
      expected.type,
      requestId,
    ]);
  },
};

function unservable({ request, response }: Recording): Unservable | undefined {
  const answer: Json = response.body;
  if (answer?.completion !== undefined)
    return { reason: "another format: text completions", answerAlone: false };
  if (request.url.endsWith("/invoke"))
    return { reason: "another envelope: Bedrock has the model in its path", answerAlone: true };
  return undefined;
}

function requestOf(body: Json): RecordedRequest {
  return { body, stream: body.stream === true, upstreamId: String(body.model) };
}

function madeUpBody(recording: Recording): Json {
  return {
    model: recording.model || "unknown",
    max_tokens: 32_000,
    messages: [{ role: "user", content: "A request of our own making." }],
    ...(typeof recording.response.body === "string" ? { stream: true } : {}),
  };
}

/** Previews that lead to another model's prices. */
const DEAR_BETA = /^advisor-tool-/;

/** Fields that the provider takes with a preview only, which the request must then have asked for. */
const NEEDS_BETA: Readonly<Record<string, RegExp>> = {
  context_management: /^context-management-/,
  mcp_servers: /^mcp-client-/,
};

function betasOf({ request }: Recording): readonly string[] {
  const header = Object.entries(request.headers).find(([name]) => /^anthropic-beta$/i.test(name));
  return header === undefined ? [] : header[1].split(/,\s*/);
}

function isSearch({ type = "custom" }: Json): boolean {
  return type.startsWith("web_search_");
}

function isBounded({ tools }: Json): boolean {
  return tools.every((tool: Json) => !isSearch(tool) || Number.isInteger(tool.max_uses));
}

function changesFor({ upstreamId, body, recording }: ReplayCase): Changes {
  const betas = betasOf(recording);
  const tools: Json[] = body.tools ?? [];
  // A search without a bound could cost more than was set aside for it.
  const unbound = tools.filter((tool) => isSearch(tool) && tool.max_uses === undefined);
  const nulled = tools.filter((tool) => isSearch(tool) && tool.max_uses === null);
  const leftOut = Object.entries(NEEDS_BETA)
    .filter(([name, needed]) => name in body && !betas.some((value) => needed.test(value)))
    .map(([name]) => name);
  return {
    replace: { model: JSON.stringify(upstreamId) },
    append: [],
    leftOut,
    putIn: [
      ...unbound.map(() => ({ name: "max_uses", text: ',"max_uses":10', instead: "", isIn: isBounded })),
      ...nulled.map(() => ({ name: "max_uses", text: "10", instead: "null", isIn: isBounded })),
    ],
    told: betas.filter((value) => DEAR_BETA.test(value)),
  };
}

function checkStream(found: ReplayCase, exchange: Exchange): StreamCheck {
  const recorded = found.recording.response.body as string;
  const events = messagesEvents(exchange.text);
  const credit = /"credit":([\d.]+)\}/.exec(exchange.text)?.[1];
  expect(breachesOf(events)).toEqual([]);
  expect(exchange.text).toBe(wantedEvents(recorded, found.modelId, String(credit)).join(""));
  const usage = streamedUsage(messagesEvents(recorded));
  return { credit, counted: messagesTokens(usage), broken: false };
}
