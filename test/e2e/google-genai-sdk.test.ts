import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { type GenerateContentResponse, GoogleGenAI, type HttpOptions, type Part } from "@google/genai";
import { createDatedClock } from "../gateway/dated-clock.ts";
import { startGateway, UPSTREAM_KEY, type TestGateway } from "../gateway/gateway.ts";
import { jsonAnswer } from "../upstream/answer.ts";
import { startUpstreamDouble, type UpstreamDouble } from "../upstream/double.ts";
import { geminiChunks, type GeminiForm, geminiPlain, geminiStream } from "../upstream/gemini-bytes.ts";
import { sse } from "../upstream/sse-bytes.ts";
import { all, contents, CREDIT, IMAGE_MODEL, MODEL, strict, USAGE } from "./genai-asked.ts";

// The official SDK, unmodified: only its base address and key are set. The upstream is the double, as strict as Gemini.

let double: UpstreamDouble;
let gateway: TestGateway;
let client: GoogleGenAI;

beforeAll(async () => {
  double = await startUpstreamDouble();
  gateway = await startGateway({
    clock: createDatedClock(),
    environment: { GEMINI_API_KEY: UPSTREAM_KEY, GEMINI_BASE_URL: double.url },
  });
  client = open({ baseUrl: `${gateway.url}/api`, apiVersion: "v1" });
});
afterAll(async () => {
  await gateway.close();
  await double.close();
});
beforeEach(() => double.reset());

function open(httpOptions: HttpOptions, apiKey = gateway.key): GoogleGenAI {
  return new GoogleGenAI({ apiKey, httpOptions });
}

/** Answers what a strict Gemini would take, plain or streamed as it was asked. */
function answer(form: GeminiForm): void {
  double.handle(
    (request) =>
      strict(request) ?? (request.target.includes(":stream") ? geminiStream(form) : geminiPlain(form)),
  );
}

/** The parts of a streamed answer, without the empty ones. */
function partsOf(chunks: readonly GenerateContentResponse[]): Part[] {
  return chunks
    .flatMap(({ candidates }) => candidates?.[0]?.content?.parts ?? [])
    .filter((part) => part.text !== "" || part.thoughtSignature !== undefined);
}

describe("addresses that the SDK makes", () => {
  const bases: readonly { readonly name: string; readonly options: () => HttpOptions }[] = [
    { name: "{origin}/api and v1", options: () => ({ baseUrl: `${gateway.url}/api`, apiVersion: "v1" }) },
    {
      name: "{origin}/api/v1 and none",
      options: () => ({ baseUrl: `${gateway.url}/api/v1`, apiVersion: "" }),
    },
    { name: "{origin}/api/v1 and its own", options: () => ({ baseUrl: `${gateway.url}/api/v1` }) },
    { name: "{origin}/api and its own", options: () => ({ baseUrl: `${gateway.url}/api` }) },
    // What majors before this one have as their own.
    {
      name: "{origin}/api and v1beta",
      options: () => ({ baseUrl: `${gateway.url}/api`, apiVersion: "v1beta" }),
    },
    {
      name: "{origin}/api/v1 and v1beta",
      options: () => ({ baseUrl: `${gateway.url}/api/v1`, apiVersion: "v1beta" }),
    },
  ];
  for (const { name, options } of bases) {
    for (const model of [MODEL, MODEL.replace("/", "%2F")]) {
      test(`${name}, ${model}: plain and streamed`, async () => {
        answer({ usage: USAGE });
        const using = open(options());
        const plain = await using.models.generateContent({ model, contents });
        expect(plain.text).toBe("Hello.");
        const chunks = await all(await using.models.generateContentStream({ model, contents }));
        expect(chunks.map(({ text }) => text).join("")).toBe("Hello.");
        expect(double.requests.map(({ target }) => target)).toEqual([
          "/v1beta/models/gemini-3.8-flash:generateContent",
          "/v1beta/models/gemini-3.8-flash:streamGenerateContent?alt=sse",
        ]);
      });
    }
  }
});

test("plain: the answer arrives with usage and credit, and upstream accepted what it was sent", async () => {
  answer({ usage: USAGE });
  const response = await client.models.generateContent({
    model: MODEL,
    contents,
    config: { temperature: 0.5, maxOutputTokens: 50, systemInstruction: "Be short.", stopSequences: ["x"] },
  });
  expect(response.text).toBe("Hello.");
  expect(response.usageMetadata).toMatchObject(USAGE);
  expect(response.modelVersion).toBe("gemini-3.8-flash");
  expect(double.requests[0]?.json()).toEqual({
    contents: [{ role: "user", parts: [{ text: contents }] }],
    systemInstruction: { role: "user", parts: [{ text: "Be short." }] },
    generationConfig: { temperature: 0.5, maxOutputTokens: 50, stopSequences: ["x"] },
  });
});

test("streamed: chunks as they come, usage and finish reason on the last", async () => {
  answer({ parts: ["a", "b", "c"], usage: USAGE });
  const before = await gateway.account();
  const chunks = await all(await client.models.generateContentStream({ model: MODEL, contents }));
  expect(chunks.map(({ text }) => text)).toEqual(["a", "b", "c"]);
  expect(chunks.map(({ candidates }) => candidates?.[0]?.finishReason as string | undefined)).toEqual([
    undefined,
    undefined,
    "STOP",
  ]);
  expect(chunks.at(-1)?.usageMetadata).toMatchObject(USAGE);
  expect(before.balance - (await gateway.account()).balance).toBeCloseTo(CREDIT, 6);
});

test("chats keep both turns in their history, plain and streamed, also after an answer cut by its length", async () => {
  for (const streamed of [false, true]) {
    double.reset();
    answer({ parts: ["Hel", "lo."], usage: USAGE });
    const chat = client.chats.create({ model: MODEL });
    const say = async (message: string): Promise<void> => {
      if (streamed) await all(await chat.sendMessageStream({ message }));
      else await chat.sendMessage({ message });
    };
    await say("one");
    expect(chat.getHistory(true).map(({ role }) => role)).toContain("model");
    await say("two");
    const { contents: turns } = (await double.waitForRequest(2)).json() as {
      contents: { role: string; parts: Part[] }[];
    };
    expect(turns.filter(({ role }) => role === "user").map(({ parts }) => parts[0]?.text)).toEqual([
      "one",
      "two",
    ]);
    expect(
      turns
        .filter(({ role }) => role === "model")
        .flatMap(({ parts }) => parts.map(({ text }) => text))
        .join(""),
    ).toBe("Hello.");
  }
  // Usage alone, and a last chunk without parts, would make the SDK forget the turn.
  const cut = [
    ...geminiChunks({ parts: ["Long"], finishReason: null }),
    { usageMetadata: USAGE },
    { candidates: [{ content: { role: "model" }, finishReason: "MAX_TOKENS" }], usageMetadata: USAGE },
    { usageMetadata: USAGE },
  ];
  double.handle((request) => strict(request) ?? { ...geminiStream(), body: sse(cut) });
  const chat = client.chats.create({ model: MODEL });
  await all(await chat.sendMessageStream({ message: "three" }));
  expect(
    chat
      .getHistory(true)
      .flatMap(({ parts }) => parts ?? [])
      .map(({ text }) => text),
  ).toContain("Long");
});

const SIGNATURE = "CiQBjz1rX+/abc/def+ghi==";
const calls = [
  {
    functionCall: { id: "c1", name: "weather", args: { city: "Oslo", at: 1.5 } },
    thoughtSignature: SIGNATURE,
  },
  { functionCall: { id: "c2", name: "weather", args: { city: "Rome" } } },
];
const tools = [
  {
    functionDeclarations: [
      {
        name: "weather",
        description: "Weather of a city",
        parametersJsonSchema: {
          type: "object",
          properties: { city: { type: "string" } },
          additionalProperties: false,
        },
      },
    ],
  },
];

for (const streamed of [false, true]) {
  test(`tools, ${streamed ? "streamed" : "plain"}: parallel calls, and the signature goes back on its part`, async () => {
    answer({ parts: [{ text: "Let me.", thought: true }, ...calls], usage: USAGE });
    const first = streamed
      ? partsOf(
          await all(await client.models.generateContentStream({ model: MODEL, contents, config: { tools } })),
        )
      : ((await client.models.generateContent({ model: MODEL, contents, config: { tools } })).candidates?.[0]
          ?.content?.parts ?? []);
    expect(first.slice(1)).toEqual(calls);
    answer({ parts: ["Cold."], usage: USAGE });
    const next = await client.models.generateContent({
      model: MODEL,
      contents: [
        { role: "user", parts: [{ text: contents }] },
        { role: "model", parts: first },
        {
          role: "user",
          parts: calls.map(({ functionCall: { id, name } }) => ({
            functionResponse: { id, name, response: { output: "3 degrees" } },
          })),
        },
      ],
      config: { tools },
    });
    expect(next.text).toBe("Cold.");
    const sent = await double.waitForRequest(2);
    const { contents: turns } = sent.json() as { contents: { parts: Part[] }[] };
    expect(turns[1]?.parts.slice(1)).toEqual(calls);
    // Byte for byte as it came, and once.
    expect(sent.bodyText.split(`"thoughtSignature":"${SIGNATURE}"`)).toHaveLength(2);
  });
}

test("thinking: thoughts are parts of their own, and their tokens are charged as output", async () => {
  const usage = {
    promptTokenCount: 10,
    candidatesTokenCount: 5,
    thoughtsTokenCount: 20,
    totalTokenCount: 35,
  };
  answer({
    parts: [
      { text: "Hmm.", thought: true },
      { text: "Yes.", thoughtSignature: SIGNATURE },
    ],
    usage,
  });
  const config = { thinkingConfig: { includeThoughts: true, thinkingBudget: 512 } };
  const before = await gateway.account();
  const plain = await client.models.generateContent({ model: MODEL, contents, config });
  expect(plain.candidates?.[0]?.content?.parts).toEqual([
    { text: "Hmm.", thought: true },
    { text: "Yes.", thoughtSignature: SIGNATURE },
  ]);
  expect(plain.text).toBe("Yes.");
  // 10 × 0.75 + 25 × 3.75 USD per million.
  expect(before.balance - (await gateway.account()).balance).toBeCloseTo(1.0125, 6);
  const parts = partsOf(
    await all(await client.models.generateContentStream({ model: MODEL, contents, config })),
  );
  expect(parts).toEqual(plain.candidates?.[0]?.content?.parts as Part[]);
});

/** An image of nine by four, a document and audio, as far as this test needs them. */
const GIF = "R0lGODlhCQAEAAAAACwAAAAACQAEAAACAAA7";

test("images, documents, audio and files go up as they are", async () => {
  answer({
    usage: {
      promptTokenCount: 1_500,
      promptTokensDetails: [
        { modality: "TEXT", tokenCount: 100 },
        { modality: "IMAGE", tokenCount: 1_100 },
        { modality: "AUDIO", tokenCount: 300 },
      ],
      candidatesTokenCount: 4,
      totalTokenCount: 1_504,
    },
  });
  const parts = [
    { inlineData: { mimeType: "image/gif", data: GIF } },
    { inlineData: { mimeType: "application/pdf", data: "JVBERi0xLjQ=" } },
    { inlineData: { mimeType: "audio/mp3", data: "SUQzBAAAAAA=" } },
    { fileData: { mimeType: "video/mp4", fileUri: "https://www.youtube.com/watch?v=9hE5-98ZeCg" } },
    { fileData: { mimeType: "image/png", fileUri: "gs://bucket/image.png" } },
    { text: "What is this?" },
  ];
  const response = await client.models.generateContent({ model: MODEL, contents: [{ role: "user", parts }] });
  expect(response.text).toBe("Hello.");
  const { contents: turns } = (await double.waitForRequest(1)).json() as { contents: { parts: Part[] }[] };
  expect(turns[0]?.parts).toEqual(parts);
});

test("images out: charged by their own price, with the signature on their part", async () => {
  const image = { inlineData: { mimeType: "image/png", data: GIF }, thoughtSignature: SIGNATURE };
  answer({
    parts: ["Here it is.", image],
    usage: {
      promptTokenCount: 100,
      candidatesTokenCount: 1_130,
      candidatesTokensDetails: [{ modality: "IMAGE", tokenCount: 1_120 }],
      totalTokenCount: 1_230,
    },
  });
  for (const config of [
    {},
    { responseModalities: ["TEXT", "IMAGE"], imageConfig: { aspectRatio: "16:9", imageSize: "2K" } },
  ]) {
    const before = await gateway.account();
    const response = await client.models.generateContent({ model: IMAGE_MODEL, contents: "Draw.", config });
    expect(response.candidates?.[0]?.content?.parts).toEqual([{ text: "Here it is." }, image]);
    // 100 × 2 + 10 × 12 + 1120 × 120 USD per million.
    expect(before.balance - (await gateway.account()).balance).toBeCloseTo(1_347.2, 4);
  }
});

test("structured output: the schema goes up as it is", async () => {
  answer({ parts: ['{"a":1}'], usage: USAGE });
  const config = {
    responseMimeType: "application/json",
    responseJsonSchema: {
      type: "object",
      properties: { a: { type: "integer" } },
      additionalProperties: false,
    },
  };
  const response = await client.models.generateContent({ model: MODEL, contents, config });
  expect(JSON.parse(response.text ?? "")).toEqual({ a: 1 });
  expect(double.requests[0]?.json()).toMatchObject({ generationConfig: config });
});

test("a search is charged for each query that was made", async () => {
  double.handle(
    (request) =>
      strict(request) ??
      jsonAnswer(200, {
        candidates: [
          {
            content: { role: "model", parts: [{ text: "Found." }] },
            finishReason: "STOP",
            groundingMetadata: { webSearchQueries: ["a", "b"] },
          },
        ],
        usageMetadata: USAGE,
      }),
  );
  const before = await gateway.account();
  const response = await client.models.generateContent({
    model: MODEL,
    contents,
    config: { tools: [{ googleSearch: {} }] },
  });
  expect(response.text).toBe("Found.");
  expect(before.balance - (await gateway.account()).balance).toBeCloseTo(CREDIT + 2 * 140, 4);
});
