import { wireRequest } from "../../../test/protocols/wire-request.ts";
import { describe, expect, test } from "bun:test";
import { loadRecordings, type Recording, recordingsFor } from "../../../test/upstream/recordings.ts";
import { readRequest } from "./request.ts";

// oxlint-disable-next-line typescript/no-explicit-any -- wire data of a test
type Json = any;

interface Known {
  readonly path: string;
  readonly expected: number;
  readonly ceiling: number;
  readonly prompt: number;
}

/** Input that the provider adds by itself: no bound can be had from the request. */
const ADDED: readonly {
  readonly why: string;
  readonly matches: (recording: Recording, body: Json) => boolean;
}[] = [
  { why: "a search model reads what it found", matches: ({ model }) => /compound|sonar|search/.test(model) },
  { why: "harmony's preamble of gpt-oss", matches: ({ model }) => model.includes("gpt-oss") },
  {
    why: "Claude's own prompt for tools and schemas",
    matches: ({ model }, body) =>
      /claude/.test(model) && (body.tools !== undefined || body.response_format !== undefined),
  },
  { why: "DeepSeek's prompt for thinking", matches: ({ model }) => model.includes("deepseek-v4") },
  {
    why: "Llama 4's prompt for tools",
    matches: ({ model }, body) => model.includes("llama-4") && body.tools !== undefined,
  },
  {
    why: "a router that added to the prompt (687 tokens for 10)",
    matches: ({ path }) => path.includes("gemini-2.0-flash-exp-free--stream-reasoning-details"),
  },
];

/** An image of one pixel, and of nine by four. */
const PIXEL =
  "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4z8DwHwAFAAH/iZk9HQAAAABJRU5ErkJggg==";
const GIF = "data:image/gif;base64,R0lGODlhCQAEAAAAACwAAAAACQAEAAACAAA7";

function demandOf(messages: readonly unknown[]) {
  return readRequest(wireRequest({ model: "v/m", messages })).demand;
}

const image = (url: string, more: object = {}) => ({ type: "image_url", image_url: { url, ...more } });

test("kinds of answer that were not named are all that the model gives, for the hold", () => {
  const kinds = (more: object) =>
    readRequest(wireRequest({ model: "v/m", messages: [{ role: "user", content: "x" }], ...more })).demand
      .outputModalities;
  expect([kinds({}), kinds({ modalities: null }), kinds({ modalities: ["text"] })]).toEqual([
    undefined,
    undefined,
    ["text"],
  ]);
});

describe("images of a request", () => {
  test("are known by size and detail, wherever they stand", () => {
    const demand = demandOf([
      {
        role: "user",
        content: [
          { type: "text", text: "look" },
          image(PIXEL, { detail: "low" }),
          image("https://example.com/a.png", { detail: "high" }),
          { type: "input_audio", input_audio: { data: "AAAA", format: "wav" } },
        ],
      },
      { role: "assistant", content: "done", images: [image(GIF)] },
      { role: "tool", tool_call_id: "c", content: [image("data:image/avif;base64,AAAA", { detail: 3 })] },
    ]);
    expect(demand.images).toEqual([
      { size: { width: 1, height: 1 }, detail: "low" },
      { detail: "high" },
      { size: { width: 9, height: 4 } },
      {},
    ]);
    expect(demand.media).toEqual({ image: 4, audio: 1 });
    expect(demand.mediaBytes).toBe(4);
  });

  test("add nothing to the bound of the text but what stands around them", () => {
    const ceilingOf = (url: string) => demandOf([{ role: "user", content: [image(url)] }]).textTokens.ceiling;
    expect(ceilingOf(GIF + "A".repeat(100_000))).toBe(ceilingOf("data:image/gif;base64,AAAA"));
  });

  test("beyond the number that any vendor takes count as of unknown size", () => {
    const content = Array.from({ length: 1_501 }, () => image(GIF));
    const { images } = demandOf([{ role: "user", content }]);
    expect([images.length, images[1_499]?.size?.width, images[1_500]]).toEqual([1_501, 9, {}]);
  });
});

const isAvailable = recordingsFor("calibration of input");

function usageOf(body: unknown): Json {
  if (typeof body !== "string") return (body as Json)?.usage;
  const chunks = body
    .split("\n")
    .filter((line) => line.startsWith("data: {"))
    .map((line): Json => JSON.parse(line.slice(6)));
  return chunks
    .map((chunk) => chunk.usage ?? chunk.x_groq?.usage ?? chunk.choices?.[0]?.usage)
    .findLast((usage) => usage);
}

function knownInput(): { known: Known[]; added: Map<string, number>; unread: number } {
  const known: Known[] = [];
  const added = new Map<string, number>();
  let unread = 0;
  const all = [...loadRecordings("chat-completions"), ...loadRecordings("cross-protocol")];
  for (const recording of all) {
    const { path, protocol, request, response } = recording;
    const prompt = response.status === 200 ? usageOf(response.body)?.prompt_tokens : undefined;
    if (!(protocol.includes("chat") || path.includes("chat-completions")) || typeof prompt !== "number")
      continue;
    const body = request.body as Json;
    let demand;
    try {
      ({ demand } = readRequest(wireRequest(body as object)));
    } catch {
      unread += 1;
      continue;
    }
    if (Object.keys(demand.media).length > 0) continue;
    const why = ADDED.find(({ matches }) => matches(recording, body))?.why;
    if (why === undefined) known.push({ path, prompt, ...demand.textTokens });
    else added.set(why, (added.get(why) ?? 0) + 1);
  }
  return { known, added, unread };
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] as number;
}

describe.if(isAvailable)("input estimated beside recorded usage", () => {
  test("the ceiling is never below what the provider counted, where the request alone decides it", () => {
    const { known, added, unread } = knownInput();
    const guess = known.map(({ expected, prompt }) => expected / prompt);
    const bound = known.map(({ ceiling, prompt }) => ceiling / prompt);
    console.log(
      `input: ${known.length} recordings, expected/recorded median ${median(guess).toFixed(2)}, ceiling/recorded median ${median(bound).toFixed(2)}, least ${Math.min(...bound).toFixed(2)}; ${unread} without a readable request; left out: ${[...added].map(([why, n]) => `${n} × ${why}`).join("; ")}`,
    );
    expect(known.length).toBeGreaterThan(100);
    expect(known.filter(({ ceiling, prompt }) => ceiling < prompt)).toEqual([]);
    expect(median(guess)).toBeGreaterThan(0.5);
    expect(median(guess)).toBeLessThan(1.5);
  });
});

describe("what a model of another format would charge for", () => {
  const text = (control: unknown) => ({ type: "text", text: "hi", cache_control: control });
  const cases = [
    { name: "a part", messages: [{ role: "user", content: [text({ type: "ephemeral", ttl: "1h" })] }] },
    { name: "a message", messages: [{ role: "user", content: "hi", cache_control: { ttl: "1h" } }] },
  ];
  for (const { name, messages } of cases) {
    test(`a cache kept for an hour is held for: ${name}`, () => {
      expect(demandOf(messages).buckets).toEqual(["cache_write_1h"]);
    });
  }

  test("the usual five minutes are not", () => {
    expect(demandOf([{ role: "user", content: [text({ type: "ephemeral", ttl: "5m" })] }]).buckets).toEqual(
      [],
    );
  });

  const files = [
    { file: { file_data: "data:video/mp4;base64,AAAA" }, media: { video: 1 } },
    { file: { file_data: "https://example.com/video.MP4?x=1" }, media: { video: 1 } },
    { file: { file_data: "AAAA", filename: "sound.wav" }, media: { audio: 1 } },
    { file: { file_id: "file-1" }, media: { pdf: 1 } },
    { file: { file_data: "data:text/plain;base64,AAAA" }, media: { pdf: 1 } },
  ];
  for (const { file, media } of files) {
    test(`a file counts as what it is: ${JSON.stringify(file)}`, () => {
      expect(demandOf([{ role: "user", content: [{ type: "file", file }] }]).media).toEqual(media);
    });
  }
});
