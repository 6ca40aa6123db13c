import { describe, expect, test } from "bun:test";
import { jsonAnswer } from "../upstream/answer.ts";
import { eventsOf, openInterface } from "./interface.ts";
import { describeTable } from "./spec-tables.ts";
import { SAID } from "./upstream-answers.ts";

const api = openInterface();
const PATH = "/api/v1/messages";
/** Takes sampling parameters and a thinking budget, which the newer models do not. */
const MODEL = "anthropic/claude-haiku-4.5";
const USER = { role: "user", content: "Say hello." };
const BODY = { model: MODEL, max_tokens: 4_000, messages: [USER] };
const ask = (more: object = {}) => api.ask(PATH, { ...BODY, ...more });
const refuses = (more: object, param: string) => api.refuses(PATH, { ...BODY, ...more }, param);

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

const TOOL = {
  name: "weather",
  description: "Tells the weather.",
  input_schema: { type: "object", properties: { city: { type: "string" } } },
};

describeTable(
  { heading: "POST /api/v1/messages", column: "Field" },
  {
    async model() {
      expect((await ask()).sent.model).toBe("claude-haiku-4-5");
      const { model: _, ...rest } = BODY;
      await api.refuses(PATH, rest, "model");
      await refusesEach("model", "nobody/nothing", 5);
      await refuses({ model: "openai/gpt-image-2" }, "It is served at /api/v1/images/generations.");
    },
    async max_tokens() {
      await passes("max_tokens", 1, 500);
      const { max_tokens: _, ...rest } = BODY;
      await api.refuses(PATH, rest, "max_tokens");
      await refusesEach("max_tokens", -1, 1.5, "5", null);
    },
    async messages() {
      const turns = [
        USER,
        { role: "assistant", content: [{ type: "text", text: "Hello." }] },
        { role: "user", content: [{ type: "text", text: "And again." }] },
      ];
      await passes("messages", [USER], turns);
      const { messages: _, ...rest } = BODY;
      await api.refuses(PATH, rest, "messages");
      await refusesEach("messages", "hi", [], [{ role: "tool", content: "x" }], [{ role: "user" }]);
      await refuses({ messages: [{ role: "user", content: 5 }] }, "messages[0].content");
    },
    async system() {
      const block = { type: "text", text: "Be brief.", cache_control: { type: "ephemeral" } };
      await passes("system", "Be brief.", [block]);
      await refusesEach("system", 5, {});
    },
    async stream() {
      expect((await ask()).json.type).toBe("message");
      expect((await ask({ stream: false })).json.type).toBe("message");
      expect((await ask({ stream: true })).headers.get("content-type")).toStartWith("text/event-stream");
      await refusesEach("stream", "yes", 1);
    },
    async temperature() {
      await passes("temperature", 0, 0.5, 1);
      const { status, headers, sent } = await ask({ temperature: 2 });
      expect([status, sent.temperature]).toEqual([200, 1]);
      expect(headers.get("warning")).toContain("temperature");
      const dropped = await ask({ model: "anthropic/claude-opus-5.5", temperature: 0.5 });
      expect([dropped.status, "temperature" in dropped.sent]).toEqual([200, false]);
      expect(dropped.headers.get("warning")).toContain("temperature");
      await refusesEach("temperature", -0.1, 2.1, "1");
    },
    async top_p() {
      await passes("top_p", 0, 0.5, 1);
      await refusesEach("top_p", -0.1, 1.1, "1");
    },
    async top_k() {
      await passes("top_k", 1, 40);
      await refusesEach("top_k", 1.5, "4");
    },
    async stop_sequences() {
      await passes("stop_sequences", ["END"], ["a", "b"]);
      await refusesEach("stop_sequences", "END", [5]);
    },
    async tools() {
      await passes("tools", [TOOL]);
      await refusesEach("tools", "weather", [{ name: "weather" }]);
    },
    async tool_choice() {
      for (const tool_choice of [
        { type: "auto" },
        { type: "any" },
        { type: "none" },
        { type: "tool", name: "weather" },
      ])
        expect((await ask({ tools: [TOOL], tool_choice })).sent.tool_choice).toEqual(tool_choice);
      await refusesEach("tool_choice", "auto");
    },
    async thinking() {
      await passes("thinking", { type: "enabled", budget_tokens: 2_000 }, { type: "disabled" });
      const asked = { thinking: { type: "enabled", budget_tokens: 20_000 }, max_tokens: 30_000 };
      const { sent, headers } = await ask({ model: "anthropic/claude-opus-5.5", ...asked });
      expect([sent.thinking, sent.output_config]).toEqual([{ type: "adaptive" }, { effort: "high" }]);
      expect(headers.get("warning")).toContain("thinking");
      await refusesEach("thinking", "on", { type: "maybe" });
    },
  },
);

const FULL = {
  id: "msg_9",
  type: "message",
  role: "assistant",
  model: "up",
  content: [
    { type: "thinking", thinking: "hm", signature: "RVhBQ1QrLz0=" },
    { type: "text", text: "Looking." },
    { type: "tool_use", id: "toolu_1", name: "weather", input: { city: "Oslo" } },
  ],
  stop_reason: "tool_use",
  stop_sequence: null,
  usage: { input_tokens: 100, output_tokens: 50 },
};

async function answered(): Promise<typeof FULL & { credit: number }> {
  api.double.handle(() => jsonAnswer(200, FULL));
  return (await ask({ tools: [TOOL] })).json;
}

describeTable(
  { heading: "Messages response", column: "Field" },
  {
    id: async () => expect((await answered()).id).toBe(FULL.id),
    type: async () => expect((await answered()).type).toBe("message"),
    role: async () => expect((await answered()).role).toBe("assistant"),
    model: async () => expect((await answered()).model).toBe(MODEL),
    content: async () => expect((await answered()).content).toEqual(FULL.content),
    stop_reason: async () => expect((await answered()).stop_reason).toBe("tool_use"),
    usage: async () => expect((await answered()).usage).toEqual(FULL.usage),
    // 100 input tokens at 1 USD and 50 output tokens at 5 USD a million, at 10,000 credits a USD.
    credit: async () => expect((await answered()).credit).toBe(3.5),
  },
);

const streamed = async () => eventsOf((await ask({ stream: true })).text);
const only = async (name: string) => (await streamed()).filter(({ event }) => event === name);

describeTable(
  { heading: "Messages stream (`stream: true`)", column: "Event name" },
  {
    async message_start() {
      const [start] = await only("message_start");
      const message = { id: "msg_1", type: "message", role: "assistant", content: [], model: MODEL };
      expect(start?.data).toMatchObject({ type: "message_start", message });
    },
    async content_block_delta() {
      const deltas = await only("content_block_delta");
      expect(deltas.map(({ data }) => data.delta.text).join("")).toBe(SAID);
      expect(deltas[0]?.data).toMatchObject({ index: 0, delta: { type: "text_delta" } });
    },
    async message_delta() {
      const [delta] = await only("message_delta");
      expect(delta?.data).toMatchObject({ delta: { stop_reason: "end_turn" }, usage: { output_tokens: 3 } });
    },
    async credit() {
      // 7 input tokens at 1 USD and 3 output tokens at 5 USD a million.
      expect((await only("credit"))[0]?.data).toEqual({ type: "ping", credit: 0.22 });
      expect((await only("message_delta"))[0]?.data.credit).toBe(0.22);
      expect((await ask()).json.credit).toBe(0.22);
    },
    async message_stop() {
      expect((await only("message_stop"))[0]?.data).toEqual({ type: "message_stop" });
    },
  },
);

describe("Messages stream", () => {
  test("the events come in the order of the interface, each with its name", async () => {
    const names = (await streamed()).map(({ event }) => event).filter((name) => name !== "ping");
    expect(names).toEqual([
      "message_start",
      "content_block_start",
      "content_block_delta",
      "content_block_delta",
      "content_block_stop",
      "message_delta",
      "credit",
      "message_stop",
    ]);
  });
});

describe("Continuity", () => {
  test("a thinking block goes back with its signature, and a tool_use is answered by its tool_result", async () => {
    const messages = [
      USER,
      { role: "assistant", content: FULL.content },
      { role: "user", content: [{ type: "tool_result", tool_use_id: "toolu_1", content: "4 degrees" }] },
    ];
    const text = JSON.stringify(messages);
    await api.gateway.post(
      PATH,
      `{"model":"${MODEL}","max_tokens":4000,"tools":[${JSON.stringify(TOOL)}],"messages":${text}}`,
    );
    expect(api.double.requests.at(-1)?.bodyText).toContain(text);
  });
});
