import { describe, expect, test } from "bun:test";
import { ANSWER_CONTEXT } from "../../../../test/protocols/answer-context.ts";
import { part, start, type Said } from "../../../../test/protocols/chat-events.ts";
import { foldEvents } from "../../../../test/protocols/folded-events.ts";
import { wireRequest } from "../../../../test/protocols/wire-request.ts";
import type { ChatEvent, Turn } from "../../../core/chat.ts";
import { GatewayError } from "../../../core/errors.ts";
import { NO_USAGE } from "../../../core/money/usage.ts";
import { sealCarrier } from "../../carrier.ts";
import type { AnswerContext, RelayTarget } from "../../protocol.ts";
import { generateContent } from "../index.ts";
import { writeSignature } from "../signatures.ts";
import { generateContentServer } from "./index.ts";

// oxlint-disable-next-line typescript/no-explicit-any -- wire data of a test
type Json = any;

const KEY = { secret: "s", account: "a" };
const ADDRESS = { address: { model: "v/m", stream: false }, carrier: KEY };
const decode = (body: object) =>
  generateContentServer.decodeRequest(generateContent.readRequest(wireRequest(body, ADDRESS)));
const turnsOf = (...contents: readonly Json[]): readonly Turn[] => decode({ contents }).chat.turns;
const user = (text: string) => ({ role: "user", parts: [{ text }] });

function refusedFor(body: object): string | undefined {
  try {
    decode(body);
  } catch (error) {
    if (error instanceof GatewayError) return error.param;
    throw error;
  }
  return undefined;
}

describe("turns", () => {
  test("have results behind their calls, in the order of the calls, by id or else by name", () => {
    const [, said, given, more] = turnsOf(
      user("a"),
      {
        role: "model",
        parts: [{ functionCall: { name: "f", args: { n: 1 } } }, { functionCall: { name: "f" } }],
      },
      {
        role: "user",
        parts: [
          { functionResponse: { name: "f", response: { output: "one" } } },
          { functionResponse: { name: "f", response: { error: "broke" } } },
          { text: "go on" },
        ],
      },
    );
    expect(said?.parts).toEqual([
      { type: "tool_call", id: "call_1_0", name: "f", input: '{"n":1}' },
      { type: "tool_call", id: "call_1_1", name: "f", input: "{}" },
    ]);
    expect(given).toEqual({
      role: "tool",
      parts: [
        { type: "tool_result", callId: "call_1_0", parts: [{ type: "text", text: "one" }], isError: false },
        { type: "tool_result", callId: "call_1_1", parts: [{ type: "text", text: "broke" }], isError: true },
      ],
    });
    expect(more).toEqual({ role: "user", parts: [{ type: "text", text: "go on" }] });
  });

  test("have a link without a type as what the ending of its name says", () => {
    const fileData = { fileUri: "https://x.test/a.png?size=2" };
    const [turn] = decode({ contents: [{ role: "user", parts: [{ fileData }] }] }).chat.turns;
    expect(turn?.parts).toMatchObject([{ type: "image", source: { kind: "url", url: fileData.fileUri } }]);
  });

  test("keep the digits of arguments", () => {
    const body =
      '{"contents":[{"role":"model","parts":[{"functionCall":{"name":"f","args":{"n":12345678901234567890}}}]}]}';
    const { chat, warnings } = generateContentServer.decodeRequest(
      generateContent.readRequest(wireRequest(body, ADDRESS)),
    );
    expect(chat.turns[0]?.parts[0]).toMatchObject({ input: '{"n":12345678901234567890}' });
    expect(warnings.join()).toContain("no functionResponse of a call of f");
  });

  test("have what another model thought, word for word, from the signature of what followed it", () => {
    const carriers = [
      sealCarrier({ kind: "thinking", issuer: "anthropic", text: "Hm.", signature: "S" }, KEY),
      sealCarrier({ kind: "redacted", issuer: "anthropic", data: "D" }, KEY),
    ];
    const [, said] = turnsOf(user("a"), {
      role: "model",
      parts: [
        { text: "H", thought: true },
        { text: "m.", thought: true },
        { text: "Hel", thoughtSignature: writeSignature(carriers) },
        { text: "lo." },
      ],
    });
    expect(said?.parts).toEqual([
      { type: "thinking", issuer: "anthropic", text: "Hm.", signature: "S" },
      { type: "redacted_thinking", issuer: "anthropic", data: "D" },
      { type: "text", text: "Hello." },
    ]);
  });

  test("have nothing of a signature that was changed, or given to another account, and that is told", () => {
    const other = sealCarrier({ kind: "thinking", text: "x" }, { ...KEY, account: "b" });
    const { chat, warnings } = decode({
      contents: [
        user("a"),
        { role: "model", parts: [{ text: "b", thoughtSignature: writeSignature([other]) }] },
      ],
    });
    expect(chat.turns[1]?.parts).toEqual([{ type: "text", text: "b" }]);
    expect(warnings).toEqual(["contents[1].parts[0].thoughtSignature was left out: it cannot be read here"]);
  });
});

describe("a request", () => {
  test("has its tools as JSON Schema, its choice, its form and its wish to think", () => {
    const { chat } = decode({
      contents: [user("a")],
      systemInstruction: { parts: [{ text: "be kind" }] },
      tools: [
        {
          functionDeclarations: [
            {
              name: "f",
              parameters: {
                type: "OBJECT",
                properties: { a: { type: "STRING", nullable: true }, b: { any_of: [{ type: "NUMBER" }] } },
              },
            },
            { name: "g", parametersJsonSchema: { type: "object" } },
          ],
        },
      ],
      toolConfig: { functionCallingConfig: { mode: "ANY", allowedFunctionNames: ["f", "g"] } },
      generationConfig: {
        responseMimeType: "application/json",
        responseSchema: { type: "ARRAY", items: { type: "INTEGER" }, minItems: "2", propertyOrdering: ["a"] },
        thinkingConfig: { thinkingLevel: "LOW", includeThoughts: true },
        candidateCount: 2,
        topK: 3,
      },
    });
    expect(chat.turns[0]).toEqual({ role: "system", parts: [{ type: "text", text: "be kind" }] });
    expect(chat.tools.map(({ parameters }) => parameters)).toEqual([
      { type: "object", properties: { a: { type: ["string", "null"] }, b: { anyOf: [{ type: "number" }] } } },
      { type: "object" },
    ]);
    expect(chat).toMatchObject({
      toolChoice: { type: "required" },
      allowedTools: ["f", "g"],
      responseFormat: {
        type: "json_schema",
        schema: { type: "array", items: { type: "integer" }, minItems: 2 },
      },
      thinking: { effort: "low" },
      choices: 2,
      topK: 3,
    });
    expect(chat.thinking).not.toHaveProperty("hidden");
  });

  test("has its wishes of safety left out, and that is told", () => {
    const categories = { category: "HARM_CATEGORY_HARASSMENT", threshold: "BLOCK_NONE" };
    const { chat, warnings } = decode({ contents: [user("a")], safetySettings: [categories] });
    expect(JSON.stringify(chat)).not.toContain("HARM");
    expect(warnings).toContain("safetySettings was left out: this model's provider has no such field");
  });

  const refused: Readonly<Record<string, object>> = {
    cachedContent: { cachedContent: "cachedContents/1" },
    "tools[0].codeExecution": { tools: [{ codeExecution: {} }] },
    "generationConfig.responseModalities": { generationConfig: { responseModalities: ["AUDIO"] } },
    "generation_config.response_format": { generation_config: { response_format: { x: 1 } } },
    "contents[1].parts[0].functionResponse": {
      contents: [user("a"), { role: "user", parts: [{ functionResponse: { name: "f", response: {} } }] }],
    },
  };
  for (const [param, more] of Object.entries(refused))
    test(`is refused for ${param}, as its caller spelled it`, () => {
      expect(refusedFor({ contents: [user("a")], ...more })).toBe(param);
    });
});

const CONTEXT: AnswerContext = { ...ANSWER_CONTEXT, carrier: KEY, echo: { showsThoughts: true } };
const METERED = { usage: { ...NO_USAGE, input: 5, cacheRead: 2, output: 3, reasoning: 1 }, flags: [] };

const SAID: readonly Said[] = [
  { begun: { type: "thinking", issuer: "anthropic" }, deltas: ["H", "m."], signature: "S" },
  {
    begun: { type: "text" },
    deltas: ["a\u2028", "b"],
    citations: [{ url: "https://a.example", title: "A" }],
  },
  { begun: { type: "redacted_thinking", data: "D", issuer: "anthropic" } },
  { begun: { type: "tool_call", id: "c1", name: "f" }, deltas: ['{"n":1234567', "8901234567890}"] },
  { begun: { type: "tool_call", id: "c2", name: "g" } },
];
const EVENTS: readonly ChatEvent[] = [
  start,
  ...SAID.flatMap((said, i) => part(i, said)),
  { type: "finish", choice: 0, reason: "tool_calls" },
];

function streamed(events: readonly ChatEvent[], context = CONTEXT) {
  const encoder = generateContentServer.openEncoder(context);
  const text = events.map((event) => encoder.push(event)).join("");
  return {
    text,
    end: encoder.tail(METERED, 1_500_000n),
    failed: encoder.failureTail(new GatewayError("upstream_error", "x"), METERED, 1n),
  };
}

/** The chunks of a stream; fails on anything but events of data, each of one line. */
function chunksOf(text: string): Json[] {
  return text
    .split("\n\n")
    .slice(0, -1)
    .map((event) => {
      expect(event).toMatch(/^data: .*$/);
      return JSON.parse(event.slice(6));
    });
}

describe("an answer", () => {
  test("says the same streamed and whole, and every chunk has a candidate with a part", () => {
    const { text, end } = streamed(EVENTS);
    const chunks = chunksOf(text + end);
    for (const { candidates } of chunks) expect(candidates[0].content.parts.length).toBeGreaterThan(0);
    const last = chunks.at(-1);
    expect(last).toMatchObject({
      candidates: [
        {
          finishReason: "STOP",
          groundingMetadata: { groundingChunks: [{ web: { uri: "https://a.example", title: "A" } }] },
        },
      ],
      usageMetadata: {
        promptTokenCount: 7,
        cachedContentTokenCount: 2,
        candidatesTokenCount: 3,
        thoughtsTokenCount: 1,
        totalTokenCount: 11,
      },
      credit: 1.5,
      modelVersion: "v/m",
    });
    const whole: Json = generateContentServer.encodeAnswer(EVENTS, METERED, CONTEXT);
    const joined: Json[] = [];
    for (const said of chunks.slice(0, -1).flatMap(({ candidates }) => candidates[0].content.parts)) {
      const before = joined.at(-1);
      const isMore =
        said.text !== undefined &&
        before?.text !== undefined &&
        said.thought === before.thought &&
        said.thoughtSignature === undefined;
      if (isMore) before.text += said.text;
      else joined.push({ ...said });
    }
    expect(JSON.parse(JSON.stringify(whole.candidates[0].content.parts))).toEqual(joined);
    expect(text).toContain("12345678901234567890");
    expect(text).not.toContain("\u2028");
  });

  test("comes back as it was: thoughts with their signatures, texts and calls", () => {
    const whole: Json = generateContentServer.encodeAnswer(EVENTS, METERED, CONTEXT);
    const contents = [user("a"), JSON.parse(JSON.stringify(whole.candidates[0].content))];
    const said = decode({ contents }).chat.turns[1]?.parts;
    expect(said?.map(({ type }) => type)).toEqual([
      "thinking",
      "text",
      "redacted_thinking",
      "tool_call",
      "tool_call",
    ]);
    const folded = foldEvents(EVENTS).choices.get(0)?.parts ?? [];
    expect(said?.[0]).toEqual({
      type: "thinking",
      issuer: "anthropic",
      text: folded[0]?.text ?? "",
      signature: "S",
    });
    expect(said?.[2]).toEqual({ type: "redacted_thinking", issuer: "anthropic", data: "D" });
    expect(said?.at(-1)).toMatchObject({ id: "c2", name: "g", input: "{}" });
  });

  test("whose thoughts nobody asked for has them in signatures alone", () => {
    const { text } = streamed(EVENTS, { ...CONTEXT, echo: { showsThoughts: false } });
    const parts = chunksOf(text).flatMap(({ candidates }) => candidates[0].content.parts);
    expect(parts.some(({ thought }) => thought === true)).toBe(false);
    expect(parts.filter(({ thoughtSignature }) => thoughtSignature !== undefined)).toHaveLength(2);
  });

  test("that breaks, or that its model breaks off, gives no reason to stop", () => {
    const { text, failed } = streamed(EVENTS.slice(0, 6));
    const broken = streamed([...EVENTS.slice(0, -1), { type: "finish", choice: 0, reason: "error" }]).end;
    for (const end of [failed, broken]) {
      expect(text + end).not.toContain("finishReason");
      expect(chunksOf(end)).toEqual([
        { error: expect.objectContaining({ code: 502, status: "UNAVAILABLE" }), credit: expect.any(Number) },
      ]);
    }
  });
});

test("a relay sends no signature of another vendor's model to Google", () => {
  const foreign = writeSignature([
    sealCarrier({ kind: "thinking", issuer: "anthropic", text: "x", signature: "S" }, KEY),
  ]);
  const request = generateContent.readRequest(
    wireRequest(
      {
        contents: [
          user("a"),
          {
            role: "model",
            parts: [
              { text: "b", thought_signature: foreign },
              { functionCall: { name: "f" }, thoughtSignature: foreign },
            ],
          },
        ],
      },
      ADDRESS,
    ),
  );
  const target = {
    model: { id: "v/m", ignoredParameters: [], maxOutput: null },
    upstreamId: "m",
    unknownFields: "remove",
    native: true,
    streamUsageOption: false,
  } as unknown as RelayTarget;
  const { body, warnings } = generateContent.upstreamBody(request, target);
  const sent: Json = JSON.parse(body.map((piece) => new TextDecoder().decode(piece)).join(""));
  expect(sent.contents[1].parts).toEqual([
    { text: "b" },
    { functionCall: { name: "f" }, thoughtSignature: "skip_thought_signature_validator" },
  ]);
  expect(warnings).toHaveLength(2);
});
