import { expect } from "bun:test";
import type { Recording } from "../../upstream/recordings.ts";
import type { RecordedRequest, ReplayCase, ReplayFormat, StreamCheck, Unservable } from "../format.ts";
import type { Exchange } from "../exchange.ts";
import type { Json } from "../wire-json.ts";
import { LAST, responsesEvents, wantedEvents } from "./events.ts";
import { breachesOf, looksBroken } from "./stream-rules.ts";
import { responsesTokens } from "./tokens.ts";
import { refusedByUs, requestPair } from "./wanted-request.ts";

/** Responses: several vendors and servers, whose answers pass as they are. */
export const responsesFormat: ReplayFormat = {
  protocol: "responses",
  setting: "responses",
  basePath: "/v1",
  modelMember: "model",
  usageMember: "usage",
  sellsSearches: true,
  isNative: () => true,
  served: (recording) => recording,
  unservable,
  failsAtOnce: (stream) => responsesEvents(stream).every(({ value }) => BEFORE_CONTENT.test(value.type)),
  refusedByUs,
  request: ({ request }) => requestOf(request.body),
  madeUp: (recording) => requestOf(madeUpBody(recording)),
  modelKind: () => ({ name: "r", settings: {} }),
  pairs({ body, modelId, upstreamId }, seed) {
    const named = { ...body, model: modelId };
    return { plain: requestPair(named, upstreamId), hostile: requestPair(named, upstreamId, seed) };
  },
  streamedPair: ({ body, modelId, upstreamId }) =>
    requestPair({ ...body, model: modelId, stream: true }, upstreamId),
  clientPath: () => "/api/v1/responses",
  clientHeaders: () => ({}),
  upstreamTarget: () => "/v1/responses",
  upstreamHeaders: (_, key) => ({ authorization: `Bearer ${key}` }),
  echoed({ body }, recorded) {
    const said = Object.entries(echoOf(body)).filter(([name]) => name in recorded);
    return Object.fromEntries(said);
  },
  checkPlain(_, recorded, answer) {
    const counted = responsesTokens(recorded);
    if (counted !== undefined) expect(answer.usage).toEqual(recorded.usage);
    return counted;
  },
  checkStream,
  checkErrorBody({ error }, { type }) {
    const known = type === "input_too_large" ? "context_length_exceeded" : type;
    expect([typeof error.message, error.type, typeof error.code]).toEqual(["string", type, "string"]);
    if (error.code !== "previous_response_not_found" && !error.code.startsWith("un"))
      expect(error.code).toBe(known);
  },
};

const BEFORE_CONTENT = /^(response\.(created|queued|in_progress|failed)|error)$/;

function unservable({ request, response }: Recording): Unservable | undefined {
  const body: Json = response.body;
  if (request.method !== "POST" || !/\/responses(\?|$)/.test(request.url))
    return { reason: "another call than that which answers", answerAlone: false };
  if (/^(queued|in_progress|cancelled|complete)$/.test(body?.status))
    return { reason: `no answer that has ended: its status is ${body.status}`, answerAlone: false };
  return undefined;
}

function requestOf(body: Json): RecordedRequest {
  return { body, stream: body.stream === true, upstreamId: String(body.model ?? "unknown") };
}

function madeUpBody({ model, response }: Recording): Json {
  const body: Json = response.body;
  const store =
    typeof body === "string" ? /"store": ?(\w+)/.exec(body)?.[1] !== "false" : body.store !== false;
  return {
    model: model || "unknown",
    input: "A request of our own making.",
    ...(store ? {} : { store }),
    ...(JSON.stringify(body).includes("web_search_call") ? { tools: [{ type: "web_search" }] } : {}),
    ...(typeof body === "string" ? { stream: true } : {}),
  };
}

const ECHOED = ["store", "metadata", "user", "safety_identifier", "prompt_cache_key"];

/** What an answer repeats of the request as the client sent it. */
function echoOf(body: Json): Json {
  const said = ECHOED.filter((name) => body[name] !== undefined && body[name] !== null);
  return { store: true, ...Object.fromEntries(said.map((name) => [name, body[name]])) };
}

function checkStream(found: ReplayCase, exchange: Exchange): StreamCheck {
  const recorded = found.recording.response.body as string;
  const told = responsesEvents(recorded);
  const events = responsesEvents(exchange.text);
  const credit = /"credit":([\d.]+)/.exec(JSON.stringify(events.at(-1)?.value))?.[1];
  const end = told.find(({ value }) => LAST.test(value.type));
  if (end === undefined || end.value.type === "response.failed") {
    expect(looksBroken(exchange.text)).toBe(true);
    return { credit, counted: undefined, broken: true };
  }
  expect(breachesOf(exchange.text)).toEqual([]);
  const counted = responsesTokens(end.value.response);
  const own = { model: found.modelId, echo: echoOf(found.body) };
  const wanted = wantedEvents(recorded, own, String(credit));
  const got = exchange.text.split(/(?<=\n\n)/).filter((event) => !event.startsWith(":"));
  expect(got.slice(0, -1)).toEqual(wanted.slice(0, -1));
  // What was said and not counted is counted here, or it would be free.
  if (counted !== undefined) expect(got.at(-1)).toBe(String(wanted.at(-1)));
  else expect(withoutUsage(got.at(-1))).toEqual(withoutUsage(wanted.at(-1)));
  return { credit, counted, broken: false };
}

function withoutUsage(event = ""): Json {
  const [{ value } = {}]: Json[] = responsesEvents(event);
  return { ...value, response: { ...value.response, usage: undefined } };
}
