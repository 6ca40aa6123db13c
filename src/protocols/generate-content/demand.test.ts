import { describe, expect, test } from "bun:test";
import { wireRequest } from "../../../test/protocols/wire-request.ts";
import { loadRecordings, type Recording, recordingsFor } from "../../../test/upstream/recordings.ts";
import { readRequest } from "./request.ts";

// oxlint-disable-next-line typescript/no-explicit-any -- wire data of a test
type Json = any;

const address = { model: "google/x", stream: false };
const demandOf = (body: object) => readRequest(wireRequest(body, { address })).demand;
const ask = (parts: readonly object[], more: object = {}) =>
  demandOf({ contents: [{ role: "user", parts }], ...more });

/** An image of nine by four. */
const GIF = "R0lGODlhCQAEAAAAACwAAAAACQAEAAACAAA7";

describe("media", () => {
  test("are known by type in both spellings, in turns, in the system's text and in a function's response", () => {
    const demand = demandOf({
      system_instruction: { parts: [{ inline_data: { mime_type: "image/gif", data: GIF } }] },
      contents: [
        {
          parts: [
            { inlineData: { mimeType: "audio/mp3", data: "AAAA" } },
            { inlineData: { mimeType: "application/pdf", data: "AAAAAAAA" } },
            { inlineData: { mimeType: "VIDEO/mp4", data: "AAAA" } },
            { fileData: { fileUri: "https://www.youtube.com/watch?v=1" } },
            { fileData: { mimeType: "image/png", fileUri: "gs://a/b.png" } },
            { fileData: { mimeType: "text/plain", fileUri: "https://example.com/a.txt" } },
            { inlineData: { mimeType: "text/plain", data: "AAAA" } },
            {
              function_response: {
                name: "f",
                response: {},
                parts: [{ inline_data: { mime_type: "image/png", data: "AAAA" } }],
              },
            },
          ],
        },
      ],
    });
    expect(demand.media).toEqual({ image: 3, audio: 1, pdf: 2, video: 2 });
    expect(demand.images).toEqual([{ size: { width: 9, height: 4 } }, {}, {}]);
    expect(demand.mediaBytes).toBe(16);
    expect(demand.buckets).toEqual(["audio_input"]);
  });

  test("add nothing to the bound of the text but what stands around them", () => {
    const ceiling = (data: string) =>
      ask([{ inlineData: { mimeType: "image/gif", data } }]).textTokens.ceiling;
    expect(ceiling(GIF + "A".repeat(100_000))).toBe(ceiling("AAAA"));
  });

  test("thoughts that go back in signatures are expected, an eighth of their characters", () => {
    const expected = (thoughtSignature?: string) =>
      ask([{ text: "a", thoughtSignature }]).textTokens.expected;
    expect(expected("A".repeat(800)) - expected()).toBe(100);
  });

  test("text in a field that nobody thought of is held for", () => {
    const more = { labels: { x: "y".repeat(10_000) } };
    expect(ask([{ text: "a" }], more).textTokens.ceiling).toBeGreaterThan(5_000);
    expect(ask([{ text: "a".repeat(4_000) }]).textTokens.expected).toBeGreaterThan(999);
  });
});

describe("output", () => {
  test("kinds are those asked for; without a word they are the model's", () => {
    expect(ask([{ text: "a" }]).outputModalities).toBeUndefined();
    expect(
      ask([{ text: "a" }], { generationConfig: { responseModalities: [] } }).outputModalities,
    ).toBeUndefined();
    const both = ask([{ text: "a" }], { generation_config: { response_modalities: ["TEXT", "IMAGE"] } });
    expect([both.outputModalities, both.buckets]).toEqual([["text", "image"], ["image_output"]]);
    const audio = ask([{ text: "a" }], { generationConfig: { responseModalities: ["AUDIO"] } });
    expect([audio.outputModalities, audio.buckets]).toEqual([["audio"], ["audio_output"]]);
  });

  test("its bound and the number of candidates", () => {
    const demand = ask([{ text: "a" }], { generationConfig: { maxOutputTokens: 7, candidate_count: 3 } });
    expect([demand.maxOutputTokens, demand.choices]).toEqual([7, 3]);
    expect(ask([{ text: "a" }])).not.toHaveProperty("maxOutputTokens");
  });
});

describe("what the body does not show", () => {
  test("searches have a bound and a price", () => {
    for (const tool of [{ googleSearch: {} }, { google_search: {} }, { googleSearchRetrieval: {} }]) {
      const { webSearches, buckets } = ask([{ text: "a" }], { tools: [tool] });
      expect([webSearches, buckets]).toEqual([10, ["web_search"]]);
    }
  });

  test("a cache, and tools that read on the provider's side, are held as all that fits", () => {
    const unseen = [
      { cachedContent: "cachedContents/1" },
      { cached_content: "cachedContents/1" },
      { tools: [{ urlContext: {} }] },
      { tools: [{ url_context: {} }] },
    ];
    for (const more of unseen)
      expect(ask([{ text: "a" }], more).textTokens.ceiling).toBeGreaterThanOrEqual(100_000_000);
    for (const tool of [{ fileSearch: {} }, { code_execution: {} }])
      expect(ask([{ text: "a" }], { tools: [tool] }).textTokens.ceiling).toBeWithin(100_000, 102_000);
    expect(
      ask([{ text: "a" }], { tools: [{ functionDeclarations: [{ name: "f" }] }] }).textTokens.ceiling,
    ).toBeLessThan(2_000);
  });
});

const isAvailable = recordingsFor("calibration of generateContent");

function usageOf(body: unknown): Json {
  if (typeof body !== "string") return (body as Json)?.usageMetadata;
  return body
    .split("\n")
    .filter((line) => line.startsWith("data: {"))
    .map((line): Json => JSON.parse(line.slice(6)).usageMetadata)
    .findLast((usage) => usage);
}

/** Input that the request alone does not decide. */
const ADDED: readonly {
  readonly why: string;
  readonly matches: (body: Json, recording: Recording) => boolean;
}[] = [{ why: "a cache", matches: (body) => body.cachedContent !== undefined }];

describe.if(isAvailable)("input estimated beside recorded usage", () => {
  test("the ceiling is never below what the provider counted, where the request alone decides it", () => {
    const known: { path: string; prompt: number; expected: number; ceiling: number }[] = [];
    const unread: string[] = [];
    let left = 0;
    for (const recording of [...loadRecordings("generate-content"), ...loadRecordings("cross-protocol")]) {
      const { path, request, response } = recording;
      const prompt = response.status === 200 ? usageOf(response.body)?.promptTokenCount : undefined;
      if (
        !/enerateContent/.test(request.url) ||
        typeof prompt !== "number" ||
        typeof request.body !== "object" ||
        request.body === null
      )
        continue;
      let demand;
      try {
        demand = demandOf(request.body);
      } catch (error) {
        unread.push(`${path}: ${(error as Error).message}`);
        continue;
      }
      const body = request.body as Json;
      if (Object.keys(demand.media).length > 0 || ADDED.some(({ matches }) => matches(body, recording)))
        left += 1;
      else known.push({ path, prompt, ...demand.textTokens });
    }
    const median = (values: number[]): number =>
      values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] as number;
    const guess = median(known.map(({ expected, prompt }) => expected / prompt));
    const bound = known.map(({ ceiling, prompt }) => ceiling / prompt);
    console.log(
      `generateContent: ${known.length} recordings, expected/recorded median ${guess.toFixed(2)}, least ceiling/recorded ${Math.min(...bound).toFixed(2)}; ${left} with media or a cache; ${unread.length} not read`,
    );
    expect(unread).toEqual([]);
    expect(known.length).toBeGreaterThan(100);
    expect(known.filter(({ ceiling, prompt }) => ceiling < prompt)).toEqual([]);
    expect(guess).toBeGreaterThan(0.5);
    expect(guess).toBeLessThan(1.5);
  });
});
