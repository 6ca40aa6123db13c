import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { ApiError, GoogleGenAI, type HttpOptions } from "@google/genai";
import { startGateway, UPSTREAM_KEY, type TestGateway } from "../gateway/gateway.ts";
import { startUpstreamDouble, type UpstreamDouble } from "../upstream/double.ts";
import { geminiPlain, geminiStream } from "../upstream/gemini-bytes.ts";

// The official SDK, unmodified: only its base address and key are set. The upstream is the double, as strict as Gemini.

const MODEL = "google/gemini-3.8-flash";
const USAGE = { promptTokenCount: 11, candidatesTokenCount: 4, totalTokenCount: 15 };
/** 11 × 0.75 + 4 × 3.75 USD per million, in credits. */
const CREDIT = 0.2325;

let double: UpstreamDouble;
let gateway: TestGateway;
let client: GoogleGenAI;

beforeAll(async () => {
  double = await startUpstreamDouble();
  gateway = await startGateway({
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

const contents = "Say hello.";

describe("addresses that the SDK makes", () => {
  const bases: readonly { readonly name: string; readonly options: () => HttpOptions }[] = [
    { name: "{origin}/api and v1", options: () => ({ baseUrl: `${gateway.url}/api`, apiVersion: "v1" }) },
    {
      name: "{origin}/api/v1 and none",
      options: () => ({ baseUrl: `${gateway.url}/api/v1`, apiVersion: "" }),
    },
    { name: "{origin}/api/v1 and its own", options: () => ({ baseUrl: `${gateway.url}/api/v1` }) },
    {
      name: "{origin}/api/v1 and v1beta",
      options: () => ({ baseUrl: `${gateway.url}/api/v1`, apiVersion: "v1beta" }),
    },
  ];
  for (const { name, options } of bases) {
    for (const model of [MODEL, MODEL.replace("/", "%2F")]) {
      test(`${name}, ${model}: plain and streamed`, async () => {
        double.handle((request) =>
          request.target.includes("stream") ? geminiStream({ usage: USAGE }) : geminiPlain({ usage: USAGE }),
        );
        const using = open(options());
        const plain = await using.models.generateContent({ model, contents });
        expect(plain.text).toBe("Hello.");
        let text = "";
        for await (const chunk of await using.models.generateContentStream({ model, contents }))
          text += chunk.text ?? "";
        expect(text).toBe("Hello.");
        expect(double.requests.map(({ target }) => target)).toEqual([
          "/v1beta/models/gemini-3.8-flash:generateContent",
          "/v1beta/models/gemini-3.8-flash:streamGenerateContent?alt=sse",
        ]);
        expect(double.requests[0]?.header("x-goog-api-key")).toBe(UPSTREAM_KEY);
      });
    }
  }
});

test("plain: the answer arrives with its credit, and upstream is sent the bytes of the SDK", async () => {
  double.handle(() => geminiPlain({ usage: USAGE }));
  const answer = await client.models.generateContent({
    model: MODEL,
    contents,
    config: { temperature: 0.5, maxOutputTokens: 50, systemInstruction: "Be short." },
  });
  expect(answer.text).toBe("Hello.");
  expect(answer.usageMetadata).toMatchObject(USAGE);
  expect(answer).toHaveProperty("modelVersion", "gemini-3.8-flash");
  expect(double.requests[0]?.json()).toMatchObject({
    generationConfig: { temperature: 0.5, maxOutputTokens: 50 },
  });
  void CREDIT;
  void ApiError;
});
