import { describe, expect, test } from "bun:test";
import type { Json } from "../../../../test/protocols/chat-events.ts";
import { recordedClientRequests } from "../../../../test/clients/client-request.ts";
import { wireRequest } from "../../../../test/protocols/wire-request.ts";
import { responses } from "../index.ts";
import { responsesServer } from "./index.ts";

const decode = (more: object, input: Json = "Go.") =>
  responsesServer.decodeRequest(responses.readRequest(wireRequest({ model: "v/m", input, ...more })));
const refusal = (more: object): Json => {
  try {
    decode(more);
  } catch (error) {
    return error;
  }
  throw new Error("It was taken.");
};

const fn = (name: string) => ({ type: "function", name, parameters: { type: "object", properties: {} } });
const server = (name: string, ...tools: object[]) => ({ type: "namespace", name, description: "", tools });

describe("tools", () => {
  test("tools of namespaces keep their names where only one has it, else the namespace stands before", () => {
    const { chat, echo } = decode({
      tools: [server("a", fn("search"), fn("open")), server("b", fn("search"))],
    });
    expect(chat.tools.map(({ name }) => name)).toEqual(["a__search", "open", "b__search"]);
    expect((echo as Json).calls).toEqual({
      a__search: { name: "search", namespace: "a" },
      b__search: { name: "search", namespace: "b" },
      open: { name: "open", namespace: "a" },
    });
  });

  test("a call in the history has the name that the model is told", () => {
    const call = { type: "function_call", call_id: "c", namespace: "b", name: "search", arguments: "{}" };
    const { chat } = decode({ tools: [server("a", fn("search")), server("b", fn("search"))] }, [
      { role: "user", content: "Go." },
      call,
      { type: "function_call_output", call_id: "c", output: "x" },
    ]);
    expect(chat.turns[1]?.parts[0]).toMatchObject({ name: "b__search" });
  });

  test("names are cut where no provider takes so long ones, and stay apart", () => {
    const long = "n".repeat(40);
    const { chat } = decode({ tools: [server("a".repeat(40), fn(long)), server("b".repeat(40), fn(long))] });
    const names = chat.tools.map(({ name }) => name);
    expect(new Set(names).size).toBe(2);
    for (const name of names) expect(name).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
  });

  test("tools that items bring in are told, and the later one of a name wins", () => {
    const { chat } = decode({ tools: [fn("f")] }, [
      {
        type: "additional_tools",
        role: "developer",
        tools: [server("functions", { type: "custom", name: "exec", format: { type: "text" } })],
      },
      { role: "user", content: "Go." },
      { type: "additional_tools", role: "developer", tools: [{ ...fn("f"), description: "New" }] },
    ]);
    expect(chat.tools).toMatchObject([
      { name: "f", description: "New" },
      { name: "exec", custom: {} },
    ]);
    expect(chat.turns).toHaveLength(1);
  });

  test("a grammar goes with its custom tool", () => {
    const format = { type: "grammar", syntax: "lark", definition: "start: /x/" };
    const { chat } = decode({ tools: [{ type: "custom", name: "apply_patch", format }] });
    expect(chat.tools[0]?.custom).toEqual({ grammar: { syntax: "lark", definition: "start: /x/" } });
  });

  test("tools that run at the caller's are functions; a search of the provider's loads nothing", () => {
    const { chat, warnings } = decode({
      tools: [
        { type: "shell" },
        { type: "apply_patch" },
        { type: "tool_search", execution: "client" },
        { type: "tool_search" },
      ],
    });
    expect(chat.tools.map(({ name }) => name)).toEqual(["shell", "apply_patch", "tool_search"]);
    expect(warnings).toEqual([]);
  });

  test("hosted tools are left out by name, and refused where there is no other or one is chosen", () => {
    const { chat, warnings } = decode({ tools: [fn("f"), { type: "file_search" }] });
    expect(chat.tools).toHaveLength(1);
    expect(warnings).toEqual([
      "tools[1] was left out: this model's provider has no tool of type file_search",
    ]);
    expect(refusal({ tools: [{ type: "file_search" }] }).param).toBe("tools[0].type");
    const forced = { tools: [fn("f"), { type: "mcp" }], tool_choice: { type: "mcp" } };
    expect(refusal(forced)).toMatchObject({ param: "tool_choice.type" });
    expect(refusal(forced).message).toContain("mcp");
  });

  test("a search of the web is asked for with its bounds", () => {
    const search = {
      type: "web_search",
      search_context_size: "low",
      filters: { allowed_domains: ["a.example"] },
      user_location: { type: "approximate", country: "DE" },
    };
    expect(decode({ tools: [search] }).chat.webSearch).toEqual({
      contextSize: "low",
      allowedDomains: ["a.example"],
      location: { country: "DE" },
    });
    const { chat } = decode({ tools: [fn("f"), search], tool_choice: { type: "web_search" } });
    expect(chat.webSearch?.forced).toBe(true);
    const alone = (tool_choice: string) => decode({ tools: [search], tool_choice }).chat.webSearch;
    expect(alone("required")).toMatchObject({ forced: true });
    expect(alone("none")).toBeUndefined();
  });

  test("a search is asked for only where it may be called, and is meant where nothing else may", () => {
    const tools = [fn("f"), { type: "web_search" }, { type: "mcp" }];
    const [f, search, mcp] = [{ type: "function", name: "f" }, { type: "web_search" }, { type: "mcp" }];
    const choice = (mode: string, ...chosen: Json[]) => ({ type: "allowed_tools", mode, tools: chosen });
    const searchOf = (tool_choice: Json) => decode({ tools, tool_choice }).chat.webSearch;
    expect(searchOf(choice("auto", f))).toBeUndefined();
    expect(searchOf(choice("required", f, search))).toEqual({});
    expect(searchOf(choice("auto", search))).toEqual({ needed: true });
    expect(searchOf(choice("required", search))).toEqual({ forced: true });
    for (const mode of ["auto", "required"])
      expect(refusal({ tools, tool_choice: choice(mode, mcp) }).param).toBe("tool_choice.tools");
  });

  test("choices name tools as the model is told them", () => {
    const tools = [fn("f"), server("a", fn("g")), { type: "shell" }];
    const choice = (tool_choice: Json) => decode({ tools, tool_choice }).chat;
    expect(choice("required").toolChoice).toEqual({ type: "required" });
    expect(choice({ type: "function", name: "g" }).toolChoice).toEqual({ type: "tool", name: "g" });
    expect(choice({ type: "shell" }).toolChoice).toEqual({ type: "tool", name: "shell" });
    const some = { type: "allowed_tools", mode: "auto", tools: [{ type: "function", name: "f" }] };
    expect(choice(some)).toMatchObject({ toolChoice: { type: "auto" }, allowedTools: ["f"] });
    expect(refusal({ tools, tool_choice: { type: "function", name: "h" } }).param).toBe("tool_choice.name");
    expect(refusal({ tool_choice: "required" }).param).toBe("tool_choice");
  });
});

describe("the rest of a request", () => {
  test("fields without a place are left out by name, and refused where they change the answer", () => {
    const { warnings } = decode({
      truncation: "auto",
      max_tool_calls: 3,
      service_tier: "flex",
      include: ["reasoning.encrypted_content", "my.own"],
      client_metadata: { a: "b" },
      frequency_penalty: 0,
      surprise: 1,
    });
    expect(warnings).toEqual([
      "truncation was left out: this model's provider has no such field",
      "max_tool_calls was left out: this model's provider has no such field",
      "surprise was left out: it is not a field of Responses",
      "service_tier became default: another one has no price here",
      "include my.own was left out: this model's provider does not give it",
    ]);
    expect(decode({ top_logprobs: 3 }).chat.logprobs).toEqual({ top: 3 });
    expect(decode({ include: ["message.output_text.logprobs"] }).chat.logprobs).toEqual({ top: 0 });
    expect(decode({ top_logprobs: 0 }).chat.logprobs).toBeUndefined();
    expect(refusal({ reasoning: { mode: "pro" } }).param).toBe("reasoning.mode");
  });

  test("a form of the answer is honoured flat and nested", () => {
    const schema = { type: "object" };
    const form = { type: "json_schema", name: "n", schema, strict: true };
    const flat = decode({ text: { format: form } }).chat.responseFormat;
    expect(flat).toEqual({ type: "json_schema", name: "n", schema, strict: true });
    const nested = { type: "json_schema", json_schema: { name: "n", schema, strict: true } };
    expect(decode({ text: { format: nested } }).chat.responseFormat).toEqual(flat);
    expect(refusal({ text: { format: { type: "json_schema", name: "n" } } }).param).toBe(
      "text.format.schema",
    );
  });

  test("thinking is shown where a summary was asked for", () => {
    const wish = (reasoning: object) => decode({ reasoning }).chat.thinking;
    expect(wish({ effort: "high" })).toEqual({ effort: "high", hidden: true });
    expect(wish({ effort: "high", summary: "auto" })).toEqual({ effort: "high" });
    expect(wish({ effort: "none" })).toEqual({ mode: "off" });
    expect(wish({ summary: "auto" })).toEqual({ mode: "auto" });
    expect(wish({})).toBeUndefined();
    expect(refusal({ reasoning: { effort: "much" } }).param).toBe("reasoning.effort");
  });

  test("an update of the configuration holds from then on", () => {
    const { chat } = decode({ reasoning: { effort: "low", summary: "auto" } }, [
      { type: "configuration_update", reasoning: { effort: "high" } },
      { role: "user", content: "Go." },
    ]);
    expect(chat.thinking).toEqual({ effort: "high" });
    expect(chat.turns).toHaveLength(1);
  });

  test("a trigger at the end asks the same model for a summary, without a call", () => {
    const { chat, echo } = decode({ tools: [fn("f")], text: { format: { type: "json_object" } } }, [
      { role: "user", content: "Go." },
      { type: "compaction_trigger" },
    ]);
    expect((echo as Json).compacts).toBe(true);
    expect(chat.toolChoice).toEqual({ type: "none" });
    expect(chat.responseFormat).toBeUndefined();
    expect(chat.turns).toHaveLength(2);
    const input = [{ type: "compaction_trigger" }, { role: "user", content: "Go." }];
    expect(() => decode({}, input)).toThrow("input[0] must be the last item.");
  });

  test("the answer repeats the request as it was sent", () => {
    const tools = [server("a", fn("g")), fn("f")];
    const { echo } = decode({ tools, store: false, metadata: { a: "b" }, temperature: 0.5 });
    expect((echo as Json).asked).toMatchObject({
      store: false,
      temperature: 0.5,
      metadata: { a: "b" },
      tools: [tools[0], { ...fn("f"), description: null, strict: null }],
    });
    expect(structuredClone(echo)).toEqual(echo);
  });
});

describe("what agents send is taken, and their tools with it", () => {
  const recorded = recordedClientRequests().filter(({ endpoint }) => endpoint === "responses");
  for (const { name, body } of recorded)
    test(name, () => {
      const { chat, warnings } = responsesServer.decodeRequest(responses.readRequest(wireRequest(body)));
      const named = (tools: Json): string[] =>
        (tools ?? []).flatMap((tool: Json) =>
          tool.tools === undefined ? [tool.name ?? tool.type] : named(tool.tools),
        );
      const input = body.input as Json[];
      const sent = [...named(body.tools), ...input.flatMap(({ tools }) => named(tools))];
      expect(chat.tools.map((tool) => tool.name)).toEqual(sent.filter((tool) => tool !== "web_search"));
      expect(chat.webSearch !== undefined).toBe(sent.includes("web_search"));
      expect(warnings).toEqual([]);
    });
});
