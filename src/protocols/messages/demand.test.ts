import { wireRequest } from "../../../test/protocols/wire-request.ts";
import { describe, expect, test } from "bun:test";
import { readRequest } from "./request.ts";

/** An image of one pixel, and of nine by four. */
const PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4z8DwHwAFAAH/iZk9HQAAAABJRU5ErkJggg==";
const GIF = "R0lGODlhCQAEAAAAACwAAAAACQAEAAACAAA7";

const demandOf = (content: unknown, more: object = {}) =>
  readRequest(wireRequest({ model: "v/m", max_tokens: 77, messages: [{ role: "user", content }], ...more }))
    .demand;
const image = (data: string, media_type = "image/png") => ({
  type: "image",
  source: { type: "base64", media_type, data },
});
const pdf = (data: string) => ({
  type: "document",
  source: { type: "base64", media_type: "application/pdf", data },
});

describe("what a request asks for", () => {
  test("is one answer of at most what it says", () => {
    expect(demandOf("hi")).toMatchObject({
      maxOutputTokens: 77,
      choices: 1,
      webSearches: 0,
      rereads: 0,
      media: {},
      buckets: [],
      outputModalities: ["text"],
    });
  });

  test("has images by their size, wherever they stand, and documents by their number", () => {
    const demand = demandOf([
      image(PIXEL),
      { type: "image", source: { type: "url", url: "https://example.com/a.png" } },
      { type: "tool_result", tool_use_id: "t", content: [image(GIF, "image/gif"), pdf("AAAA")] },
      { type: "document", source: { type: "content", content: [image("AAAA")] } },
      { type: "document", source: { type: "text", media_type: "text/plain", data: "plain" } },
      { type: "document", source: { type: "file", file_id: "file_1" } },
    ]);
    expect(demand.images).toEqual([
      { size: { width: 1, height: 1 } },
      {},
      { size: { width: 9, height: 4 } },
      {},
    ]);
    expect(demand.media).toEqual({ image: 4, pdf: 2 });
    expect(demand.mediaBytes).toBe(4);
  });

  test("has a document for each block of a type that nobody knows, which could be a link to one", () => {
    const known = [
      "server_tool_use",
      "web_search_tool_result",
      "web_fetch_tool_result",
      "advisor_tool_result",
      "code_execution_tool_result",
      "bash_code_execution_tool_result",
      "text_editor_code_execution_tool_result",
      "tool_search_tool_result",
      "mcp_tool_use",
      "mcp_tool_result",
      "mcp_tool_listing",
      "compaction",
      "fallback",
    ];
    const blocks = (types: readonly string[]) => types.map((type) => ({ type, url: "https://a/b" }));
    expect(demandOf(blocks(known)).media).toEqual({});
    expect(demandOf(blocks([...known, "video", "container_upload"])).media).toEqual({ pdf: 2 });
  });

  test("is not bound by the bytes of media, but by every other byte", () => {
    const ceiling = (content: unknown, more?: object) => demandOf(content, more).textTokens.ceiling;
    expect(ceiling([image("A".repeat(100_000))])).toBe(ceiling([image("AAAA")]));
    expect(ceiling([pdf("A".repeat(100_000))])).toBe(ceiling([pdf("AAAA")]));
    const unknown = { type: "of_tomorrow", deep: { text: "x".repeat(10_000) } };
    expect(ceiling([unknown])).toBeGreaterThan(5_000);
  });

  test("measures system, thinking, calls, results, documents and tools as text", () => {
    const text = "word ".repeat(400);
    const cases: readonly (readonly [content: unknown, more?: object])[] = [
      ["x", { system: text }],
      ["x", { system: [{ type: "text", text }] }],
      ["x", { tools: [{ name: "f", description: text, input_schema: {} }] }],
      ["x", { output_config: { format: { type: "json_schema", schema: { title: text } } } }],
      [text],
      [[{ type: "text", text }]],
      [[{ type: "thinking", thinking: text, signature: "S" }]],
      [[{ type: "tool_use", id: "t", name: "f", input: { text } }]],
      [[{ type: "tool_result", tool_use_id: "t", content: text }]],
      [[{ type: "tool_result", tool_use_id: "t", content: [{ type: "text", text }] }]],
      [[{ type: "web_search_tool_result", tool_use_id: "t", content: [{ title: text }] }]],
      [[{ type: "search_result", source: "s", title: "t", content: [{ type: "text", text }] }]],
      [[{ type: "document", source: { type: "text", media_type: "text/plain", data: text } }]],
      [[{ type: "document", source: { type: "content", content: text } }]],
    ];
    for (const [content, more] of cases) {
      const { expected } = demandOf(content, more).textTokens;
      expect([content, more, expected >= 500]).toEqual([content, more, true]);
      // Once, not twice: the frame around it is small beside it.
      expect([content, more, expected < 1_000]).toEqual([content, more, true]);
    }
  });

  test("expects thinking of the turn under way, and not that of earlier ones, which the provider takes out", () => {
    const turn = (role: string, content: unknown) => ({ role, content });
    const thinking = { type: "thinking", thinking: "word ".repeat(400), signature: "S" };
    const call = { type: "tool_use", id: "t", name: "f", input: {} };
    const result = { type: "tool_result", tool_use_id: "t", content: "x" };
    const demand = (...messages: object[]) =>
      readRequest(wireRequest({ model: "v/m", max_tokens: 77, messages })).demand.textTokens;
    const underWay = demand(turn("user", "a"), turn("assistant", [thinking, call]), turn("user", [result]));
    expect(underWay.expected).toBeGreaterThan(500);
    for (const next of ["and now?", [result, { type: "text", text: "and now?" }]]) {
      const earlier = demand(turn("user", "a"), turn("assistant", [thinking, call]), turn("user", next));
      expect(earlier.expected).toBeLessThan(60);
      // Models that keep it would be billed for it: the bound has it.
      expect(earlier.ceiling).toBeGreaterThan(1_000);
    }
  });

  test("expects what the provider says of thinking where it is asked for", () => {
    const expected = (thinking?: object) =>
      demandOf("x", thinking === undefined ? {} : { thinking }).textTokens.expected;
    const bare = expected();
    expect(expected({ type: "disabled" })).toBe(bare);
    for (const asked of [{ type: "adaptive" }, { type: "enabled", budget_tokens: 2_000 }])
      expect(expected(asked)).toBe(bare + 25);
  });

  test("holds for writes of a cache that last an hour, wherever they are asked for", () => {
    const control = (ttl: unknown) => ({ cache_control: { type: "ephemeral", ttl } });
    const long = (more: object, content: unknown = "x") => demandOf(content, more).buckets;
    expect(long(control("1h"))).toEqual(["cache_write_1h"]);
    expect(long({ system: [{ type: "text", text: "s", ...control("1h") }] })).toEqual(["cache_write_1h"]);
    expect(long({ tools: [{ name: "f", input_schema: {}, ...control("1h") }] })).toEqual(["cache_write_1h"]);
    // In a schema, and in what a tool was called with, it is a word of the tool's.
    expect(long({ tools: [{ name: "f", input_schema: { properties: control("1h") } }] })).toEqual([]);
    expect(
      long({}, [
        { type: "tool_result", tool_use_id: "t", content: [{ type: "text", text: "x", ...control("9h") }] },
      ]),
    ).toEqual(["cache_write_1h"]);
    for (const usual of [undefined, null, "5m"]) expect(long(control(usual))).toEqual([]);
  });

  test("holds for the definitions that the provider writes for its own tools", () => {
    const ceiling = (tool: object) => demandOf("x", { tools: [tool] }).textTokens.ceiling;
    const own = ceiling({ name: "computer", input_schema: {} });
    // Anthropic states 735 tokens for this one, beside its prompt.
    expect(ceiling({ type: "computer_20250124", name: "computer" })).toBeGreaterThan(own + 1_000);
  });

  test("counts searches and pages by the bounds of its tools, ten where there is none", () => {
    const tools = [
      { type: "web_search_20250305", name: "web_search", max_uses: 3 },
      { type: "web_search_20260318", name: "web_search" },
      { type: "web_fetch_20250910", name: "web_fetch", max_uses: 2 },
      { type: "bash_20250124", name: "bash" },
    ];
    expect(demandOf("x", { tools })).toMatchObject({
      webSearches: 13,
      rereads: 15,
      pageTokens: 20_000,
      buckets: ["web_search"],
    });
    const large = { type: "web_fetch_20250910", name: "large", max_uses: 1, max_content_tokens: 90_000 };
    expect(demandOf("x", { tools: [...tools, large] }).pageTokens).toBe(90_000);
    expect(demandOf("x", { tools: tools.slice(0, 2) }).pageTokens).toBeUndefined();
  });
});
