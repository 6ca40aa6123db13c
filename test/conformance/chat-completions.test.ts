import { describe, expect, test } from "bun:test";
import { jsonAnswer } from "../upstream/answer.ts";
import { ANY_MODEL, eventsOf, openInterface } from "./interface.ts";
import { describeTable } from "./spec-tables.ts";
import { SAID } from "./upstream-answers.ts";

const api = openInterface();
const PATH = "/api/v1/chat/completions";
const USER = { role: "user", content: "Say hello." };
const body = (more: object = {}): object => ({ model: ANY_MODEL, messages: [USER], ...more });
const ask = (more: object = {}) => api.ask(PATH, body(more));
const refuses = (more: object, param: string) => api.refuses(PATH, body(more), param);

/** Each value goes upstream as it is. */
async function passes(name: string, ...values: unknown[]): Promise<void> {
  for (const value of values) {
    const { status, sent, headers } = await ask({ [name]: value });
    expect(status).toBe(200);
    expect(sent[name]).toEqual(value);
    expect(headers.get("warning")).toBeNull();
  }
}

async function refusesEach(name: string, ...values: unknown[]): Promise<void> {
  for (const value of values) await refuses({ [name]: value }, name);
}

const SIGNED = { type: "thinking", thinking: "hm", signature: "RVhBQ1QrLz0=" };
const IMAGE = "data:image/png;thought_signature=QUJD;base64,iVBORw0KGgo=";

describeTable(
  { heading: "POST /api/v1/chat/completions", column: "Field" },
  {
    async model() {
      expect((await ask()).sent.model).toBe("up");
      await api.refuses(PATH, { messages: [USER] }, "model");
      await refusesEach("model", "nobody/nothing", 5, "");
    },
    async messages() {
      expect((await ask()).sent.messages).toEqual([USER]);
      await api.refuses(PATH, { model: ANY_MODEL }, "messages");
      await refusesEach("messages", [], "hi", [{ role: "user" }], [{ role: "nobody", content: "x" }]);
    },
    async stream() {
      const plain = await ask();
      expect(plain.headers.get("content-type")).toStartWith("application/json");
      expect(plain.sent.stream).toBeUndefined();
      const streamed = await ask({ stream: true });
      expect(streamed.headers.get("content-type")).toStartWith("text/event-stream");
      expect((await ask({ stream: false })).json.object).toBe("chat.completion");
      await refusesEach("stream", "yes", 1);
    },
    async stream_options() {
      const { sent } = await ask({ stream: true, stream_options: { include_usage: false, other: 1 } });
      expect(sent.stream_options).toEqual({ include_usage: true, other: 1 });
      await refusesEach("stream_options", "all");
    },
    async temperature() {
      await passes("temperature", 0, 0.7, 2);
      await refusesEach("temperature", -0.1, 2.1, "1");
    },
    async max_completion_tokens() {
      const { sent } = await ask({ max_completion_tokens: 50 });
      expect(sent.max_tokens).toBe(50);
      await refusesEach("max_completion_tokens", 0, -1, 1.5, "5");
    },
    async max_tokens() {
      await passes("max_tokens", 50);
      expect((await ask({ max_tokens: 60, max_completion_tokens: 50 })).sent).toMatchObject({
        max_tokens: 50,
      });
      await refusesEach("max_tokens", 0, 1.5, "5");
    },
    async top_p() {
      await passes("top_p", 0, 0.5, 1);
      await refusesEach("top_p", -0.1, 1.1, "1");
    },
    async stop() {
      await passes("stop", "END", ["a", "b"]);
      await refusesEach("stop", 5, [5]);
    },
    async presence_penalty() {
      await passes("presence_penalty", -2, 0.5);
      await refusesEach("presence_penalty", "high");
    },
    async frequency_penalty() {
      await passes("frequency_penalty", -2, 0.5);
      await refusesEach("frequency_penalty", "high");
    },
    async tools() {
      const parameters = { type: "object", properties: { city: { type: "string" } } };
      await passes("tools", [{ type: "function", function: { name: "weather", parameters } }]);
      await refusesEach("tools", "weather", [{ type: "function" }]);
    },
    async tool_choice() {
      const tools = [{ type: "function", function: { name: "f" } }];
      for (const tool_choice of ["none", "auto", "required", { type: "function", function: { name: "f" } }])
        expect((await ask({ tools, tool_choice })).sent.tool_choice).toEqual(tool_choice);
      await refusesEach("tool_choice", "maybe", 5);
    },
    async reasoning() {
      await passes("reasoning", { effort: "high" });
      await refusesEach("reasoning", "high");
    },
    async thinking() {
      await passes("thinking", { type: "enabled", budget_tokens: 2_000 });
      await refusesEach("thinking", "on", { type: "maybe" });
    },
    async modalities() {
      await passes("modalities", ["text"], ["text", "image"], ["image"]);
      await refusesEach("modalities", "image", ["smell"], []);
      await refuses({ modalities: ["text", "image"], stream: true }, "stream");
      await api.refuses(
        PATH,
        { model: "deepseek/deepseek-v4-pro", messages: [USER], modalities: ["image"] },
        "image",
      );
    },
    async image_config() {
      await passes("image_config", { aspect_ratio: "16:9", image_size: "2K" });
      await refusesEach("image_config", "large");
    },
  },
);

/** A message goes upstream as it is. */
async function carries(...messages: object[]): Promise<void> {
  const { status, sent } = await ask({ messages });
  expect(status).toBe(200);
  expect(sent.messages).toEqual(messages);
}

describeTable(
  { heading: "Chat message (chat completions request)", column: "Field" },
  {
    async role() {
      await carries(
        { role: "system", content: "Be brief." },
        USER,
        {
          role: "assistant",
          content: null,
          tool_calls: [{ id: "c1", type: "function", function: { name: "f", arguments: "{}" } }],
        },
        { role: "tool", tool_call_id: "c1", content: "4" },
      );
    },
    async content() {
      await carries({
        role: "user",
        content: [
          { type: "text", text: "What is this?" },
          { type: "image_url", image_url: { url: "https://example.com/a.png" } },
          { type: "video_url", video_url: { url: "https://example.com/a.mp4" } },
          { type: "audio_url", audio_url: { url: "data:audio/wav;base64,UklGRg==" } },
        ],
      });
      await refuses({ messages: [{ role: "user", content: [{ type: "image_url" }] }] }, "image_url");
      await refuses({ messages: [{ role: "user", content: [{ type: "text" }] }] }, "text");
      await refuses({ messages: [{ role: "user", content: 5 }] }, "content");
    },
    reasoning_details: () =>
      carries(USER, { role: "assistant", content: "4", reasoning_details: [SIGNED] }, USER),
    images: () =>
      carries(
        USER,
        {
          role: "assistant",
          content: "Here.",
          images: [{ type: "image_url", image_url: { url: IMAGE } }],
        },
        USER,
      ),
  },
);

const FULL = {
  id: "chatcmpl-9",
  object: "chat.completion",
  created: 1_700_000_000,
  model: "up",
  choices: [
    {
      index: 0,
      message: {
        role: "assistant",
        content: "See.",
        images: [{ type: "image_url", image_url: { url: IMAGE } }],
        reasoning_details: [SIGNED],
      },
      finish_reason: "stop",
    },
  ],
  usage: { prompt_tokens: 100, completion_tokens: 50, total_tokens: 150 },
};

async function answered(): Promise<typeof FULL & { credit: number }> {
  api.double.handle(() => jsonAnswer(200, FULL));
  return (await ask()).json;
}

describeTable(
  { heading: "Chat completion response", column: "Field" },
  {
    id: async () => expect((await answered()).id).toBe(FULL.id),
    object: async () => expect((await answered()).object).toBe("chat.completion"),
    created: async () => expect((await answered()).created).toBe(FULL.created),
    model: async () => expect((await answered()).model).toBe(ANY_MODEL),
    choices: async () => expect((await answered()).choices).toEqual(FULL.choices),
    "choices[].message.role": async () =>
      expect((await answered()).choices[0]?.message.role).toBe("assistant"),
    "choices[].message.content": async () =>
      expect((await answered()).choices[0]?.message.content).toBe("See."),
    "choices[].message.images": async () =>
      expect((await answered()).choices[0]?.message.images[0]?.image_url.url).toBe(IMAGE),
    "choices[].message.reasoning_details": async () =>
      expect((await answered()).choices[0]?.message.reasoning_details).toEqual([SIGNED]),
    async "choices[].finish_reason"() {
      for (const finish_reason of ["stop", "length", "content_filter", "tool_calls", "error"]) {
        api.double.handle(() =>
          jsonAnswer(200, { ...FULL, choices: [{ ...FULL.choices[0], finish_reason }] }),
        );
        expect((await ask()).json.choices[0].finish_reason).toBe(finish_reason);
      }
    },
    usage: async () => expect((await answered()).usage).toEqual(FULL.usage),
    // 100 input tokens at 1 USD and 50 output tokens at 2 USD a million, at 10,000 credits a USD.
    credit: async () => expect((await answered()).credit).toBe(2),
  },
);

describe("Chat completions stream", () => {
  test("content chunks, the usage chunk, the credit chunk, [DONE], in this order", async () => {
    const events = eventsOf((await ask({ stream: true })).text).map(({ data }) => data);
    const [usage, credit, done] = events.slice(-3);
    const content = events.slice(0, -3);
    expect(content.map((chunk) => chunk.choices[0].delta.content ?? "").join("")).toBe(SAID);
    expect(
      content.every((chunk) => typeof chunk.id === "string" && "finish_reason" in chunk.choices[0]),
    ).toBe(true);
    expect(usage).toMatchObject({ choices: [], usage: { prompt_tokens: 7, completion_tokens: 3 } });
    expect(credit).toMatchObject({ choices: [], usage: usage.usage, credit: 0.13 });
    expect(done).toBe("[DONE]");
  });

  test("each event is one data line and a blank line", async () => {
    const { text } = await ask({ stream: true });
    expect(text).toMatch(/^(data: [^\n]+\n\n)+$/);
  });

  test("the stream and the plain answer cost the same", async () => {
    const plain = (await ask()).json.credit;
    expect(eventsOf((await ask({ stream: true })).text).at(-2)?.data.credit).toBe(plain);
  });
});

describe("Multi-turn continuity", () => {
  test("an image data URI goes back byte for byte, its MIME parameters included", async () => {
    const turn = {
      role: "assistant",
      content: "",
      images: [{ type: "image_url", image_url: { url: IMAGE } }],
    };
    await api.gateway.post(PATH, body({ messages: [USER, turn, USER] }));
    expect(api.double.requests.at(-1)?.bodyText).toContain(JSON.stringify(IMAGE));
  });

  test("signed reasoning_details go back unchanged", async () => {
    const turn = { role: "assistant", content: "x", reasoning_details: [SIGNED] };
    await api.gateway.post(PATH, body({ messages: [USER, turn, USER] }));
    expect(api.double.requests.at(-1)?.bodyText).toContain(JSON.stringify([SIGNED]));
  });
});
