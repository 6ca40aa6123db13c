import { describe, expect, test } from "bun:test";
import { joinBytes } from "../core/bytes/bytes.ts";
import { PLAIN_TARGET } from "../../test/protocols/plain-target.ts";
import { wireRequest } from "../../test/protocols/wire-request.ts";
import { present } from "../core/json/json-value.ts";
import type { ChatRequest } from "../core/chat.ts";
import type { Model } from "../core/model.ts";
import { chatCompletions } from "./chat-completions/index.ts";
import { servedBy } from "./index.ts";
import { chatCompletionsServer } from "./chat-completions/server/index.ts";
import { messagesClient } from "./messages/client/index.ts";
import { messages } from "./messages/index.ts";
import { translate } from "./translate.ts";

const tool = { name: "f", description: "Does it.", parameters: { type: "object", properties: {} } };
const BODY = {
  model: "v/m",
  messages: [{ role: "user", content: "Go." }],
  tools: [{ type: "function", function: tool }],
  response_format: { type: "json_schema", json_schema: { name: "a", schema: { type: "object" } } },
};

describe("a translated request costs what its provider will count", () => {
  const way = servedBy("compat_chat_completions", "compat_messages");
  const demandOf = (body: object) => {
    const request = chatCompletions.readRequest(wireRequest(body));
    const at = way?.demandAt?.(request, PLAIN_TARGET);
    if (way === undefined || at === undefined) throw new Error("There is no such way.");
    const sent = messages.readRequest(wireRequest(joinBytes(way.upstreamBody(request, PLAIN_TARGET).body)));
    return { at, sent: sent.demand, asked: request.demand };
  };

  test("its input is that of the body that is sent", () => {
    const { at, sent, asked } = demandOf({ ...BODY, max_tokens: 50 });
    // The body that is read for it names the model by our id, the one that is sent by its provider's.
    expect(Math.abs(at.textTokens.ceiling - sent.textTokens.ceiling)).toBeLessThan(5);
    expect(at.textTokens.ceiling).toBeGreaterThan(asked.textTokens.ceiling);
  });

  test("its output is bounded by the caller alone, not by what the format asks for", () => {
    expect(demandOf({ ...BODY, max_tokens: 50 }).at.maxOutputTokens).toBe(50);
    const unbounded = demandOf(BODY);
    expect([unbounded.at.maxOutputTokens, unbounded.sent.maxOutputTokens]).toEqual([undefined, 8_000]);
  });
});

describe("what a target changes is told by the fields that its caller sent", () => {
  const told = (
    to: "compat_messages" | "compat_generate_content",
    body: object,
    facts: Partial<Model>,
    outputBound?: number,
  ): readonly string[] => {
    const way = servedBy("compat_chat_completions", to);
    const request = chatCompletions.readRequest(wireRequest({ ...BODY, ...body }));
    const target = {
      ...PLAIN_TARGET,
      model: { ...PLAIN_TARGET.model, ...facts },
      ...present({ outputBound }),
    };
    return way?.upstreamBody(request, target).warnings ?? [];
  };
  const budget: Partial<Model> = {
    thinking: { style: "budget" },
    sampling: { fixedWhileThinking: true, eitherTemperatureOrTopP: false },
  };

  for (const name of ["max_tokens", "max_completion_tokens"])
    for (const to of ["compat_messages", "compat_generate_content"] as const)
      test(`a bound as ${name}, to ${to}`, () =>
        expect(told(to, { [name]: 9_000 }, {})).toEqual([
          `${name} was lowered to 8000: v/m puts out no more`,
        ]));

  test("of two bounds the one that counts", () =>
    expect(told("compat_messages", { max_tokens: 1, max_completion_tokens: 9_000 }, {})).toEqual([
      "max_completion_tokens was lowered to 8000: v/m puts out no more",
    ]));

  for (const [name, wish] of Object.entries({
    reasoning: { effort: "high" },
    reasoning_effort: "high",
    thinking: { type: "enabled" },
  }))
    test(`thinking as ${name}`, () =>
      expect(told("compat_messages", { [name]: wish, max_completion_tokens: 900 }, budget)).toEqual([
        `${name} was left out: max_completion_tokens leaves no room for a budget of 1024`,
      ]));

  const adaptive: Partial<Model> = { thinking: { style: "adaptive" } };
  for (const [name, wish] of Object.entries({
    thinking: { thinking: { type: "enabled", budget_tokens: 4_000 }, reasoning_effort: "low" },
    reasoning: { thinking: { type: "enabled" }, reasoning: { max_tokens: 4_000 } },
  }))
    test(`a budget in ${name}, beside other wishes`, () =>
      expect(told("compat_messages", wish, adaptive).at(-1)).toStartWith(`${name} was changed to adaptive`));

  for (const [name, wish] of Object.entries({
    reasoning_effort: { reasoning_effort: "none", thinking: { type: "enabled" } },
    reasoning: { reasoning: { enabled: false }, thinking: { type: "enabled" } },
    thinking: { thinking: { type: "disabled" }, reasoning: { exclude: true } },
  }))
    test(`thinking switched off in ${name}`, () =>
      expect(told("compat_messages", wish, { thinking: { style: "adaptive", canBeOff: false } }).at(-1)).toBe(
        `${name} was left out: v/m cannot be kept from thinking`,
      ));

  test("a bound that nobody sent has no name of a field", () =>
    expect(told("compat_messages", { reasoning_effort: "high" }, budget, 500).at(-1)).toBe(
      "reasoning_effort was left out: the bound on output leaves no room for a budget of 1024",
    ));

  test("a field that the model ignores", () =>
    expect(
      told(
        "compat_generate_content",
        { top_p: 1, stop: "a", max_tokens: 5 },
        {
          ignoredParameters: ["topP", "stopSequences", "maxOutputTokens"],
        },
      ),
    ).toEqual(["max_tokens", "top_p", "stop"].map((name) => `${name} was left out: v/m does not take it`)));

  for (const to of ["compat_messages", "compat_generate_content"] as const)
    test(`how wordy, and the key of a cache, to ${to}`, () => {
      const warnings = told(to, { verbosity: "low", prompt_cache_key: "k" }, {});
      expect(warnings.map((warning) => warning.split(":")[0])).toEqual([
        "verbosity was left out",
        "prompt_cache_key was left out",
      ]);
    });

  test("sampling beside thinking", () =>
    expect(
      told("compat_messages", { reasoning_effort: "low", temperature: 0.2, top_p: 0.5 }, budget),
    ).toEqual(
      ["temperature", "top_p"].map((name) => `${name} was left out: v/m does not take it while it thinks`),
    ));
});

test("an image of an earlier answer is named by its place", () => {
  const way = servedBy("compat_chat_completions", "compat_messages");
  const image = (type: string) => ({
    type: "image_url",
    image_url: { url: `data:image/${type};base64,AAAA` },
  });
  const answer = { role: "assistant", content: "Here.", images: [image("png"), image("tiff")] };
  const body = { ...BODY, messages: [...BODY.messages, answer, ...BODY.messages] };
  const request = chatCompletions.readRequest(wireRequest(body));
  expect(() => way?.upstreamBody(request, PLAIN_TARGET)).toThrow(
    expect.objectContaining({
      param: "messages[1].images[1].image_url.url",
      message: expect.stringContaining("messages[1].images[1].image_url.url holds an image of type"),
    }),
  );
});

test("a request that is within the bounds of a body is not refused for what its translation comes to", () => {
  const way = servedBy("compat_chat_completions", "compat_messages");
  const calls = Array.from({ length: 30_000 }, (_, i) => ({
    id: `c${i}`,
    type: "function",
    function: { name: "f", arguments: "{}" },
  }));
  const request = chatCompletions.readRequest(
    wireRequest({ ...BODY, messages: [...BODY.messages, { role: "assistant", tool_calls: calls }] }),
  );
  const { body = [] } = way?.upstreamBody(request, PLAIN_TARGET) ?? {};
  const { messages: sent } = JSON.parse(new TextDecoder().decode(joinBytes(body)));
  expect([sent[1].content.length, sent[2].content.length]).toEqual([30_000, 30_000]);
});

describe("tools that a provider does not have in its format", () => {
  /** A request of a client whose format can say all of it. */
  const asking = (more: Partial<ChatRequest>, isPriced = false) => {
    const server = {
      ...chatCompletionsServer,
      decodeRequest: (request: Parameters<typeof chatCompletionsServer.decodeRequest>[0]) => {
        const decoded = chatCompletionsServer.decodeRequest(request);
        return { ...decoded, chat: { ...decoded.chat, ...more } };
      },
    };
    const request = chatCompletions.readRequest(wireRequest({ ...BODY, response_format: undefined }));
    const prices = isPriced ? { web_search: 1n } : {};
    const target = { ...PLAIN_TARGET, model: { ...PLAIN_TARGET.model, prices } as unknown as Model };
    return translate(server, messagesClient).upstreamBody(request, target);
  };

  test("a search of the web is left out, and refused where it was chosen", () => {
    expect(asking({ webSearch: {} }).warnings).toEqual([
      "web_search_options was left out: v/m cannot be asked to search the web here",
    ]);
    expect(() => asking({ webSearch: { forced: true } })).toThrow("v/m cannot be asked to search the web");
  });

  test("a search that is the only tool, or that the answer cannot do without, is refused", () => {
    for (const more of [{ tools: [], webSearch: {} }, { webSearch: { needed: true } }] as const)
      expect(() => asking(more)).toThrow("v/m cannot be asked to search the web");
  });

  test("with a price a search goes on", () => {
    const { body, warnings } = asking({ webSearch: {} }, true);
    expect(JSON.parse(new TextDecoder().decode(joinBytes(body))).tools).toMatchObject([
      { name: "f" },
      { type: "web_search_20250305" },
    ]);
    expect(warnings).toEqual([]);
  });

  test("those that may not be called now are not told", () => {
    const tools = [tool, { ...tool, name: "g" }];
    const { body, warnings } = asking({ tools, allowedTools: ["g"] });
    expect(JSON.parse(new TextDecoder().decode(joinBytes(body))).tools).toMatchObject([{ name: "g" }]);
    expect(warnings).toEqual([
      "tool_choice.allowed_tools became the list of tools: this model's provider has no such choice",
    ]);
  });
});
