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

/** A text of 4 000 characters: some thousand tokens. */
const LONG = "word ".repeat(800);

const requestDemand = (body: object) => readRequest(wireRequest({ model: "v/m", ...body })).demand;
const said = (content: unknown, more: object = {}) => ({ role: "user", content, ...more });
const answered = (more: object) => ({ role: "assistant", content: "", ...more });

describe("the guess and the bound of a request's text", () => {
  const bodyOf = (body: object): number => JSON.stringify({ model: "v/m", ...body }).length;

  test("begin with what stands around the whole and around each message", () => {
    for (const messages of [[said("")], [said(""), answered({}), said("")]]) {
      const { textTokens } = requestDemand({ messages });
      const bytes = Math.ceil(bodyOf({ messages }) / 2);
      expect(textTokens).toEqual({
        expected: 3 + 4 * messages.length,
        ceiling: bytes + 96 + 12 * messages.length,
      });
    }
  });

  test("have something for each tool, and the bound something for there being any", () => {
    const tool = { type: "function", function: { name: "f", parameters: {} } };
    const ofTools = (tools: readonly object[]) => {
      const body = { messages: [said("")], tools };
      const { textTokens } = requestDemand(body);
      return textTokens.ceiling - Math.ceil(bodyOf(body) / 2) - 96 - 12;
    };
    expect([ofTools([]), ofTools([tool]), ofTools([tool, tool, tool])]).toEqual([0, 800, 1_200]);
  });

  const read: readonly (readonly [name: string, message: object])[] = [
    ["content", said(LONG)],
    ["a part of text", said([{ type: "text", text: LONG }])],
    ["a part of a refusal", answered({ content: [{ type: "refusal", refusal: LONG }] })],
    [
      "a call of a tool",
      answered({
        content: null,
        tool_calls: [{ id: "c", type: "function", function: { name: "f", arguments: LONG } }],
      }),
    ],
    ["a call in the old form", answered({ function_call: { name: "f", arguments: LONG } })],
    ["thinking", answered({ reasoning_details: [{ type: "reasoning.text", thinking: LONG }] })],
    ["reasoning_content", answered({ reasoning_content: LONG })],
    ["reasoning", answered({ reasoning: LONG })],
    ["refusal", answered({ refusal: LONG })],
    ["name", said("", { name: LONG })],
  ];
  for (const [name, message] of read)
    test(`have the text of ${name}`, () => {
      const { expected } = requestDemand({ messages: [message] }).textTokens;
      expect(expected).toBeGreaterThan(800);
      expect(expected).toBeLessThan(1_300);
    });
});

test("one answer is asked for where none says how many, and the newer name of the limit goes first", () => {
  const messages = [said("x")];
  const asked = (more: object) => {
    const { choices, maxOutputTokens } = requestDemand({ messages, ...more });
    return [choices, maxOutputTokens];
  };
  expect(asked({})).toEqual([1, undefined]);
  expect(asked({ n: 3, max_tokens: 5 })).toEqual([3, 5]);
  expect(asked({ max_tokens: 5, max_completion_tokens: 6 })).toEqual([1, 6]);
});

test("what a provider stores is told from what the request holds", () => {
  const isStored = (message: object) =>
    requestDemand({ messages: [message, said("x")] }).namesStored === true;
  expect(isStored(answered({ audio: { id: "audio_1" } }))).toBe(true);
  expect(isStored(said([{ type: "file", file: { file_id: "file-1" } }]))).toBe(true);
  for (const message of [
    answered({ content: "hi" }),
    answered({ content: "hi", audio: null }),
    said([{ type: "file", file: { file_data: "AAAA" } }]),
  ])
    expect(isStored(message)).toBe(false);
});

test("video, audio and documents are counted by their kind, with the bytes that stand in the request", () => {
  const mediaOf = (part: object) => {
    const { media, mediaBytes } = demandOf([said([{ type: "text", text: "x" }, part])]);
    return [media, mediaBytes];
  };
  const data = "data:video/mp4;base64,AAAA";
  const video = (url: string) => ({ type: "video_url", video_url: { url } });
  expect(mediaOf(video("https://example.com/a.mp4"))).toEqual([{ video: 1 }, 0]);
  expect(mediaOf(video(data))).toEqual([{ video: 1 }, data.length]);
  const sound = "data:audio/wav;base64,AAAA";
  const audio = (url: string) => ({ type: "audio_url", audio_url: { url } });
  expect(mediaOf(audio("https://example.com/a.wav"))).toEqual([{ audio: 1 }, 0]);
  expect(mediaOf(audio(sound))).toEqual([{ audio: 1 }, sound.length]);
  expect(mediaOf({ type: "document_url", document_url: "https://example.com/a.pdf" })).toEqual([
    { pdf: 1 },
    0,
  ]);
  expect(mediaOf({ type: "their_own", their_own: "x" })).toEqual([{}, 0]);
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

  test("a cache kept for an hour is held for: a tool, whose parameters are its own words", () => {
    const bucketsOf = (tool: object) =>
      requestDemand({ messages: [said("hi")], tools: [{ type: "function", ...tool }] }).buckets;
    const marked = { cache_control: { ttl: "1h" } };
    expect(bucketsOf({ function: { name: "f", ...marked } })).toEqual(["cache_write_1h"]);
    expect(bucketsOf({ function: { name: "f" }, ...marked })).toEqual(["cache_write_1h"]);
    expect(bucketsOf({ function: { name: "f", parameters: marked } })).toEqual([]);
  });

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
