import { describe, expect, test } from "bun:test";
import { CONTEXT } from "../../../test/protocols/chat-events.ts";
import { seededRandom } from "../../../test/upstream/cuts.ts";
import { loadRecordings, recordedBytes, recordingsAvailable } from "../../../test/upstream/recordings.ts";
import { sseData } from "../../../test/upstream/sse-bytes.ts";
import { GatewayError } from "../../core/errors.ts";
import { inputTokens, outputTokens } from "../../core/money/usage.ts";
import { responses } from "./index.ts";

// Every recorded answer of Responses through the relay: what the client reads, what is counted, and cuts.

// oxlint-disable-next-line typescript/no-explicit-any -- wire data of a test
type Json = any;

const CREDIT = 1_500_000n;
const CUT_OFF = new GatewayError("upstream_error", "The provider's answer ended early.");
const TERMINAL = /^response\.(completed|incomplete|failed)$/;
const encoder = new TextEncoder();
const decoder = new TextDecoder();

function read(text: string): Json {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const recorded = !recordingsAvailable()
  ? []
  : loadRecordings("responses").flatMap(({ path, response }) => {
      if (response.status !== 200) return [];
      const body = recordedBytes(response.body);
      const text = typeof body === "string" ? body : decoder.decode(body);
      const isStream = /^(event|data|:)/.test(text.trimStart());
      const data = isStream ? sseData(text).filter((each) => each !== "[DONE]") : [];
      return [{ path, text, events: data.map(read) }];
    });
const streams = recorded.filter(({ events }) => events.length > 0 && !events.includes(undefined));
/** Streams with an event that is no JSON. */
const garbled = recorded.filter(({ events }) => events.includes(undefined));
const whole = recorded.flatMap(({ path, text, events }) => {
  if (events.length > 0 || !text.startsWith("{")) return [];
  const value: Json = JSON.parse(text);
  return value.status === "completed" || value.status === "incomplete" ? [{ path, text, value }] : [];
});

/** What a client gets of a stream whose bytes come in pieces of `size`, up to its end. */
function play(text: string, size: () => number) {
  const stage = responses.openStream(CONTEXT);
  const bytes = encoder.encode(text);
  let out = "";
  const add = (more: Uint8Array | undefined) => (out += more === undefined ? "" : decoder.decode(more));
  for (let at = 0; at < bytes.length && !stage.isDone && stage.failure === undefined;) {
    const next = Math.min(bytes.length, at + size());
    add(stage.push(bytes.slice(at, next)));
    at = next;
  }
  if (!stage.isDone) add(stage.end(false));
  const metered = stage.metered();
  const isGood = stage.failure === undefined && stage.isComplete;
  add(isGood ? stage.tail(metered, CREDIT) : stage.failureTail(stage.failure ?? CUT_OFF, metered, CREDIT));
  return { isGood, metered, told: sseData(out).map((data): Json => JSON.parse(data)) };
}

/** An event as it must not change: without what the gateway puts in. */
function asSent(event: Json): Json {
  if (event.response === undefined) return event;
  const { model: _model, credit: _credit, ...response } = event.response;
  return { ...event, response };
}

const isRelayed = ({ type }: Json) => type !== "keepalive" && type !== "response.rate_limits.updated";

describe.skipIf(!recordingsAvailable())("recorded answers of Responses", () => {
  test("there are streams and whole ones", () => {
    expect(streams.length).toBeGreaterThan(50);
    expect(whole.length).toBeGreaterThan(50);
  });

  test("a stream keeps its events, counts what its end tells, and ends once", () => {
    for (const [i, { path, text, events }] of streams.entries()) {
      const random = seededRandom(i);
      const { isGood, metered, told } = play(text, () => 1 + Math.floor(random() * 4_000));
      const at = events.findIndex(({ type }) => TERMINAL.test(type));
      const end = events[at];
      expect([path, told.filter(({ type }) => TERMINAL.test(type)).length]).toEqual([path, 1]);
      expect([path, told.at(-1).response.credit]).toEqual([path, 1.5]);
      expect([path, isGood]).toEqual([path, end !== undefined && end.type !== "response.failed"]);
      if (!isGood) continue;
      const sent = events.slice(0, at + 1).filter(isRelayed);
      const kept = told.map(asSent);
      if (end.response.output?.length === 0) kept.at(-1).response.output = [];
      if (metered.flags.length > 0) kept.at(-1).response.usage = end.response.usage;
      expect([path, kept]).toEqual([path, sent.map(asSent)]);
      const { usage } = end.response;
      if (!usage || metered.flags.length > 0) continue;
      const counted = [inputTokens(metered.usage), outputTokens(metered.usage)];
      expect([path, ...counted]).toEqual([path, usage.input_tokens, usage.output_tokens]);
    }
  });

  test("a stream with an event that is no JSON ends with a failure", () => {
    expect(garbled.length).toBeGreaterThan(0);
    for (const { path, text } of garbled) {
      const { isGood, told } = play(text, () => 4_096);
      expect([path, isGood, told.at(-1).type]).toEqual([path, false, "response.failed"]);
    }
  });

  test("a stream that is cut anywhere ends with a failure, and never looks complete", () => {
    for (const [i, { path, text }] of streams.entries()) {
      const random = seededRandom(i);
      const end = text.search(/^data: *\{"type": *"response\.(completed|incomplete|failed)"/m);
      if (end <= 0) continue;
      for (let cut = 0; cut < 3; cut += 1) {
        const { isGood, told } = play(text.slice(0, Math.floor(random() * end)), () => 4_096);
        const types = told.slice(-2).map(({ type }) => type);
        expect([path, isGood, ...types]).toEqual([path, false, "error", "response.failed"]);
      }
    }
  });

  test("a whole answer keeps its members, and counts its usage", () => {
    for (const { path, text, value } of whole) {
      const answer = responses.readAnswer(encoder.encode(text), CONTEXT);
      const { usage, flags } = answer.metered;
      const told: Json = JSON.parse(decoder.decode(answer.encode(CREDIT)));
      expect([path, told.model, told.credit]).toEqual([path, CONTEXT.model, 1.5]);
      const { model: _model, credit: _credit, ...rest } = told;
      const { model: _upstream, ...sent } = value;
      if (flags.length > 0) rest.usage = sent.usage;
      expect([path, rest]).toEqual([path, sent]);
      if (!value.usage || flags.length > 0) continue;
      const counted = [inputTokens(usage), outputTokens(usage)];
      expect([path, ...counted]).toEqual([path, value.usage.input_tokens, value.usage.output_tokens]);
    }
  });
});
