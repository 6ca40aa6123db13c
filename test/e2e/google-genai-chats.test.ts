import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import { type CallableTool, GoogleGenAI } from "@google/genai";
import { startGateway, type Json, type TestGateway, UPSTREAM_KEY } from "../gateway/gateway.ts";
import { startUpstreamDouble, type UpstreamDouble } from "../upstream/double.ts";
import { type GeminiForm, geminiPlain, geminiStream } from "../upstream/gemini-bytes.ts";
import { strict, USAGE } from "./genai-asked.ts";

// Turns that the official SDK makes by itself of what came before: the history of a chat, and calls that it answers.

const SIGNATURE = "EsQBCsEBAdHtim9zaWduYXR1cmU=";
const IMAGE = {
  inlineData: { mimeType: "image/gif", data: "R0lGODlhAQABAAAAACw=" },
  thoughtSignature: SIGNATURE,
};

let double: UpstreamDouble;
let gateway: TestGateway;
let client: GoogleGenAI;

beforeAll(async () => {
  double = await startUpstreamDouble();
  gateway = await startGateway({
    environment: { GEMINI_API_KEY: UPSTREAM_KEY, GEMINI_BASE_URL: double.url },
  });
  client = new GoogleGenAI({ apiKey: gateway.key, httpOptions: { baseUrl: `${gateway.url}/api` } });
});
afterAll(async () => {
  await gateway.close();
  await double.close();
});
beforeEach(() => double.reset());

/** Answers the turns of a conversation one after another, plain or streamed as they are asked. */
function answerInTurn(...forms: readonly GeminiForm[]): void {
  double.handle((request) => {
    const form = forms[double.requests.length - 1] as GeminiForm;
    return strict(request) ?? (request.target.includes(":stream") ? geminiStream(form) : geminiPlain(form));
  });
}

/** The turns of the last request. */
const lastTurns = (): Json[] => (double.requests.at(-1)?.json() as Json)?.contents ?? [];

/** The parts of the model's turn, as the last request had them. */
function partsSentBack(): Json[] {
  return lastTurns()
    .filter(({ role }: Json) => role === "model")
    .flatMap(({ parts }: Json) => parts);
}

for (const streamed of [false, true]) {
  test(`an image of a chat goes back whole in its next turn${streamed ? ", streamed" : ""}`, async () => {
    const usage = { ...USAGE, candidatesTokensDetails: [{ modality: "IMAGE", tokenCount: 4 }] };
    answerInTurn({ parts: ["Here.", IMAGE], usage }, { parts: ["Bluer."], usage: USAGE });
    const chat = client.chats.create({ model: "google/gemini-3-pro-image" });
    for (const message of ["Draw.", "Make it bluer."]) {
      if (!streamed) await chat.sendMessage({ message });
      else for await (const chunk of await chat.sendMessageStream({ message })) void chunk;
    }
    expect(double.requests.length).toBe(2);
    expect(partsSentBack()).toContainEqual(IMAGE);
  });
}

test("parallel calls that the SDK answers by itself go back with their signature and their ids", async () => {
  const calls = [
    { functionCall: { id: "c1", name: "weather", args: { city: "Oslo" } }, thoughtSignature: SIGNATURE },
    { functionCall: { id: "c2", name: "weather", args: { city: "Rome" } } },
  ];
  answerInTurn({ parts: calls, usage: USAGE }, { parts: ["Cold and warm."], usage: USAGE });
  const weather: CallableTool = {
    tool: async () => ({
      functionDeclarations: [{ name: "weather", parametersJsonSchema: { type: "object" } }],
    }),
    callTool: async (asked) =>
      asked.map(({ id, name, args }) => ({
        functionResponse: { id: id ?? "", name: name ?? "", response: { of: args?.city } },
      })),
  };
  const response = await client.models.generateContent({
    model: "google/gemini-3.8-flash",
    contents: "Where is it warm?",
    config: { tools: [weather] },
  });
  expect(response.text).toBe("Cold and warm.");
  expect(partsSentBack()).toEqual(calls);
  expect(lastTurns().at(-1).parts).toEqual([
    { functionResponse: { id: "c1", name: "weather", response: { of: "Oslo" } } },
    { functionResponse: { id: "c2", name: "weather", response: { of: "Rome" } } },
  ]);
});
