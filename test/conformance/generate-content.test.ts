import { describe, expect, test } from "bun:test";
import { jsonAnswer } from "../upstream/answer.ts";
import { eventsOf, openInterface } from "./interface.ts";
import { describeTable } from "./spec-tables.ts";
import { SAID } from "./upstream-answers.ts";

const api = openInterface();
const MODEL = "google/gemini-3.8-flash";
const PATH = `/api/v1/models/${encodeURIComponent(MODEL)}:generateContent`;
const STREAM = PATH.replace(":generate", ":streamGenerate");
const USER = { role: "user", parts: [{ text: "Say hello." }] };
const ask = (more: object = {}, path = PATH) => api.ask(path, { contents: [USER], ...more });
const refuses = (more: object, param: string) => api.refuses(PATH, { contents: [USER], ...more }, param);

/** Each value goes upstream as it is. */
async function passes(name: string, ...values: unknown[]): Promise<void> {
  for (const value of values) {
    const { status, sent } = await ask({ [name]: value });
    expect(status).toBe(200);
    expect(sent[name]).toMatchObject(value as object);
  }
}

async function refusesEach(name: string, ...values: unknown[]): Promise<void> {
  for (const value of values) await refuses({ [name]: value }, name);
}

describeTable(
  { heading: "POST /api/v1/models/{model}:generateContent", column: "Field" },
  {
    async contents() {
      await passes(
        "contents",
        [USER],
        [USER, { role: "model", parts: [{ text: "Hello.", thoughtSignature: "QUJDRA==" }] }, USER],
        [{ role: "user", parts: [{ inlineData: { mimeType: "image/png", data: "iVBORw0KGgo=" } }] }],
        [
          {
            role: "user",
            parts: [
              { fileData: { mimeType: "image/png", fileUri: "https://example.com/a.png" } },
              { fileData: { mimeType: "video/mp4", fileUri: "gs://bucket/a.mp4" } },
              { fileData: { mimeType: "video/mp4", fileUri: "https://www.youtube.com/watch?v=abc" } },
            ],
          },
        ],
      );
      await api.refuses(PATH, {}, "contents");
      await refusesEach("contents", "hi", [], [{ role: "nobody", parts: [{ text: "x" }] }]);
    },
    async systemInstruction() {
      await passes("systemInstruction", { parts: [{ text: "Be brief." }] });
      await refusesEach("systemInstruction", 5);
    },
    async generationConfig() {
      await passes(
        "generationConfig",
        { temperature: 0, maxOutputTokens: 100 },
        { temperature: 2, maxOutputTokens: 100, topP: 0.5, stopSequences: ["END"], seed: 7 },
        { maxOutputTokens: 100, responseModalities: ["TEXT"] },
        {
          maxOutputTokens: 100,
          responseMimeType: "application/json",
          responseJsonSchema: { type: "object" },
        },
      );
      await refuses({ generationConfig: { temperature: 2.1 } }, "temperature");
      await refuses({ generationConfig: { temperature: -0.1 } }, "temperature");
      await refuses({ generationConfig: { topP: 1.1 } }, "topP");
      await refuses({ generationConfig: { maxOutputTokens: 0 } }, "maxOutputTokens");
      await refuses({ generationConfig: { responseModalities: ["IMAGE"] } }, "image");
      await refusesEach("generationConfig", "hot");
    },
    async tools() {
      const parametersJsonSchema = { type: "object", properties: { city: { type: "string" } } };
      await passes("tools", [{ functionDeclarations: [{ name: "weather", parametersJsonSchema }] }]);
      await refusesEach("tools", "weather", [5]);
    },
  },
);

const PARTS = [
  { text: "hm", thought: true },
  { text: "Looking." },
  { functionCall: { id: "c1", name: "weather", args: { city: "Oslo" } }, thoughtSignature: "RVhBQ1QrLz0=" },
];
const FULL = {
  candidates: [{ content: { role: "model", parts: PARTS }, finishReason: "STOP", index: 0 }],
  usageMetadata: {
    promptTokenCount: 100,
    candidatesTokenCount: 40,
    thoughtsTokenCount: 10,
    totalTokenCount: 150,
  },
  modelVersion: "gemini-3.8-flash",
};

async function answered(): Promise<typeof FULL & { credit: number }> {
  api.double.handle(() => jsonAnswer(200, FULL));
  return (await ask()).json;
}

describeTable(
  { heading: "Generate-content response", column: "Field" },
  {
    candidates: async () => expect((await answered()).candidates).toEqual(FULL.candidates),
    usageMetadata: async () => expect((await answered()).usageMetadata).toEqual(FULL.usageMetadata),
    // 100 input tokens at 0.75 USD and 50 output tokens at 3.75 USD a million, at 10,000 credits a USD.
    credit: async () => expect((await answered()).credit).toBe(2.625),
  },
);

describe("Paths of generateContent", () => {
  const id = ["google/gemini-3.8-flash", "google%2Fgemini-3.8-flash", "google%2fgemini-3.8-flash"];
  const paths = [
    ...id.map((name) => `/api/v1/models/${name}:generateContent`),
    `/api/v1/models/${id[0]}%3AgenerateContent`,
    `/api/v1/v1/models/${id[0]}:generateContent`,
    `/api/v1/v1beta/models/${id[0]}:generateContent`,
    `/api/v1/${id[0]}:generateContent`,
  ];
  for (const path of paths) {
    test(path, async () => {
      const { status, json } = await ask({}, path);
      expect([status, json.candidates?.[0].content.parts[0].text]).toEqual([200, SAID]);
      expect(api.double.requests.at(-1)?.target).toBe("/v1beta/models/gemini-3.8-flash:generateContent");
    });
  }
});

describe("Streamed generateContent", () => {
  for (const path of [STREAM, `${STREAM}?alt=sse`]) {
    test(`data-only events; the last has the finish reason, usage and credit: ${path}`, async () => {
      const { text, headers, json } = await ask({}, path);
      expect(headers.get("content-type")).toStartWith("text/event-stream");
      expect(text).toMatch(/^(data: [^\n]+\n\n)+$/);
      const chunks = eventsOf(text).map(({ data }) => data);
      const parts = chunks.flatMap((chunk) => chunk.candidates[0].content.parts);
      expect(parts.map((part) => part.text).join("")).toBe(SAID);
      const ends = chunks.map((chunk) => "finishReason" in chunk.candidates[0] && "credit" in chunk);
      expect(ends).toEqual([...chunks.slice(1).map(() => false), true]);
      expect(chunks.at(-1)).toMatchObject({ usageMetadata: { totalTokenCount: 10 } });
      expect(chunks.at(-1)?.credit).toBe((await ask()).json.credit);
      expect(json).toBeUndefined();
    });
  }
});
