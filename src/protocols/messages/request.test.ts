import { wireRequest } from "../../../test/protocols/wire-request.ts";
import { describe, expect, test } from "bun:test";
import { GatewayError } from "../../core/errors.ts";
import { readRequest } from "./request.ts";

const base = { model: "v/m", max_tokens: 10, messages: [{ role: "user", content: "hi" }] };
const read = (more: object | string) =>
  readRequest(wireRequest(typeof more === "string" ? more : { ...base, ...more }));
const content = (...blocks: readonly unknown[]) => ({ messages: [{ role: "user", content: blocks }] });
const PDF = { type: "base64", media_type: "application/pdf", data: "JVBERi0x" };

function faultOf(more: object | string): { readonly param: string | undefined; readonly message: string } {
  try {
    read(more);
  } catch (error) {
    if (error instanceof GatewayError) return { param: error.param, message: error.message };
    throw error;
  }
  throw new Error("The request was taken.");
}

describe("a request within the interface is taken", () => {
  const cases: readonly { name: string; more: object }[] = [
    { name: "the least", more: {} },
    { name: "no output at all, to warm a cache", more: { max_tokens: 0 } },
    { name: "temperature up to 2", more: { temperature: 2, top_p: 1, top_k: 0 } },
    { name: "nulls for what is left out", more: { system: null, tools: null, thinking: null, stream: null } },
    {
      name: "nulls for what is left out inside",
      more: {
        ...content(
          { type: "image", source: { type: "url", url: "https://a/b.png", data: null, media_type: null } },
          { type: "text", text: "x", source: null, thinking: null, data: null, id: null, content: null },
          { type: "tool_use", id: "a", name: "f", input: {}, text: null },
        ),
        thinking: { type: "disabled", budget_tokens: null, display: null },
        tools: [{ name: "f", input_schema: { type: "object" }, description: null, max_uses: null }],
        tool_choice: { type: "auto", name: null },
        context_management: { edits: null },
      },
    },
    {
      name: "a system message in mid-conversation",
      more: { messages: [...base.messages, { role: "system", content: "now" }] },
    },
    {
      name: "system blocks",
      more: { system: [{ type: "text", text: "s", cache_control: { type: "ephemeral" } }] },
    },
    {
      name: "every kind of tool choice",
      more: { tool_choice: { type: "tool", name: "f", disable_parallel_tool_use: true } },
    },
    { name: "every kind of thinking", more: { thinking: { type: "between_tools", display: null } } },
    {
      name: "server tool results of a turn before, as they came",
      more: content(
        { type: "server_tool_use", id: "s1", name: "web_search", input: { query: "x" } },
        {
          type: "web_search_tool_result",
          tool_use_id: "s1",
          content: [{ type: "web_search_result", encrypted_content: "E" }],
        },
        {
          type: "web_search_tool_result",
          tool_use_id: "s2",
          content: { type: "web_search_tool_result_error" },
        },
        { type: "a_block_of_tomorrow", anything: 1 },
      ),
    },
    {
      name: "results of tools with images and documents in them",
      more: content({
        type: "tool_result",
        tool_use_id: "t1",
        content: [
          { type: "image", source: { type: "url", url: "https://example.com/a.png" } },
          { type: "document", source: PDF },
        ],
      }),
    },
    { name: "an empty result of a tool", more: content({ type: "tool_result", tool_use_id: "t1" }) },
    {
      name: "a document of blocks",
      more: content({
        type: "document",
        source: { type: "content", content: [{ type: "text", text: "x" }] },
      }),
    },
    {
      name: "a file of the provider",
      more: content({ type: "image", source: { type: "file", file_id: "file_1" } }),
    },
    { name: "thinking without its text", more: content({ type: "thinking", thinking: "", signature: "S" }) },
  ];
  for (const { name, more } of cases) test(name, () => expect(read(more).model).toBe("v/m"));

  test("as a stream when it asks for one", () => {
    expect([read({}).stream, read({ stream: true }).stream]).toEqual([false, true]);
  });

  test("with the previews of its headers", () => {
    const headers = new Headers([
      ["anthropic-beta", "a-2025-01-01, b"],
      ["anthropic-beta", "c"],
    ]);
    expect(readRequest(wireRequest(base, { headers })).betas).toEqual(["a-2025-01-01", "b", "c"]);
  });
});

describe("a request outside it is a 400 that names the field", () => {
  const image = (source: unknown) => content({ type: "text", text: "x" }, { type: "image", source });
  const cases: readonly { more: object; param: string; says?: string }[] = [
    { more: { max_tokens: undefined }, param: "max_tokens", says: "is required" },
    { more: { max_tokens: null }, param: "max_tokens" },
    { more: { max_tokens: -1 }, param: "max_tokens" },
    { more: { max_tokens: 1.5 }, param: "max_tokens" },
    { more: { messages: [] }, param: "messages" },
    { more: { messages: [{ role: "tool", content: "x" }] }, param: "messages[0].role" },
    { more: { messages: [{ role: "user" }] }, param: "messages[0].content" },
    { more: { messages: [{ role: "user", content: null }] }, param: "messages[0].content" },
    { more: { temperature: 2.1 }, param: "temperature" },
    { more: { temperature: "1" }, param: "temperature" },
    { more: { top_p: 1.1 }, param: "top_p" },
    { more: { top_k: -1 }, param: "top_k" },
    { more: { top_k: 0.5 }, param: "top_k" },
    { more: { stop_sequences: "x" }, param: "stop_sequences" },
    { more: { stream: "true" }, param: "stream" },
    { more: { system: 1 }, param: "system" },
    { more: { thinking: { type: "on" } }, param: "thinking.type" },
    { more: { thinking: { type: "enabled", budget_tokens: "x" } }, param: "thinking.budget_tokens" },
    { more: { output_config: { effort: "most" } }, param: "output_config.effort" },
    { more: { tool_choice: { type: "required" } }, param: "tool_choice.type" },
    { more: { tool_choice: { type: "tool" } }, param: "tool_choice.name" },
    { more: { tools: [{ name: "f" }] }, param: "tools[0].input_schema" },
    { more: { tools: [{ input_schema: {} }] }, param: "tools[0].name" },
    {
      more: { tools: [{ type: "web_search_20250305", name: "web_search", max_uses: 0 }] },
      param: "tools[0].max_uses",
    },
    {
      more: { tools: [{ type: "code_execution_20250825", name: "x" }] },
      param: "tools[0].type",
      says: "hour of a machine",
    },
    {
      more: { tools: [{ type: "advisor_20260301", name: "x" }] },
      param: "tools[0].type",
      says: "another model",
    },
    { more: { tools: [{ type: "mcp_toolset" }] }, param: "tools[0].type", says: "mcp_servers" },
    {
      more: { tools: [{ type: "time_machine_20270101", name: "x" }] },
      param: "tools[0].type",
      says: "not known",
    },
    { more: content({ text: "x" }), param: "messages[0].content[0].type" },
    { more: content({ type: "text" }), param: "messages[0].content[0].text" },
    { more: content({ type: "thinking" }), param: "messages[0].content[0].thinking" },
    { more: content({ type: "redacted_thinking" }), param: "messages[0].content[0].data" },
    { more: content({ type: "tool_use", id: "t", name: "f" }), param: "messages[0].content[0].input" },
    { more: content({ type: "tool_result" }), param: "messages[0].content[0].tool_use_id" },
    {
      more: content({ type: "tool_result", tool_use_id: "t", content: [{ type: "text", text: 1 }] }),
      param: "messages[0].content[0].content[0].text",
    },
    {
      more: content({ type: "tool_result", tool_use_id: "t", content: ["x"] }),
      param: "messages[0].content[0].content[0]",
    },
    { more: image(undefined), param: "messages[0].content[1].source" },
    { more: image({ type: "base64", media_type: "image/png" }), param: "messages[0].content[1].source.data" },
    { more: image({ type: "file" }), param: "messages[0].content[1].source.file_id" },
    {
      more: content({ type: "document", source: { type: "text", media_type: "text/plain", data: null } }),
      param: "messages[0].content[0].source.data",
    },
    {
      more: content({ type: "document", source: { type: "text", media_type: "text/plain", data: "" } }),
      param: "messages[0].content[0].source.data",
    },
    {
      more: image({ type: "base64", media_type: "image/tiff", data: "AAAA" }),
      param: "messages[0].content[1].source.media_type",
    },
    {
      more: image({ type: "base64", media_type: "image/png", data: "data:image/png;base64,AAAA" }),
      param: "messages[0].content[1].source.data",
    },
    { more: image({ type: "url", url: "file:///etc/passwd" }), param: "messages[0].content[1].source.url" },
    {
      more: image({ type: "url", url: "data:image/png;base64,AAAA" }),
      param: "messages[0].content[1].source.url",
    },
    { more: image({ type: "text", data: "x" }), param: "messages[0].content[1].source.type" },
    {
      more: content({
        type: "document",
        source: { type: "content", content: [{ type: "image", source: { type: "url", url: "ftp://x" } }] },
      }),
      param: "messages[0].content[0].source.content[0].source.url",
    },
    {
      more: content({ type: "tool_addition", tool: { type: "web_search_20250305", name: "web_search" } }),
      param: "messages[0].content[0].tool.type",
    },
    { more: { system: [{ type: "text" }] }, param: "system[0].text" },
  ];
  for (const { more, param, says = "" } of cases) {
    test(`${param}: ${JSON.stringify(more).slice(0, 90)}`, () => {
      const fault = faultOf(more);
      expect(fault.param).toBe(param);
      expect(fault.message).toContain(param);
      expect(fault.message).toContain(says);
    });
  }

  for (const twice of [
    '{"model":"v/m","max_tokens":1,"max_tokens":2,"messages":[{"role":"user","content":"x"}]}',
    '{"model":"v/m","max_tokens":1,"messages":[{"role":"user","content":"x","content":"y"}]}',
    '{"model":"v/m","max_tokens":1,"messages":[{"role":"user","content":[{"type":"image","source":{"type":"url","url":"https://a","url":"https://b"}}]}]}',
    '{"model":"v/m","max_tokens":1,"messages":[{"role":"user","content":"x"}],"tools":[{"type":"web_search_20250305","max_uses":1,"max_uses":99}]}',
    '{"model":"v/m","max_tokens":1,"messages":[{"role":"user","content":"x"}],"cache_control":{"ttl":"1h","ttl":"5m"}}',
    '{"model":"v/m","max_tokens":1,"messages":[{"role":"user","content":"x"}],"thinking":{"type":"disabled","type":"enabled"}}',
    '{"model":"v/m","max_tokens":1,"messages":[{"role":"user","content":[{"type":"text","text":"x","cache_control":{"ttl":"5m","ttl":"1h"}}]}]}',
    '{"model":"v/m","max_tokens":1,"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"document","source":{"type":"content","content":[{"type":"text","text":"x","cache_control":{"ttl":"1h","ttl":"5m"}}]}}]}]}]}',
  ]) {
    test(`a key that stands twice where money is read: ${twice.slice(40, 120)}`, () => {
      expect(faultOf(twice).message).toContain("stands twice");
    });
  }
});
