// Requests that grow with a number: each has many of one thing. They are legal for any number that is not too large.

type Grow = (n: number) => object;

const times = <T>(n: number, make: (i: number) => T): T[] => Array.from({ length: n }, (_, i) => make(i));
const named = (n: number): object => Object.fromEntries(times(n, (i) => [`x${i}`, 0]));

const user = (content: unknown): object => ({ role: "user", content });
const call = (i: number | string): object => ({
  id: `call_${i}`,
  type: "function",
  function: { name: "f", arguments: '{"a":[1,{"b":2}]}' },
});
const result = (i: number | string): object => ({
  role: "tool",
  tool_call_id: `call_${i}`,
  content: '{"r":1}',
});
const answer = (more: object): object => ({ role: "assistant", content: null, ...more });
const tool = (i: number): object => ({ type: "function", function: { name: `f${i}`, parameters: {} } });
const chat = (...messages: object[]): object => ({ messages: [user("a"), ...messages] });
const image = {
  type: "image_url",
  image_url: { url: "data:image/png;thought_signature=c2ln;base64,iVBORw0KGgo=" },
};
const properties = (n: number): object => Object.fromEntries(times(n, (i) => [`x${i}`, { type: "string" }]));
const schemaOf = (n: number): object => ({
  type: "object",
  properties: properties(n),
  required: times(n, (i) => `x${i}`),
  additionalProperties: false,
});

export const CHATS: Readonly<Record<string, Grow>> = {
  "calls in one answer": (n) => chat(answer({ tool_calls: times(n, call) }), ...times(n, result)),
  "calls in one answer, results the other way round": (n) =>
    chat(answer({ tool_calls: times(n, call) }), ...times(n, result).toReversed()),
  "calls without results": (n) => chat(answer({ tool_calls: times(n, call) }), user("b")),
  "calls one by one": (n) => chat(...times(n, (i) => [answer({ tool_calls: [call(i)] }), result(i)]).flat()),
  "calls one by one, all of one id": (n) =>
    chat(...times(n, () => [answer({ tool_calls: [call("x")] }), result("x")]).flat()),
  "calls with ids that nobody takes": (n) => {
    const id = (i: number): string => `${"ü".repeat(60)}${i}`;
    return chat(answer({ tool_calls: times(n, (i) => call(id(i))) }), ...times(n, (i) => result(id(i))));
  },
  "answers with calls in a row": (n) =>
    chat(...times(n, (i) => answer({ tool_calls: [call(i)] })), user("b")),
  "texts, then answers with calls in a row": (n) =>
    chat(
      answer({ content: times(n, () => ({ type: "text", text: "t" })), tool_calls: [call("first")] }),
      ...times(n, (i) => answer({ tool_calls: [call(i)] })),
      user("b"),
    ),
  "the same result again and again": (n) =>
    chat(answer({ tool_calls: [call(0)] }), ...times(n, () => result(0))),
  "calls of the old form": (n) =>
    chat(
      answer({ function_call: { name: "f", arguments: "{}" } }),
      ...times(n, () => ({ role: "function", name: "f", content: "r" })),
    ),
  "images in a result": (n) =>
    chat(answer({ tool_calls: [call(0)] }), { ...result(0), content: times(n, () => image) }, user("b")),
  tools: (n) => ({ ...chat(), tools: times(n, tool) }),
  "tools that are allowed": (n) => ({
    ...chat(),
    tools: times(n, tool),
    tool_choice: {
      type: "allowed_tools",
      allowed_tools: { mode: "auto", tools: times(n, tool) },
    },
  }),
  parts: (n) => chat(user(times(n, (i) => ({ type: "text", text: `p${i}` })))),
  images: (n) => chat(user(times(n, () => image))),
  "images of answers": (n) => chat(...times(n, () => answer({ content: "x", images: [image] })), user("b")),
  "messages of the user": (n) => chat(...times(n, () => user("x"))),
  answers: (n) => chat(...times(n, () => answer({ content: "x" })), user("b")),
  "system messages": (n) => ({ messages: times(n, () => ({ role: "system", content: "x" })) }),
  "system messages amid the others": (n) =>
    chat(...times(n, () => [{ role: "system", content: "x" }, user("x")]).flat()),
  "developer messages": (n) => chat(...times(n, () => ({ role: "developer", content: "x" }))),
  "reasoning with places": (n) =>
    chat(
      answer({
        content: "x".repeat(n),
        reasoning_details: times(n, (i) => ({
          type: "thinking",
          thinking: "t",
          signature: "c2ln",
          index: i * 2,
          text_before: i,
        })),
      }),
      user("b"),
    ),
  "reasoning without places": (n) =>
    chat(
      answer({
        content: "x",
        reasoning_details: times(n, () => ({ type: "thinking", thinking: "t", signature: "c2ln" })),
      }),
      user("b"),
    ),
  "reasoning of many vendors": (n) =>
    chat(
      answer({
        content: "x",
        reasoning_details: times(n, (i) => ({ type: "thinking", thinking: "t", format: `v${i}` })),
      }),
      user("b"),
    ),
  "marks of the cache": (n) =>
    chat(user(times(n, () => ({ type: "text", text: "x", cache_control: { type: "ephemeral" } })))),
  "unknown fields": (n) => ({ ...chat(), ...named(n) }),
  "unknown fields of a message": (n) => chat({ ...user("b"), ...named(n) }),
  "unknown fields of an answer": (n) => chat(answer({ content: "x", ...named(n) }), user("b")),
  metadata: (n) => ({ ...chat(), metadata: named(n) }),
  "fields of a schema": (n) => ({
    ...chat(),
    response_format: { type: "json_schema", json_schema: { name: "s", strict: true, schema: schemaOf(n) } },
  }),
  "fields of a tool": (n) => ({
    ...chat(),
    tools: [{ type: "function", function: { name: "f", strict: true, parameters: schemaOf(n) } }],
    tool_choice: "required",
  }),
};

const use = (i: number): object => ({ type: "tool_use", id: `toolu_${i}`, name: "f", input: {} });
const used = (i: number): object => ({ type: "tool_result", tool_use_id: `toolu_${i}`, content: "r" });
const text = { type: "text", text: "x" };
const blocks = (...content: object[]): object => ({ messages: [user(content)] });

export const MESSAGES: Readonly<Record<string, Grow>> = {
  "calls in one answer": (n) => ({
    messages: [user("a"), { role: "assistant", content: times(n, use) }, user(times(n, used).toReversed())],
  }),
  "calls one by one": (n) => ({
    messages: [
      user("a"),
      ...times(n, (i) => [{ role: "assistant", content: [use(i)] }, user([used(i)])]).flat(),
    ],
  }),
  "messages of the user": (n) => ({ messages: times(n, () => user("x")) }),
  tools: (n) => ({ messages: [user("x")], tools: times(n, (i) => ({ name: `f${i}`, input_schema: {} })) }),
  "tools that search": (n) => ({
    messages: [user("x")],
    tools: times(n, (i) => ({ type: "web_search_20250305", name: `s${i}` })),
  }),
  blocks: (n) => blocks(...times(n, () => text)),
  images: (n) =>
    blocks(...times(n, () => ({ type: "image", source: { type: "url", url: "https://a.example/x" } }))),
  "blocks of a result": (n) => blocks({ ...used(0), content: times(n, () => text) }),
  "system blocks": (n) => ({ ...blocks(text), system: times(n, () => text) }),
  "marks of the cache": (n) => blocks(...times(n, () => ({ ...text, cache_control: { type: "ephemeral" } }))),
  "unknown fields": (n) => ({ ...blocks(text), ...named(n) }),
  "unknown fields of a block": (n) => blocks({ ...text, ...named(n) }),
  "members of an input": (n) => ({
    messages: [user("a"), { role: "assistant", content: [{ ...use(0), input: named(n) }] }, user([used(0)])],
  }),
  "stop sequences": (n) => ({ ...blocks(text), stop_sequences: times(n, (i) => `s${i}`) }),
  "edits of the context": (n) => ({
    ...blocks(text),
    context_management: { edits: times(n, () => ({ type: "clear_tool_uses_20250919" })) },
  }),
  "fields of a schema": (n) => ({
    ...blocks(text),
    output_config: { format: { type: "json_schema", schema: schemaOf(n) } },
  }),
};

const asks = (i: number): object => ({ functionCall: { name: `f${i}`, args: {} } });
const gives = (i: number): object => ({ functionResponse: { name: `f${i}`, response: {} } });
const turn = (...parts: object[]): object => ({ contents: [{ role: "user", parts }] });

export const GENERATES: Readonly<Record<string, Grow>> = {
  "calls in one answer": (n) => ({
    contents: [
      { role: "user", parts: [{ text: "a" }] },
      { role: "model", parts: times(n, asks) },
      { role: "user", parts: times(n, gives) },
      { role: "user", parts: [{ text: "b" }] },
    ],
  }),
  "calls one by one": (n) => ({
    contents: [
      { role: "user", parts: [{ text: "a" }] },
      ...times(n, (i) => [
        { role: "model", parts: [asks(i)] },
        { role: "user", parts: [gives(i)] },
      ]).flat(),
      { role: "user", parts: [{ text: "b" }] },
    ],
  }),
  contents: (n) => ({ contents: times(n, () => ({ role: "user", parts: [{ text: "x" }] })) }),
  parts: (n) => turn(...times(n, () => ({ text: "x" }))),
  "parts of a response": (n) =>
    turn({
      functionResponse: {
        name: "f",
        response: {},
        parts: times(n, () => ({ inlineData: { mimeType: "image/png", data: "AAAA" } })),
      },
    }),
  declarations: (n) => ({
    ...turn({ text: "x" }),
    tools: [{ functionDeclarations: times(n, (i) => ({ name: `f${i}` })) }],
  }),
  "functions that are allowed": (n) => ({
    ...turn({ text: "x" }),
    tools: [{ functionDeclarations: times(n, (i) => ({ name: `f${i}` })) }],
    toolConfig: { functionCallingConfig: { mode: "ANY", allowedFunctionNames: times(n, (i) => `f${i}`) } },
  }),
  "unknown fields": (n) => ({ ...turn({ text: "x" }), ...named(n) }),
  "unknown fields of the configuration": (n) => ({ ...turn({ text: "x" }), generation_config: named(n) }),
  "members of arguments": (n) => ({
    contents: [
      { role: "user", parts: [{ text: "a" }] },
      { role: "model", parts: [{ functionCall: { name: "f", args: named(n) } }] },
      { role: "user", parts: [{ functionResponse: { name: "f", response: named(n) } }] },
      { role: "user", parts: [{ text: "b" }] },
    ],
  }),
  "fields of a schema": (n) => ({
    ...turn({ text: "x" }),
    generationConfig: { responseMimeType: "application/json", responseSchema: schemaOf(n) },
  }),
  "safety settings": (n) => ({
    ...turn({ text: "x" }),
    safetySettings: times(n, () => ({ category: "HARM_CATEGORY_HARASSMENT", threshold: "BLOCK_NONE" })),
  }),
};
