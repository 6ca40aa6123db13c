import { expect, test } from "bun:test";
import { wireRequest } from "../../../test/protocols/wire-request.ts";
import { joinBytes } from "../../core/bytes/bytes.ts";
import type { Model } from "../../core/model.ts";
import { sealCarrier } from "../carrier.ts";
import type { RelayTarget } from "../protocol.ts";
import { responses } from "./index.ts";

const KEY = { secret: "s", account: "a" };
const TARGET: RelayTarget = {
  model: { id: "v/m", maxOutput: null, ignoredParameters: [], prices: {} } as unknown as Model,
  upstreamId: "up",
  unknownFields: "remove",
  native: true,
  streamUsageOption: false,
};
const user = { role: "user", content: "Go on." };
const compaction = (account: string) => ({
  type: "compaction",
  id: "cmp_1",
  encrypted_content: sealCarrier({ kind: "compaction", text: "So far: A." }, { ...KEY, account }),
});
const openAi: RelayTarget = { ...TARGET, model: { ...TARGET.model, id: "openai/m" } };
const upstream = (fields: object, target = TARGET) => {
  const wire = wireRequest({ model: "v/m", ...fields }, { carrier: KEY });
  const { body, warnings } = responses.upstreamBody(responses.readRequest(wire), target);
  return { sent: JSON.parse(new TextDecoder().decode(joinBytes(body))), warnings };
};
const sentFor = (input: readonly object[]) => upstream({ input }).sent.input;

test("what OpenAI alone has of the format goes up to it, and is left out for others by name", () => {
  const fields = {
    input: "hi",
    moderation: { model: "omni-moderation-latest" },
    context_management: [{ type: "compaction", compact_threshold: 1_000 }],
    background: false,
  };
  const { background: _default, ...kept } = fields;
  const { sent, warnings } = upstream(fields, openAi);
  expect(sent).toMatchObject(kept);
  expect([sent.background, warnings]).toEqual([undefined, []]);
  for (const other of [{ functionsOnly: true } as const, { native: false }]) {
    const left = upstream(fields, { ...TARGET, ...other });
    expect(Object.keys(left.sent)).not.toContain("moderation");
    expect(left.warnings).toEqual([
      "context_management was left out: the provider of v/m does not take it",
      "moderation was left out: the provider of v/m does not take it",
    ]);
  }
});

test("a summary that another model wrote here goes up in words", () => {
  const message = {
    type: "message",
    role: "developer",
    content: [{ type: "input_text", text: "So far: A." }],
  };
  expect(sentFor([compaction("a"), user])).toEqual([message, user]);
  const reasoning = { type: "reasoning", id: "rs_1", summary: [] };
  expect(sentFor([compaction("a"), reasoning, user])).toEqual([message, user]);
});

test("a summary of another account's is refused, and a vendor's own goes up as it is", () => {
  expect(() => sentFor([compaction("b"), user])).toThrow(
    "input[0].encrypted_content is sealed for somebody else",
  );
  const own = { type: "compaction", id: "cmp_2", encrypted_content: "gAAAA" };
  expect(sentFor([own, user])).toEqual([own, user]);
});

test("tools that an item of the input offers go up, but for those that run at the provider", () => {
  const own = { type: "custom", name: "exec" };
  const offer = {
    type: "additional_tools",
    role: "developer",
    id: "at_1",
    tools: [own, { type: "web_search" }],
  };
  const { sent, warnings } = upstream({ input: [offer, user] });
  const { id: _id, ...bare } = offer;
  expect(sent.input).toEqual([{ ...bare, tools: [own] }, user]);
  expect(warnings).toEqual(["input[0].tools[1] was left out: web_search runs at the provider"]);
  const lost = { type: "reasoning", id: "rs_1", summary: [] };
  expect(sentFor([offer, lost, user])).toEqual([{ ...bare, tools: [own] }, user]);
  expect(sentFor([{ ...bare, tools: [own] }, user])).toEqual([{ ...bare, tools: [own] }, user]);
});

test("what makes an answer dearer without a price is refused by name", () => {
  const asks = (fields: object) => () => upstream({ input: "hi", ...fields });
  expect(asks({ reasoning: { mode: "pro" } })).toThrow("reasoning.mode changes the price");
  expect(asks({ prompt_cache_options: { ttl: "12h" } })).toThrow(
    "prompt_cache_options.ttl changes the price",
  );
  expect(asks({ prompt_cache_options: { prewarm: true } })).toThrow(
    "prompt_cache_options.prewarm is not served",
  );
  expect(upstream({ input: "hi", prompt_cache_options: null }).sent.input).toBe("hi");
  const free = { reasoning: { mode: "standard" }, prompt_cache_options: { ttl: "30m" } };
  const compared = { ...free.prompt_cache_options, comparison_response_id: "resp_1" };
  expect(upstream({ input: "hi", ...free, prompt_cache_options: compared }).sent).toMatchObject(free);
  expect(upstream({ input: "hi", prompt_cache_options: compared }).sent.prompt_cache_options).toEqual({
    ttl: "30m",
  });
});

test("a schema that is nested as in chat completions goes up as Responses has it", () => {
  const schema = { name: "n", schema: { type: "object" }, strict: true };
  const nested = { format: { type: "json_schema", json_schema: schema }, verbosity: "low" };
  const { sent } = upstream({ input: "hi", text: nested });
  expect(sent.text).toEqual({ format: { type: "json_schema", ...schema }, verbosity: "low" });
});

test("reasoning that comes back without its empty summary gets one", () => {
  const sealed = { type: "reasoning", id: "rs_1", encrypted_content: "gAAAA" };
  const said = { role: "assistant", content: "Yes." };
  expect(sentFor([sealed, said, user])).toEqual([{ ...sealed, summary: [] }, said, user]);
});

test("a bound on output that OpenAI takes no longer is raised, told, and held for", () => {
  const asked = { input: "hi", max_output_tokens: 1 };
  const { sent, warnings } = upstream(asked, openAi);
  expect(sent.max_output_tokens).toBe(16);
  expect(warnings).toEqual(["max_output_tokens was raised to 16: openai/m takes no less"]);
  const request = responses.readRequest(wireRequest({ model: "v/m", ...asked }));
  expect(responses.demandAt?.(request, openAi).maxOutputTokens).toBe(16);
  expect(upstream({ ...asked, max_output_tokens: 16 }, openAi).warnings).toEqual([]);
  expect(upstream(asked)).toMatchObject({ sent: { max_output_tokens: 1 }, warnings: [] });
});

test("the phase of a message goes to OpenAI as it came, and to no other", () => {
  const lost = { type: "reasoning", id: "rs_1", summary: [] };
  const said = { type: "message", role: "assistant", phase: "commentary", content: "Look." };
  const { phase: _phase, ...plain } = said;
  expect(upstream({ input: [said, user] }, openAi).sent.input).toEqual([said, user]);
  expect(upstream({ input: [lost, said, user] }, openAi).sent.input).toEqual([said, user]);
  expect(sentFor([said, user])).toEqual([plain, user]);
  expect(sentFor([lost, said, user])).toEqual([plain, user]);
});

test("what is asked for beside the answer is left out where nobody knows it, and told", () => {
  const known = ["message.output_text.logprobs", "reasoning.encrypted_content"];
  const { sent, warnings } = upstream({ input: "hi", include: [...known, "my.own"] });
  expect(sent.include).toEqual(known);
  expect(warnings).toEqual(["include my.own was left out: it is not known"]);
  const away: RelayTarget = { ...TARGET, native: false };
  expect(upstream({ input: "hi", include: ["my.own"] }, away).sent.include).toEqual([]);
  expect(upstream({ input: "hi", include: known }, away).sent.include).toEqual(known);
});

const FUNCTION = { type: "function", name: "f", parameters: {} };

test("no tool that runs at the provider goes up without a price, whatever it is called and wherever it stands", () => {
  const hosted = [
    { type: "web_search" },
    { type: "web_search_preview_2025_03_11" },
    { type: "file_search", vector_store_ids: ["vs_1"] },
    { type: "code_interpreter", container: { type: "auto" } },
    { type: "computer_use_preview" },
    { type: "mcp", server_label: "s", server_url: "https://example.com" },
    { type: "image_generation" },
    { type: "programmatic_tool_calling" },
    { type: "shell", environment: { type: "container_auto" } },
    { type: "a_tool_of_tomorrow" },
  ];
  const local = [
    FUNCTION,
    { type: "shell" },
    { type: "shell", environment: { type: "local" } },
    { type: "tool_search" },
  ];
  for (const tool of hosted) {
    const { sent, warnings } = upstream({ input: "hi", tools: [...local, tool] }, openAi);
    expect(sent.tools).toEqual(local);
    expect(warnings).toEqual([
      `tools[4] was left out: ${tool.type} runs at the provider and has no price here`,
    ]);
    expect(() => upstream({ input: "hi", tools: [tool] }, openAi)).toThrow(`tools[0].type is ${tool.type}`);
    const choice = { type: tool.type };
    expect(() => upstream({ input: "hi", tools: [FUNCTION, tool], tool_choice: choice }, openAi)).toThrow(
      `tools[1].type is ${tool.type}`,
    );
  }
});

test("a search that is chosen by another of its names is chosen all the same", () => {
  const asked = { input: "hi", tools: [FUNCTION, { type: "web_search" }] };
  expect(() => upstream({ ...asked, tool_choice: { type: "web_search_preview" } })).toThrow("tools[1].type");
});

test("hosted tools are not the only ones where an item brings others", () => {
  const offer = { type: "additional_tools", role: "developer", tools: [{ type: "custom", name: "exec" }] };
  const { sent } = upstream({ input: [offer, user], tools: [{ type: "web_search" }] }, openAi);
  expect(sent).not.toHaveProperty("tools");
  expect(sent.input).toEqual([offer, user]);
});

test("of tools that may be called those that were left out are none", () => {
  const tools = [FUNCTION, { type: "web_search" }];
  const choice = (...chosen: object[]) => ({ type: "allowed_tools", mode: "auto", tools: chosen });
  const [f, search] = [{ type: "function", name: "f" }, { type: "web_search" }];
  const { sent } = upstream({ input: "hi", tools, tool_choice: choice(f, search) }, openAi);
  expect(sent.tool_choice).toEqual(choice(f));
  expect(() => upstream({ input: "hi", tools, tool_choice: choice(search) }, openAi)).toThrow(
    "tool_choice.tools has no other",
  );
});

test("reasoning goes back to OpenAI by its seal, and to a server that shows it by its words", () => {
  const words = [{ type: "reasoning_text", text: "Hm." }];
  const sealed = { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "gAAAA" };
  const away: RelayTarget = { ...TARGET, native: false };
  const said = { role: "assistant", content: "Yes." };
  const sentTo = (target: RelayTarget, item: object): object[] =>
    upstream({ input: [user, item, said, user] }, target).sent.input.slice(1, -2);
  expect(sentTo(openAi, { ...sealed, content: words })).toEqual([sealed]);
  const { encrypted_content: _seal, ...open } = { ...sealed, content: words };
  expect(sentTo(openAi, open)).toEqual([]);
  expect(sentTo(away, open)).toEqual([open]);
  expect(sentTo(away, { ...sealed, content: words })).toEqual([open]);
  for (const target of [away, openAi]) {
    expect(sentTo(target, sealed)).toEqual([sealed]);
    expect(sentTo(target, { ...sealed, content: [] })).toEqual([{ ...sealed, content: [] }]);
  }
  const { summary: _none, ...bare } = open;
  expect(sentTo(away, bare)).toEqual([open]);
});

test("R6: what one vendor has sealed is left out for another, and the caller is told", () => {
  const xai: RelayTarget = { ...TARGET, functionsOnly: true, model: { ...TARGET.model, id: "xai/m" } };
  const seals = [
    { target: openAi, own: "gAAAAAB-_x", others: "m/Nx6+" },
    { target: xai, own: "m/Nx6+", others: "gAAAAAB-_x" },
  ];
  const said = { id: "msg_1", type: "message", role: "assistant", content: "Yes." };
  for (const { target, own, others } of seals) {
    const thought = (sealed: string) => ({
      type: "reasoning",
      id: "rs_1",
      summary: [],
      encrypted_content: sealed,
    });
    const kept = upstream({ input: [user, thought(own), said, user] }, target);
    expect([kept.sent.input, kept.warnings]).toEqual([[user, thought(own), said, user], []]);
    const left = upstream({ input: [user, thought(others), said, user] }, target);
    const { id: _id, ...bare } = said;
    expect(left.sent.input).toEqual([user, bare, user]);
    expect(left.warnings).toEqual(["input[1] was left out: another model's reasoning"]);
  }
});

test("a thought of an answer that was cut off does not go up alone", () => {
  const thought = { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "gAAAA" };
  const call = { type: "function_call", id: "fc_1", call_id: "c", name: "f", arguments: "{}" };
  const output = { type: "function_call_output", call_id: "c", output: "x" };
  for (const rest of [[user], [], [thought, user]]) {
    const { sent, warnings } = upstream({ input: [user, thought, ...rest] }, openAi);
    expect(sent.input).toEqual([user, ...rest.filter((item) => item === user)]);
    expect(warnings[0]).toBe("input[1] was left out: it led to nothing");
  }
  const whole = [user, thought, thought, call, output];
  expect(upstream({ input: whole }, openAi).sent.input).toEqual(whole);
});
