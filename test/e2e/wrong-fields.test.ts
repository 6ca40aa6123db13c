import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Json } from "../gateway/gateway.ts";
import { startTaskStation, type TaskStation, WAITING } from "./task-station.ts";

// Fields under the names that other interfaces have for them: each is told the right one.

let station: TaskStation;
beforeAll(async () => {
  station = await startTaskStation();
});
afterAll(() => station.gateway.close());

const turn = { role: "user", content: "Say hello." };
const CHAT = "/api/v1/chat/completions";
const MESSAGES = "/api/v1/messages";
const GENERATE = "/api/v1/models/google/gemini-3.8-flash:generateContent";
const IMAGES = "/api/v1/images/generations";
const VIDEOS = "/api/v1/videos";

/** A good request of each endpoint. */
const GOOD: Readonly<Record<string, object>> = {
  [CHAT]: { model: "openai/gpt-5.6-luna", messages: [turn] },
  [MESSAGES]: { model: "anthropic/claude-haiku-4.5", max_tokens: 16, messages: [turn] },
  [GENERATE]: { contents: [{ parts: [{ text: "Say hello." }] }] },
  [IMAGES]: { model: "alibaba/qwen-image-2.0", prompt: "A fox.", async: true },
  [VIDEOS]: { model: "bytedance/seedance-2.0-fast", prompt: "Waves.", resolution: "480p" },
};

async function send(path: string, body: object) {
  const headers = path === IMAGES || path === VIDEOS ? WAITING : {};
  const response = await station.gateway.post(path, body, { headers });
  const json = (await response.json()) as Json;
  return { status: response.status, warning: response.headers.get("warning"), error: json.error };
}

/** By endpoint, wrong names and what each is told. */
const WRONG: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  [CHAT]: {
    prompt: "messages",
    input: "messages",
    system: "a message of the role system",
    max_output_tokens: "max_completion_tokens",
    maxOutputTokens: "max_completion_tokens",
    maxTokens: "max_tokens",
    topP: "top_p",
    stop_sequences: "stop",
    responseFormat: "response_format",
    candidateCount: "n",
    generationConfig: "its members, each by itself",
  },
  [MESSAGES]: {
    prompt: "messages",
    max_completion_tokens: "max_tokens",
    stop: "stop_sequences",
    functions: "tools",
    function_call: "tool_choice",
    response_format: "output_config.format",
    reasoning_effort: "output_config.effort",
    user: "metadata.user_id",
    systemInstruction: "system",
  },
  [GENERATE]: {
    messages: "contents",
    prompt: "contents",
    temperature: "generationConfig.temperature",
    top_p: "generationConfig.topP",
    maxOutputTokens: "generationConfig.maxOutputTokens",
    max_tokens: "generationConfig.maxOutputTokens",
    stop: "generationConfig.stopSequences",
    config: "generationConfig",
    system: "systemInstruction",
    tool_choice: "toolConfig",
    functions: "tools",
    response_format: "generationConfig.responseMimeType",
  },
};

for (const path of [CHAT, MESSAGES, GENERATE, IMAGES, VIDEOS]) {
  const names = WRONG[path] ?? {};
  describe(path, () => {
    for (const [name, right] of Object.entries(names)) {
      test(`names ${right} where ${name} is sent, which is left out`, async () => {
        const { status, warning } = await send(path, { ...GOOD[path], [name]: "x" });
        expect(status).toBeLessThan(300);
        expect(warning).toContain(`${name} was left out: it is not a field of `);
        expect(warning).toContain(`, did you mean ${right}?`);
      });
    }

    test("says nothing of what leads nowhere", async () => {
      const { warning } = await send(path, { ...GOOD[path], guidance_scale: 1 });
      expect(warning).toContain("guidance_scale was left out: it is not a field of ");
      expect(warning).not.toContain("did you mean");
    });
  });
}

/** As above, of what is paid by the piece: without the field that is meant another piece would be made. */
const WRONG_WORK: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  [IMAGES]: {
    width: "size",
    height: "size",
    num_images: "n",
    numImages: "n",
    image_url: "image",
    aspectRatio: "aspect_ratio",
    format: "output_format",
  },
  [VIDEOS]: {
    seconds: "duration",
    duration_seconds: "duration",
    image: "frame_images",
    image_url: "frame_images",
    size: "resolution and aspect_ratio",
    ratio: "aspect_ratio",
    negativePrompt: "negative_prompt",
    video_url: "reference_videos",
  },
};

for (const [path, names] of Object.entries(WRONG_WORK)) {
  describe(`${path}, where nothing else is made in its place,`, () => {
    const makes = path === IMAGES ? "images" : "videos";
    for (const [name, right] of Object.entries(names)) {
      test(`refuses ${name}, names ${right}, and charges nothing`, async () => {
        const { status, error } = await send(path, { ...GOOD[path], [name]: "x" });
        const message = `${name} is not a field of requests for ${makes}: send ${right}.`;
        expect([status, error]).toEqual([400, expect.objectContaining({ message, param: name })]);
      });
    }
  });
}

test("of a field that is sent under both names, the wrong one is left out with a warning", async () => {
  const image = await send(IMAGES, { ...GOOD[IMAGES], num_images: 4, n: 1 });
  const video = await send(VIDEOS, { ...GOOD[VIDEOS], seconds: 15, duration: 5 });
  expect([image.status, video.status]).toEqual([202, 202]);
  expect(image.warning).toContain("num_images was left out: it is not a field of requests for images");
  expect(video.warning).toContain("seconds was left out: it is not a field of requests for videos");
});

test("a frame whose place is named otherwise is refused likewise, not taken for the first", async () => {
  const last = { image_url: "https://files.example/a.png", role: "last_frame" };
  const { status, error } = await send(VIDEOS, { ...GOOD[VIDEOS], frame_images: [last] });
  expect([status, error.param]).toEqual([400, "frame_images[0].role"]);
  expect(error.message).toBe("frame_images[0].role is not a field of requests for videos: send frame_type.");
});

test("fields within generationConfig are told likewise, and those that belong beside it", async () => {
  const generationConfig = { max_tokens: 9, stop: ["x"], system_instruction: "x", MAX_OUTPUT_TOKENS: 9 };
  const { status, warning } = await send(GENERATE, { ...GOOD[GENERATE], generationConfig });
  expect(status).toBe(200);
  for (const [name, right] of [
    ["max_tokens", "maxOutputTokens"],
    ["stop", "stopSequences"],
    ["system_instruction", "systemInstruction, beside generationConfig"],
    ["MAX_OUTPUT_TOKENS", "maxOutputTokens"],
  ])
    expect(warning).toContain(
      `generationConfig.${name} was left out: it is not a field of generateContent, did you mean ${right}?`,
    );
});

describe("a field that is missing is a 400 that says under which name it was sent", () => {
  const cases: readonly [path: string, wrong: string, right: string][] = [
    [CHAT, "prompt", "messages"],
    [CHAT, "input", "messages"],
    [CHAT, "engine", "model"],
    [MESSAGES, "prompt", "messages"],
    [MESSAGES, "max_completion_tokens", "max_tokens"],
    [GENERATE, "messages", "contents"],
    [IMAGES, "text", "prompt"],
    [VIDEOS, "input", "prompt"],
  ];
  for (const [path, wrong, right] of cases) {
    test(`${right} of ${path} as ${wrong}`, async () => {
      const { [right]: value, ...rest } = GOOD[path] as Readonly<Record<string, unknown>>;
      const { status, error } = await send(path, { ...rest, [wrong]: value });
      expect([status, error.type]).toEqual([400, "invalid_request_error"]);
      expect(error.message).toBe(`${right} is required. What was sent as ${wrong} belongs there.`);
      expect(JSON.stringify(error)).toContain(`"${right}"`);
    });
  }
});

describe("functions of chat completions, where the model's provider has none", () => {
  const functions = [{ name: "f", parameters: { type: "object" } }];
  // By translation, and by a provider of the format.
  for (const model of ["anthropic/claude-haiku-4.5", "google/gemini-3.8-flash"]) {
    test(`are a 400 that names tools, and function_call one that names tool_choice: ${model}`, async () => {
      const refused = async (more: object) => (await send(CHAT, { model, messages: [turn], ...more })).error;
      expect(await refused({ functions })).toMatchObject({
        param: "functions",
        message: expect.stringContaining("use tools."),
      });
      expect(await refused({ function_call: { name: "f" } })).toMatchObject({
        param: "function_call",
        message: expect.stringContaining("use tool_choice."),
      });
    });
  }
});
