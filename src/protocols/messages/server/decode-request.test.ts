import { describe, expect, test } from "bun:test";
import { filledBody, recordedClientRequests } from "../../../../test/clients/client-request.ts";
import { OWN_CLIENT_REQUESTS } from "../../../../test/clients/own-client-requests.ts";
import type { Json } from "../../../../test/protocols/chat-events.ts";
import { decoded, refusedFor } from "../../../../test/protocols/message-events.ts";

const TOOL = { name: "f", description: "Does.", input_schema: { type: "object", properties: {} } };
const SEARCH = { type: "web_search_20250305", name: "web_search", max_uses: 3 };

describe("fields", () => {
  test("have their place: bounds, sampling, stops as a list, the user", () => {
    const { chat, warnings } = decoded({
      max_tokens: 50,
      temperature: 0.5,
      top_p: 0.9,
      top_k: 7,
      stop_sequences: ["x"],
      metadata: { user_id: "u" },
      service_tier: "auto",
    });
    expect(chat).toMatchObject({
      maxOutputTokens: 50,
      temperature: 0.5,
      topP: 0.9,
      topK: 7,
      stop: ["x"],
      user: "u",
      choices: 1,
    });
    expect(warnings).toEqual([]);
  });

  const wishes: readonly (readonly [object, object | undefined])[] = [
    [{}, undefined],
    [{ thinking: { type: "enabled", budget_tokens: 2048 } }, { mode: "on", budgetTokens: 2048 }],
    [
      { thinking: { type: "adaptive" }, output_config: { effort: "high" } },
      { mode: "auto", effort: "high" },
    ],
    [{ thinking: { type: "disabled" } }, { mode: "off" }],
    [{ thinking: { type: "adaptive", display: "omitted" } }, { mode: "auto", hidden: true }],
    [{ output_config: { effort: "low" } }, { effort: "low" }],
  ];
  test.each(wishes)("a wish for thinking: %j", (body, wish) => {
    expect(decoded({ ...body }).chat.thinking as unknown).toEqual(wish);
  });

  test("a schema of the answer, by its new field or its old one", () => {
    const format = { type: "json_schema", schema: { type: "object" } };
    const want = { type: "json_schema", name: "response", schema: { type: "object" }, strict: true } as const;
    expect(decoded({ output_config: { format } }).chat.responseFormat).toEqual(want);
    expect(decoded({ output_format: format }).chat.responseFormat).toEqual(want);
  });

  test("what only helps is left out, and told: edits of the context, previews, hints, names that nobody knows", () => {
    const { warnings } = decoded(
      {
        context_management: { edits: [{ type: "clear_thinking_20251015", keep: "all" }] },
        diagnostics: { previous_message_id: null },
        cache_control: { type: "ephemeral" },
        output_config: { task_budget: 5 },
        seed: 1,
        tools: [{ ...TOOL, eager_input_streaming: true }],
      },
      { "anthropic-beta": "interleaved-thinking-2025-05-14,some-preview-2026-01-01" },
    );
    for (const name of ["context_management", "diagnostics", "cache_control", "seed", "anthropic-beta"])
      expect(warnings.some((sentence) => sentence.startsWith(`${name} was left out`))).toBe(true);
    for (const name of ["output_config.task_budget", "tools[].eager_input_streaming"])
      expect(warnings.join()).toContain(`${name} was left out`);
  });

  const refused: readonly (readonly [string, object])[] = [
    ["container", { container: "c" }],
    ["mcp_servers", { mcp_servers: [{ type: "url", url: "https://a.b", name: "a" }] }],
    ["service_tier", { service_tier: "priority" }],
    ["speed", { speed: "fast" }],
    ["max_tokens", { max_tokens: 0 }],
    ["output_config.format.type", { output_config: { format: { type: "grammar" } } }],
    ["output_config.format.schema", { output_config: { format: { type: "json_schema" } } }],
  ];
  test.each(refused)("what costs or changes the answer is a 400 by name: %s", (param, body) => {
    expect(refusedFor({ ...body })[0]).toBe(param);
  });

  test("what asks for nothing is not refused", () => {
    expect(decoded({ container: null, mcp_servers: [], speed: "standard" }).warnings).toEqual([]);
  });

  test("the request that is refused for a target is told so in the caller's own words", () => {
    const { names } = decoded({ tools: [TOOL, SEARCH], output_config: { effort: "low" } });
    expect([names.stop, names.thinking, names.maxOutputTokens, names.webSearch]).toEqual([
      "stop_sequences",
      "output_config.effort",
      "max_tokens",
      "tools[1] (web_search_20250305)",
    ]);
  });
});

describe("tools", () => {
  test("keep their schema, description, mark and strictness", () => {
    const { chat } = decoded({ tools: [{ ...TOOL, strict: true, cache_control: { type: "ephemeral" } }] });
    expect(chat.tools).toEqual([
      {
        name: "f",
        at: "tools[0].name",
        description: "Does.",
        parameters: TOOL.input_schema,
        strict: true,
        cache: { type: "ephemeral" },
      },
    ]);
  });

  const choices: readonly (readonly [object, object])[] = [
    [{ type: "auto" }, { toolChoice: { type: "auto" } }],
    [{ type: "any" }, { toolChoice: { type: "required" } }],
    [{ type: "none" }, { toolChoice: { type: "none" } }],
    [{ type: "tool", name: "f" }, { toolChoice: { type: "tool", name: "f" } }],
    [
      { type: "auto", disable_parallel_tool_use: true },
      { toolChoice: { type: "auto" }, parallelToolCalls: false },
    ],
  ];
  test.each(choices)("a choice: %j", (choice, want) => {
    expect(decoded({ tools: [TOOL], tool_choice: choice }).chat).toMatchObject(want);
  });

  test("a choice of a tool that is not there is a 400", () => {
    const [param] = refusedFor({ tools: [TOOL], tool_choice: { type: "tool", name: "g" } });
    expect(param).toBe("tool_choice.name");
    expect(refusedFor({ tool_choice: { type: "any" } })[0]).toBe("tool_choice.type");
  });

  test("a search of the web goes on, and must be called where it is chosen", () => {
    const located = {
      ...SEARCH,
      allowed_domains: ["a.b"],
      user_location: { type: "approximate", city: "Oslo" },
    };
    expect(decoded({ tools: [TOOL, located] }).chat.webSearch).toEqual({
      mostUses: 3,
      allowedDomains: ["a.b"],
      location: { city: "Oslo" },
    });
    for (const others of [[], [{ type: "bash_20250124", name: "bash" }]]) {
      const tools = [SEARCH, ...others];
      expect(decoded({ tools }).chat.webSearch).toEqual({ mostUses: 3 });
      expect(decoded({ tools, tool_choice: { type: "any" } }).chat.webSearch?.forced).toBe(true);
      expect(decoded({ tools, tool_choice: { type: "none" } }).chat.webSearch).toBeUndefined();
    }
    const chosen = decoded({ tools: [TOOL, SEARCH], tool_choice: { type: "tool", name: "web_search" } });
    expect(chosen.chat).toMatchObject({ webSearch: { forced: true } });
    expect(chosen.chat.toolChoice).toBeUndefined();
  });

  test("another tool of the vendor's own is left out by name beside others, and a 400 alone or chosen", () => {
    const bash = { type: "bash_20250124", name: "bash" };
    const { chat, warnings } = decoded({ tools: [bash, TOOL] });
    expect(chat.tools.map(({ name, at }) => [name, at])).toEqual([["f", "tools[1].name"]]);
    expect(warnings).toEqual([
      "tools[0] was left out: this model's provider has no such tool (bash: bash_20250124)",
    ]);
    for (const body of [
      { tools: [bash] },
      { tools: [bash, TOOL], tool_choice: { type: "tool", name: "bash" } },
    ]) {
      const [param, sentence] = refusedFor(body);
      expect(param).toBe("tools[0].type");
      expect(sentence).toContain("bash_20250124");
    }
  });
});

const SIGNED = { thinking: { thinking: "Hm.", signature: "EqQB" }, thoughtSignature: "EsQB" };
const sessions = [...recordedClientRequests(), ...OWN_CLIENT_REQUESTS].filter(
  ({ endpoint }) => endpoint === "messages",
);

test.each(sessions.map((session) => [session.name, session] as const))(
  "what an agent sends loses no tool, call or result: %s",
  (_name, { body, headers }) => {
    const sent: Json = filledBody(body, SIGNED);
    const { chat } = decoded(sent, { "anthropic-beta": headers["anthropic-beta"] ?? "" });
    const own = (sent.tools ?? []).filter(({ type = "custom" }: Json) => type === "custom");
    expect(chat.tools.map(({ name }) => name)).toEqual(own.map(({ name }: Json) => name));
    const blocks = sent.messages.flatMap(({ content }: Json) => (typeof content === "string" ? [] : content));
    const parts = chat.turns.flatMap((turn) => turn.parts);
    for (const [block, part] of [
      ["tool_use", "tool_call"],
      ["tool_result", "tool_result"],
      ["thinking", "thinking"],
    ])
      expect(parts.filter(({ type }) => type === part).length).toBe(
        blocks.filter(({ type }: Json) => type === block).length,
      );
  },
);
