import { describe, expect, test } from "bun:test";
import { ANSWER_CONTEXT } from "../../../../test/protocols/answer-context.ts";
import { type Json } from "../../../../test/protocols/chat-events.ts";
import { foldEvents } from "../../../../test/protocols/folded-events.ts";
import { streamedEvents } from "../../../../test/protocols/streamed-events.ts";
import { recordingsOf, WIRES } from "../../../../test/replay/pairs/wires.ts";
import { seededRandom } from "../../../../test/upstream/cuts.ts";
import { recordingsAvailable } from "../../../../test/upstream/recordings.ts";
import { NO_USAGE } from "../../../core/money/usage.ts";
import { responsesServer } from "../server/index.ts";
import { responsesClient } from "./index.ts";

const encoder = new TextEncoder();
const context = { ...ANSWER_CONTEXT, model: "openai/m", carrier: { secret: "s", account: "a" } };

/** Recorded answers that are good; of streams all of one answer. */
function recordedAnswers() {
  const wire = WIRES.find(({ name }) => name === "Responses");
  return (wire === undefined ? [] : recordingsOf(wire)).flatMap((recording) => {
    const body: Json = recording.response.body;
    const isWhole = typeof body !== "string" && ["completed", "incomplete"].includes(body?.status);
    if (recording.response.status !== 200 || (typeof body !== "string" && !isWhole)) return [];
    // Some recordings have several streams one after another.
    if (typeof body === "string" && body.split('"type":"response.created"').length > 2) return [];
    return [{ path: recording.path, body }];
  });
}

const streamed = (body: string, size?: () => number) =>
  streamedEvents(responsesClient, encoder.encode(body), context, size);

function whole(body: Json) {
  const answer = responsesClient.protocol.readAnswer(encoder.encode(JSON.stringify(body)), context);
  return responsesClient.decodeAnswer(answer.said(), context);
}

/** The response object that a stream ends with, with the items that it told. */
function endOf(body: string): Json {
  const events: Json[] = body
    .split("\n")
    .flatMap((line) => (line.startsWith("data: {") ? [JSON.parse(line.slice(6))] : []));
  const end = events.findLast(({ type }) => /^response\.(completed|incomplete)$/.test(type))?.response;
  if (end === undefined || end.output?.length > 0) return end;
  return {
    ...end,
    output: events.filter(({ type }) => type === "response.output_item.done").map(({ item }) => item),
  };
}

/** What an answer says. What is sealed is encrypted anew each time it is told. */
const meaning = (events: Parameters<typeof foldEvents>[0] | undefined) => {
  const said = events && foldEvents(events).choices.get(0);
  return (
    said && {
      finish: said.finish,
      parts: said.parts.map(({ part, text, signature, citations = [] }) => ({
        part: part.type === "redacted_thinking" ? { type: part.type } : part,
        text,
        isSigned: signature !== undefined,
        citations,
      })),
    }
  );
};

describe.skipIf(!recordingsAvailable())("recorded answers of Responses", () => {
  test("say the same streamed and whole", () => {
    let count = 0;
    for (const { path, body } of recordedAnswers()) {
      const events = typeof body === "string" ? streamed(body) : undefined;
      if (events === undefined) continue;
      count += 1;
      expect([path, meaning(events)]).toEqual([path, meaning(whole(endOf(body)))]);
    }
    expect(count).toBeGreaterThan(100);
  });

  test("any cut of the bytes gives the same events", () => {
    let streams = 0;
    for (const { path, body } of recordedAnswers()) {
      if (typeof body !== "string" || body.length > 80_000) continue;
      const random = seededRandom((streams += 1));
      const events = streamed(body);
      const sizes = [() => 1 + Math.floor(random() * 300), ...(body.length < 8_000 ? [() => 1] : [])];
      for (const size of sizes) expect([path, streamed(body, size)]).toEqual([path, events]);
    }
    expect(streams).toBeGreaterThan(100);
  });

  test("written again for clients of the format they hold the same items in the same order", () => {
    let count = 0;
    for (const { path, body } of recordedAnswers()) {
      // One that the recording has cut has no end.
      const isCut = typeof body === "string" && streamed(body) === undefined;
      const end = isCut ? undefined : typeof body === "string" ? endOf(body) : body;
      const items: Json[] = end?.output ?? [];
      const isPlain = items.every(({ type }) => ["message", "reasoning", "function_call"].includes(type));
      if (end === undefined || !isPlain) continue;
      count += 1;
      const again: Json = responsesServer.encodeAnswer(whole(end), { usage: NO_USAGE, flags: [] }, context);
      expect([path, gist(again.output)]).toEqual([path, gist(items)]);
    }
    expect(count).toBeGreaterThan(200);
  });
});

/** What items say, those left out that say nothing; messages side by side are one. */
function gist(items: readonly Json[]): Json[] {
  const said: Json[] = [];
  for (const item of items) {
    const texts = (parts: readonly Json[] = []) => parts.map(({ text, refusal }) => text ?? refusal);
    const thought = texts(item.summary).length > 0 ? texts(item.summary) : texts(item.content);
    const is = (type: string, text: string) => {
      if (text === "" && type !== "sealed") return;
      if (said.at(-1)?.[0] === type && type === "message") said.at(-1)[1] += text;
      else said.push([type, text]);
    };
    if (item.type === "message") is("message", texts(item.content).join(""));
    else if (item.type === "function_call") said.push(["call", item.call_id, item.name, item.arguments]);
    else if (thought.join("") !== "" || item.encrypted_content) is("sealed", thought.join("\n\n"));
  }
  return said;
}
