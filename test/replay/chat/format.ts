import { expect } from "bun:test";
import { seededRandom } from "../../upstream/cuts.ts";
import type { Recording } from "../../upstream/recordings.ts";
import { expectedError } from "../expected-refusal.ts";
import type { RecordedRequest, ReplayCase, ReplayFormat, StreamCheck } from "../format.ts";
import type { Exchange } from "../exchange.ts";
import { type Changes, hostilePair, plainPair } from "../request-pair.ts";
import { paddingOf } from "../vendors.ts";
import type { Json, WrittenObject } from "../wire-json.ts";
import { expectSamePlain, expectSameStream, expectShownUsage, nativeStreamText } from "./compare.ts";
import { eventsOf, type Folded } from "./fold.ts";
import { breachesOf } from "./stream-rules.ts";
import { tokensOf } from "./tokens.ts";

/** Chat completions: one native vendor, and many whose answers are repaired. */
export const chatFormat: ReplayFormat = {
  protocol: "chat-completions",
  setting: "chat_completions",
  basePath: "/v1",
  modelMember: "model",
  usageMember: "usage",
  sellsSearches: false,
  isNative: (vendor) => vendor === "openai",
  served: (recording) => recording,
  unservable: () => undefined,
  request: (recording) => requestOf(recording.request.body),
  madeUp: (recording) => requestOf(madeUpBody(recording)),
  modelKind(body) {
    // The field that bounds output is the model's, so a model that was asked both ways is two models here.
    const bound = boundField(body);
    return { name: bound === "max_tokens" ? "mt" : "mct", settings: { max_tokens_field: bound } };
  },
  pairs({ body, modelId, native }, seed) {
    const named = { ...body, model: modelId };
    const changes = changesFor(body);
    const hostile = hostilePair(withOtherOptions(named, seed), seed, native, changes);
    return { plain: plainPair(named, changes), hostile };
  },
  streamedPair({ body, modelId }) {
    const streamed = { ...body, stream: true };
    return plainPair({ ...streamed, model: modelId }, changesFor(streamed));
  },
  clientPath: () => "/api/v1/chat/completions",
  clientHeaders: () => ({}),
  upstreamTarget: () => "/v1/chat/completions",
  upstreamHeaders: (_, key) => ({ authorization: `Bearer ${key}` }),
  checkPlain(found, recorded, answer) {
    const { usage } = expectSamePlain(recorded, answer, paddingOf(found.recording));
    if (usage === undefined) return undefined;
    expectShownUsage(usage, answer.usage);
    return tokensOf(usage);
  },
  checkStream,
  checkErrorBody({ error }, expected) {
    expect([typeof error.message, error.type, error.code]).toEqual(["string", expected.type, expected.type]);
  },
};

function requestOf(body: Json): RecordedRequest {
  return { body, stream: body.stream === true, upstreamId: String(body.model) };
}

function madeUpBody(recording: Recording): Json {
  return {
    model: recording.model || "unknown",
    messages: [{ role: "user", content: "A request of our own making." }],
    ...(typeof recording.response.body === "string" ? { stream: true } : {}),
  };
}

/** The field by which a request bounds its output. */
export function boundField(body: Json): "max_tokens" | "max_completion_tokens" {
  return "max_tokens" in body ? "max_tokens" : "max_completion_tokens";
}

/** A streamed request asks for its usage in another way than it was recorded. */
function withOtherOptions(body: Json, seed: number): Json {
  if (body.stream !== true) return body;
  const options = [undefined, {}, { include_usage: false }, { include_usage: true }];
  const option = options[Math.floor(seededRandom(seed * 7 + 1)() * options.length)];
  const { stream_options: _, ...rest } = body;
  return option === undefined ? rest : { ...rest, stream_options: option };
}

/** The model is the provider's, and a stream's usage is asked for where the client did not. */
function changesFor(body: Json): (written: WrittenObject) => Changes {
  return (written) => {
    // Models that may serve are for the gateway to choose among.
    const leftOut = "models" in body ? ["models"] : [];
    const changes: Changes = { replace: { model: JSON.stringify(body.model) }, append: [], leftOut };
    if (body.stream === true) askForUsage(written, changes);
    return changes;
  };
}

function askForUsage(written: WrittenObject, { replace, append }: Changes): void {
  const options = written.members.find((member) => member.name === "stream_options");
  if (options === undefined) {
    append.push('"stream_options":{"include_usage":true}');
    return;
  }
  const value = JSON.parse(options.value);
  if (value.include_usage === true) return;
  replace.stream_options =
    value.include_usage === false
      ? options.value.replace(/false(\s*\})$/, "true$1")
      : options.value.replace("{", '{"include_usage":true');
}

function checkStream(found: ReplayCase, exchange: Exchange): StreamCheck {
  const recorded = found.recording.response.body as string;
  const events = eventsOf(exchange.text);
  for (const chunk of events) if (chunk.model !== undefined) expect(chunk.model).toBe(found.modelId);
  const folded = expectSameStream(recorded, exchange.text, paddingOf(found.recording));
  const credit = /"credit":([\d.]+)\}/.exec(exchange.text)?.[1];
  const counted = folded.usage === undefined ? undefined : tokensOf(folded.usage);
  if (isBroken(folded)) {
    expectBrokenOff(found, events);
    return { credit, counted, broken: true };
  }
  expect(breachesOf(events)).toEqual([]);
  if (folded.usage !== undefined) expectShownUsage(folded.usage, events.at(-2).usage);
  if (found.native) {
    const { body, tail } = nativeStreamText(recorded, found.modelId, paddingOf(found.recording));
    const wantedTail = tail(String(credit));
    if (wantedTail === undefined) expect(exchange.text.startsWith(body)).toBe(true);
    else expect(exchange.text).toBe(body + wantedTail);
  }
  return { credit, counted, broken: false };
}

/** Whether the recorded stream ended in an error before each choice had ended. */
function isBroken({ error, choices }: Folded): boolean {
  return error !== undefined && Object.values(choices).some(({ finish }) => finish === null);
}

/** A recorded answer that broke off: the content that came, and an end that says so. */
function expectBrokenOff(found: ReplayCase, events: readonly Json[]): void {
  const [finish, usage, charged, error, done] = events.slice(-5);
  expect(finish.choices[0].finish_reason).toBe("error");
  expect([usage.choices, charged.choices, charged.usage]).toEqual([[], [], usage.usage]);
  const { type } = expectedError(found.recording.path, found.recording.response.status);
  expect([typeof error.error.message, error.error.type, done]).toEqual(["string", type, "[DONE]"]);
}
