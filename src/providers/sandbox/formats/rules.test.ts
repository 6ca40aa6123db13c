import { describe, expect, test } from "bun:test";
import type { JsonObject } from "../../../core/json/json-value.ts";
import type { Model } from "../../../core/model.ts";
import { createKeyedHash } from "../../../runtime/hash.ts";
import { createSeal } from "../seal.ts";
import { type AskContext, Refusal } from "./ask.ts";
import { checkChat } from "./chat-rules.ts";
import { checkGenerate } from "./generate-rules.ts";
import { checkMessages } from "./messages-rules.ts";
import { checkResponses } from "./responses-rules.ts";

// What the vendors' servers refuse is refused in their words. Each table has requests that are taken, and of the refused
// ones how their sentence begins.

const seal = createSeal(createKeyedHash("secret"));
const contextOf = (vendor: string, outputs: readonly string[] = ["text"]): AskContext => ({
  model: { id: `${vendor}/m`, vendor, outputModalities: outputs } as unknown as Model,
  digest: "d",
  seal,
});

type Refused = readonly (readonly [body: object, sentence: string, param?: string])[];

/** The sentence and the parameter of a refusal; nothing where the request is taken. */
function told(check: () => void): readonly unknown[] {
  try {
    check();
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    expect([error.status, error.meaning]).toEqual([400, "invalid"]);
    return [error.message, error.param];
  }
  return [];
}

/** Holds the tables against a way of checking. */
function holds(check: (body: JsonObject) => void, taken: readonly object[], refused: Refused): void {
  for (const body of taken) expect([body, told(() => check({ ...body }))]).toEqual([body, []]);
  for (const [body, sentence, param] of refused) {
    const [message, named] = told(() => check({ ...body }));
    expect([body, message, named]).toEqual([body, expect.stringContaining(sentence), param]);
  }
}

const PRIVATE = "http://127.0.0.1/a";
const BAD = "data:image/png;base64,%%";
const GOOD = "data:image/png;base64,AAAA";
const signed = { thinking: "Hm.", signature: seal.sign("Hm.") };
const token = seal.token("a");

describe("chat completions", () => {
  const said = (...messages: object[]) => ({ messages });
  const user = { role: "user", content: "hi" };
  const check = (vendor: string, outputs?: readonly string[]) => (body: JsonObject) =>
    checkChat(body, contextOf(vendor, outputs));
  const part = (more: object) => said({ role: "user", content: [{ type: "text", text: "a" }, more] });

  test("media that cannot be read, each by its own field", () => {
    const at = "messages[0].content[1]";
    const kinds = ["image_url", "video_url", "audio_url"];
    holds(
      check("xai"),
      [
        ...kinds.flatMap((kind) => [
          part({ [kind]: { url: GOOD } }),
          part({ [kind]: { url: "https://example.com/a" } }),
        ]),
        part({ file: { file_data: "AAAA" } }),
        part({ file: { file_data: GOOD } }),
        part({ file: { file_id: "f" } }),
        part({ input_audio: { data: "AAAA" } }),
      ],
      [
        ...kinds.flatMap((kind) => [
          [part({ [kind]: { url: PRIVATE } }), "Error while downloading", `${at}.${kind}.url`] as const,
          [part({ [kind]: { url: BAD } }), "Invalid base64", `${at}.${kind}.url`] as const,
        ]),
        [part({ file: { file_data: "%%" } }), "Invalid file data", `${at}.file.file_data`],
        [part({ file: { file_data: BAD } }), "Invalid file data", `${at}.file.file_data`],
        [part({ input_audio: { data: "%%" } }), "Invalid base64 input_audio", `${at}.input_audio.data`],
      ],
    );
  });

  const call = (id: string) => ({ id, type: "function", function: { name: "f", arguments: "{}" } });
  const calling = (...ids: string[]) => ({ role: "assistant", tool_calls: ids.map(call) });
  const result = (id: string) => ({ role: "tool", tool_call_id: id, content: "x" });

  test("calls without their results, at the vendors that want them", () => {
    const refused: Refused = [
      [said(user, result("a")), "Invalid parameter: messages with role 'tool'", "messages[1].role"],
      [
        said(user, calling("a"), result("b")),
        "Invalid parameter: messages with role 'tool'",
        "messages[2].role",
      ],
      [said(user, calling("a"), user), "An assistant message with 'tool_calls'", "messages[2].role"],
      [said(user, calling("a")), "An assistant message with 'tool_calls'", "messages"],
      [said(user, calling("a", "b"), result("a"), user), "response messages: b", "messages[3].role"],
    ];
    const taken = [
      said(user, calling("a", "b"), result("b"), result("a")),
      said(user, calling("a"), result("a"), calling("b"), result("b"), user),
    ];
    for (const vendor of ["openai", "deepseek", "alibaba", "moonshotai"])
      holds(check(vendor), taken, refused);
    holds(check("xai"), [...taken, ...refused.map(([body]) => body)], []);
  });

  test("JSON that the prompt does not speak of, at the vendors that want it named", () => {
    const response_format = { type: "json_object" };
    const bare = { ...said(user), response_format };
    const sentence = "'messages' must contain the word 'json'";
    const taken = [
      { ...said({ role: "user", content: "As JSON." }), response_format },
      { ...part({ type: "text", text: "as json" }), response_format },
      { ...said(user), response_format: { type: "json_schema" } },
    ];
    for (const vendor of ["openai", "deepseek", "alibaba"])
      holds(check(vendor), taken, [[bare, sentence, "messages"]]);
    holds(check("moonshotai"), [bare, ...taken], []);
  });

  test("counts of likely tokens beyond twenty", () => {
    const likely = (top_logprobs: unknown) => ({ ...said(user), top_logprobs });
    const sentence = "Invalid 'top_logprobs'";
    holds(
      check("xai"),
      [likely(0), likely(20), likely(undefined)],
      [-1, 21, 1.5].map((n) => [likely(n), sentence, "top_logprobs"]),
    );
  });

  test("signatures that were changed or were never given", () => {
    const thought = (detail: object) =>
      said(user, {
        role: "assistant",
        content: "a",
        reasoning_details: [{ type: "text" }, { type: "thinking", ...detail }],
      });
    const google = (thought_signature: unknown) =>
      said(user, {
        role: "assistant",
        tool_calls: [{ ...call("a"), extra_content: { google: { thought_signature } } }],
      });
    const wrong = "messages[1].reasoning_details.1: Invalid `signature` in `thinking` block";
    holds(
      check("xai"),
      [
        thought(signed),
        thought({ thinking: "Hm." }),
        thought({ signature: token }),
        google(token),
        google(1),
      ],
      [
        [thought({ ...signed, thinking: "No." }), wrong],
        [thought({ signature: token, format: "anthropic-claude-v1" }), wrong],
        [google("AAAA"), "Corrupted thought signature."],
      ],
    );
  });

  test("images of a model's own that came back without their signature, or with another's", () => {
    const url = (signature: string) => `data:image/png;${signature}base64,AAAA`;
    const image = (signature: string) => ({ type: "image_url", image_url: { url: url(signature) } });
    const good = `thought_signature=${token};`;
    const assistant = (more: object) => said(user, { role: "assistant", ...more });
    const missing = "messages[1]: Image part is missing a thought_signature.";
    holds(
      check("google", ["text", "image"]),
      [
        assistant({ images: [image(good)] }),
        assistant({ content: [image(good)] }),
        said({ role: "user", content: [image("")] }),
      ],
      [
        [assistant({ images: [image("")] }), missing],
        [assistant({ content: [image("")] }), missing],
        [assistant({ images: [image("thought_signature=AAAA;")] }), "Corrupted thought signature."],
      ],
    );
    holds(
      check("google"),
      [assistant({ images: [image("")] })],
      [[assistant({ images: [image("thought_signature=AAAA;")] }), "Corrupted thought signature."]],
    );
  });
});

describe("messages", () => {
  const check = (body: JsonObject) => checkMessages(body, contextOf("anthropic"));
  const user = { role: "user", content: "hi" };
  const said = (...messages: object[]) => ({ messages: [user, ...messages] });
  const answer = (...content: object[]) => ({ role: "assistant", content });
  const text = { type: "text", text: "a" };
  const call = (id: string) => ({ type: "tool_use", id, name: "f", input: {} });
  const result = (id: string, more: object = {}) => ({
    type: "tool_result",
    tool_use_id: id,
    content: "x",
    ...more,
  });
  const results = (...ids: string[]) => ({ role: "user", content: ids.map((id) => result(id)) });
  const thought = { type: "thinking", ...signed };

  test("stops of nothing, instructions out of place and turns without a word", () => {
    const system = { role: "system", content: "x" };
    const mute = "all messages must have non-empty content";
    holds(
      check,
      [
        { ...said(), stop_sequences: ["a "] },
        said(system, answer(text)),
        said({ role: "assistant", content: "" }),
        said({ role: "assistant", content: [] }),
      ],
      [
        [{ ...said(), stop_sequences: ["a", " \n"] }, "stop_sequences: each stop sequence"],
        [{ messages: [system, user] }, "messages.0: system messages must follow a user message"],
        [said(system, system), "messages.2: system messages must follow a user message"],
        [said({ role: "assistant", content: "" }, user), `messages.1: ${mute}`],
        [said({ role: "assistant", content: [] }, user), `messages.1: ${mute}`],
        [{ messages: [user, { role: "user", content: "" }] }, `messages.1: ${mute}`],
      ],
    );
  });

  test("thinking with fields of others, or beside a tool that is forced", () => {
    const asks = (type: string, more: object = {}) => ({ ...said(), thinking: { type }, ...more });
    const any = { tool_choice: { type: "any" } };
    const forced = "Thinking may not be enabled when tool_choice forces tool use.";
    holds(
      check,
      [
        { ...said(), thinking: { type: "enabled", budget_tokens: 1_024, display: "omitted" } },
        asks("disabled", any),
        asks("enabled", { tool_choice: { type: "auto" } }),
      ],
      [
        [
          { ...said(), thinking: { type: "adaptive", effort: "low" } },
          "thinking.adaptive.effort: Extra inputs",
        ],
        [asks("enabled", any), forced],
        [asks("adaptive", any), forced],
        [asks("enabled", { tool_choice: { type: "tool", name: "f" } }), forced],
      ],
    );
  });

  test("blocks of unknown types, with unknown fields, or without what they need", () => {
    const source = (type: string, more: object) => ({ type: "image", source: { type, ...more } });
    const given = (...content: object[]) => ({ messages: [{ role: "user", content }] });
    holds(
      check,
      [
        given(text, source("base64", { data: "AAAA" }), source("url", { url: "https://example.com/a" })),
        given({ type: "container_upload", file_id: "f" }, { type: "bash_code_execution_tool_result" }),
        { ...said(), system: [text] },
      ],
      [
        [given({ type: "video" }), "messages.0.content.0: Input tag 'video' found using 'type'"],
        [given({ type: "constructor" }), "messages.0.content.0: Input tag 'constructor'"],
        [given(text, { ...text, title: "t" }), "messages.0.content.1.text.title: Extra inputs"],
        [{ ...said(), system: [{ ...text, x: 1 }] }, "system.0.text.x: Extra inputs"],
        [given({ type: "text", text: "" }), "messages: text content blocks must be non-empty"],
        [said(answer(call("a b")), results("a b")), "messages.1.content.0.tool_use.id: String should match"],
        [
          said(answer({ ...call("a b"), type: "server_tool_use" })),
          "messages.1.content.0.server_tool_use.id: String should match",
        ],
        [given(source("base64", { data: "%" })), "messages.0.content.0.image.source.base64: invalid base64"],
        [given(source("url", { url: PRIVATE })), "messages.0.content.0.image.source.url: Unable to download"],
        [
          said(answer(call("a")), { role: "user", content: [result("a", { content: [{ type: "video" }] })] }),
          "messages.2.content.0.tool_result.content.0: Input tag 'video'",
        ],
      ],
    );
  });

  test("calls and results that do not belong together", () => {
    const open = "`tool_use` ids were found without `tool_result` blocks immediately after: ";
    const both = { role: "user", content: [result("a"), text] };
    holds(
      check,
      [
        said(answer(call("a"), call("b")), results("b", "a")),
        said(answer(call("a")), both, answer(call("b")), results("b"), answer(text)),
        said(answer(call("a")), { role: "system", content: "x" }, results("a")),
      ],
      [
        [said(results("a")), "messages.1.content.0: unexpected `tool_use_id`"],
        [
          said(answer(call("a")), { role: "user", content: [result("a"), result("b")] }),
          "messages.2.content.1:",
        ],
        [said(answer(call("a")), results("a", "a")), "messages.2: each tool_use must have a single result."],
        [said(answer(call("a")), user), `messages.1: ${open}a`],
        [said(answer(call("a"))), `messages.1: ${open}a`],
        [said(answer(call("a"), call("b")), results("b")), `messages.1: ${open}a.`],
        [
          said(answer(call("a")), { role: "user", content: [text, result("a")] }),
          "messages.2: `tool_result` blocks must come first",
        ],
        [
          said(answer(call("a")), results("a"), answer(call("a")), results("a")),
          "messages.3: `tool_use` ids must be unique",
        ],
      ],
    );
  });

  test("a run of calls that begins without its thinking, where thinking is measured out", () => {
    const thinking = { type: "enabled", budget_tokens: 1_024 };
    const run = (...messages: object[]) => ({ ...said(...messages), thinking });
    holds(
      check,
      [
        run(answer(thought, call("a")), results("a")),
        run(answer(thought, call("a")), results("a"), answer(call("b")), results("b")),
        run(answer(text), user, answer(thought, call("a")), results("a")),
        run(answer(call("a")), results("a"), answer(text), user),
        { ...run(answer(call("a")), results("a")), thinking: { type: "adaptive" } },
      ],
      [
        [
          run(answer(text, call("a")), results("a")),
          "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `text`",
        ],
        [run(answer(thought, text), user, answer(call("a")), results("a")), "messages.3.content.0.type"],
        [
          run(answer(thought, text), { role: "user", content: [text] }, answer(call("a")), results("a")),
          "messages.3.content.0.type",
        ],
      ],
    );
  });

  test("too many marks for the cache, white space at the end, and signatures that are wrong", () => {
    const cache_control = { type: "ephemeral" };
    const marks = (count: number) => ({
      messages: [
        { role: "user", content: Array.from({ length: count }, () => ({ ...text, cache_control })) },
      ],
    });
    const block = (detail: object) => said(answer({ type: "thinking", ...detail }, text), user);
    const space = "messages: final assistant content cannot end with trailing whitespace";
    const invalid = "messages.1.content.0: Invalid `signature` in `thinking` block";
    holds(
      check,
      [
        marks(4),
        { ...marks(4), cache_control: null },
        said({ role: "assistant", content: "a" }),
        { messages: [{ role: "user", content: "a " }] },
        block(signed),
        { messages: [{ role: "user", content: [{ type: "thinking", thinking: "x" }] }] },
      ],
      [
        [marks(5), "A maximum of 4 blocks with cache_control may be provided. Found 5."],
        [{ ...marks(4), cache_control }, "Found 5."],
        [{ ...marks(4), tools: [{ name: "f", cache_control }] }, "Found 5."],
        [said({ role: "assistant", content: "a " }), space],
        [said(answer(text, { type: "text", text: "b\n" })), space],
        [block({ thinking: "Hm." }), "messages.1.content.0.thinking.signature: Field required"],
        [block({ ...signed, thinking: "No." }), invalid],
        [said(answer({ type: "redacted_thinking", data: "x" })), "messages.1.content.0: Invalid `data`"],
      ],
    );
  });
});

describe("responses", () => {
  const check = (body: JsonObject) =>
    checkResponses(body, (body["input"] ?? []) as readonly JsonObject[], contextOf("openai"));
  const user = { role: "user", content: "hi" };
  const call = (type: string, id: string) => ({ type, call_id: id, name: "f" });
  const output = (type: string, id: string) => ({ type: `${type}_output`, call_id: id, output: "x" });

  test("bounds on output below sixteen, and thoughts that nobody sealed here", () => {
    const thought = (sealed: unknown) => ({
      input: [user, { type: "reasoning", encrypted_content: sealed }],
    });
    holds(
      check,
      [
        { input: [user], max_output_tokens: 16 },
        { input: [user] },
        thought(token),
        thought(null),
        { input: [{ ...user, encrypted_content: "x" }] },
      ],
      [
        [
          { input: [user], max_output_tokens: 15 },
          "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but got 15",
          "max_output_tokens",
        ],
        [thought("x"), "The encrypted content could not be verified.", "input[1].encrypted_content"],
      ],
    );
  });

  test("calls without their outputs, and outputs without their calls", () => {
    for (const [type, name] of [
      ["function_call", "function call"],
      ["custom_tool_call", "custom tool call"],
    ] as const)
      holds(
        check,
        [{ input: [user, call(type, "a"), output(type, "a")] }],
        [
          [{ input: [user, call(type, "a")] }, `No tool output found for ${name} a.`, "input"],
          [
            { input: [call(type, "a"), output(type, "b"), output(type, "a")] },
            `No tool call found for ${name} output with call_id b.`,
            "input",
          ],
        ],
      );
    holds(check, [{ input: [{ type: "local_shell_call", call_id: "a" }] }], []);
  });

  test("JSON that nothing speaks of", () => {
    const text = { format: { type: "json_object" } };
    holds(
      check,
      [
        { text, input: [{ role: "user", content: "As JSON." }] },
        { text, input: [user], instructions: "json" },
        { text: { format: { type: "text" } }, input: [user] },
      ],
      [[{ text, input: [user] }, "Response input messages must contain the word 'json'", "input"]],
    );
  });

  test("media that cannot be read, in what was said and in what was put out", () => {
    const given = (part: object) => ({ input: [user, { role: "user", content: [part] }] });
    const put = (part: object) => ({
      input: [call("function_call", "a"), { ...output("function_call", "a"), output: [part] }],
    });
    for (const [place, at] of [
      [given, "input[1]"],
      [put, "input[1]"],
    ] as const)
      holds(
        check,
        [
          place({ image_url: GOOD }),
          place({ image_url: "https://example.com/a" }),
          place({ file_data: "AAAA" }),
          place({ file_data: GOOD }),
          place({ input_audio: { data: "AAAA" } }),
        ],
        [
          [place({ image_url: PRIVATE }), "Error while downloading http://127", `${at}.image_url`],
          [place({ image_url: BAD }), "Invalid base64 image_url.", `${at}.image_url`],
          [place({ file_data: "%" }), "Invalid file data", `${at}.file_data`],
          [place({ input_audio: { data: "%" } }), "Invalid base64 input_audio", `${at}.input_audio.data`],
        ],
      );
  });
});

describe("generateContent", () => {
  const check =
    (outputs?: readonly string[]) =>
    ({ received = {}, ...body }: JsonObject) =>
      checkGenerate({ ...contextOf("google", outputs), body, received: received as JsonObject });
  const turn = (role: string, ...parts: object[]) => ({ role, parts });
  const said = (...contents: object[]) => ({ contents: [turn("user", { text: "hi" }), ...contents] });
  const call = (name: string, thoughtSignature?: string) => ({
    functionCall: { name, args: {} },
    ...(thoughtSignature === undefined ? {} : { thoughtSignature }),
  });
  const response = (name: string) => ({ functionResponse: { name, response: {} } });

  test("turns without a part, and tools that are no list", () => {
    const empty = "parts: contents.parts must not be empty.";
    holds(
      check(),
      [said(turn("model"), turn("user", { text: "a" })), { ...said(), received: { tools: [] } }],
      [
        [said(turn("user")), `* GenerateContentRequest.contents[1].${empty}`],
        [said(turn("model")), `* GenerateContentRequest.contents[1].${empty}`],
        [{ ...said(), received: { tools: {} } }, "Invalid value at 'tools'"],
      ],
    );
  });

  test("parts without data, with names of others, or with bytes that are none", () => {
    const part = (value: object) => ({ contents: [turn("user", value)] });
    const unknown = (name: string, place: string) =>
      `Invalid JSON payload received. Unknown name "${name}" at 'contents[0].parts[0]${place}'`;
    const bytes = (place: string) => `Invalid value at 'contents[0].parts[0].${place}' (TYPE_BYTES)`;
    const fetched = "Cannot fetch content from the provided URL.";
    holds(
      check(),
      [
        part({ inlineData: { mimeType: "image/png", data: "AAAA" } }),
        part({ fileData: { fileUri: "https://example.com/a" } }),
        { ...said(), systemInstruction: { parts: [{ text: "a" }] } },
      ],
      [
        [part({ thought: true }), "contents[0].parts[0].data: required oneof field 'data'"],
        [
          { ...said(), systemInstruction: { parts: [{}] } },
          "system_instruction.parts[0].data: required oneof field 'data'",
        ],
        [part({ text: "a", oddity: 1 }), unknown("oddity", "")],
        [part({ functionCall: { name: "f", oddity: 1 } }), unknown("oddity", ".function_call")],
        [
          part({ functionResponse: { name: "f", response: {}, oddity: 1 } }),
          unknown("oddity", ".function_response"),
        ],
        [part({ inlineData: { data: "AAAA", oddity: 1 } }), unknown("oddity", ".inline_data")],
        [part({ fileData: { oddity: 1 } }), unknown("oddity", ".file_data")],
        [part({ inlineData: { data: "%" } }), bytes("inline_data.data")],
        [part({ text: "a", thoughtSignature: "%" }), bytes("thought_signature")],
        [part({ fileData: { fileUri: PRIVATE } }), fetched],
        [
          part({ functionResponse: { name: "f" } }),
          "Invalid value at 'contents[0].parts[0].function_response",
        ],
        [
          part({
            functionResponse: { name: "f", response: {}, parts: [{ fileData: { fileUri: PRIVATE } }] },
          }),
          fetched,
        ],
      ],
    );
  });

  test("settings that contradict each other, and tools that cannot be called", () => {
    const config = (generationConfig: object) => ({ ...said(), generationConfig });
    const declared = (more: object) => ({
      ...said(),
      tools: [{ functionDeclarations: [{ name: "f", ...more }] }],
    });
    const at = "tools[0].function_declarations[0]";
    const unknown = (place: string) => `Unknown name "$ref" at '${place}'`;
    const schema = { $ref: "#" };
    holds(
      check(),
      [
        config({ thinkingConfig: { thinkingBudget: 1, includeThoughts: true } }),
        config({ responseSchema: { type: "OBJECT", properties: { a: { type: "STRING" } } } }),
        declared({ parameters: { type: "OBJECT" } }),
        declared({ name: `_${"a".repeat(127)}` }),
        declared({ parametersJsonSchema: schema }),
      ],
      [
        [config({ thinkingConfig: { oddity: 1 } }), `"oddity" at 'generation_config.thinking_config'`],
        [
          config({ thinkingConfig: { thinkingBudget: 1, thinkingLevel: "LOW" } }),
          "You can only set only one of thinking budget and thinking level.",
        ],
        [config({ responseSchema: schema }), unknown("generation_config.response_schema")],
        [config({ responseSchema: { items: schema } }), unknown("generation_config.response_schema.items")],
        [
          config({ responseSchema: { anyOf: [{}, schema] } }),
          unknown("generation_config.response_schema.any_of[1]"),
        ],
        [declared({ name: "1" }), `Invalid function name at '${at}'`],
        [declared({ name: "a".repeat(129) }), `Invalid function name at '${at}'`],
        [declared({ oddity: 1 }), `"oddity" at '${at}'`],
        [
          declared({ parameters: {}, parametersJsonSchema: {} }),
          `${at}: parameters and parameters_json_schema are mutually exclusive.`,
        ],
        [declared({ parameters: { properties: { a: schema } } }), unknown(`${at}.parameters.a`)],
      ],
    );
  });

  test("calls and responses that do not belong together", () => {
    const before = "Please ensure that function call turn comes immediately after a user turn";
    const behind = "Please ensure that function response turn comes immediately after a function call turn.";
    const equal = "Please ensure that the number of function response parts is equal";
    const calling = turn("model", call("f", token), call("g"));
    holds(
      check(),
      [
        said(calling, turn("user", response("f"), response("g"))),
        said(
          turn("model", call("f", token)),
          turn("model", call("g")),
          turn("user", response("f"), response("g")),
        ),
      ],
      [
        [{ contents: [calling, turn("user", response("f"), response("g"))] }, before],
        [said(turn("model", { text: "a" }), turn("user", response("f"))), behind],
        [{ contents: [turn("user", response("f"))] }, behind],
        [said(calling, turn("user", response("f"))), equal],
        [said(calling, turn("user", { text: "a" })), equal],
      ],
    );
  });

  test("signatures that are missing, or not the sandbox's own", () => {
    const missing = (name: string, place: number) =>
      `Function call \`${name}\` in the \`${place}.\` content block is missing a \`thought_signature\`.`;
    const image = (more: object) =>
      said(turn("model", { inlineData: { mimeType: "image/png", data: "AAAA" }, ...more }));
    const answered = turn("user", response("f"));
    const unsigned = turn("model", call("f"));
    const own = turn("model", call("f", token));
    holds(
      check(),
      [
        said(unsigned, answered, turn("user", { text: "go on" }), turn("model", { text: "a" })),
        said(turn("model", { text: "a" }, call("f", token)), answered),
        image({}),
      ],
      [
        [said(unsigned, answered), missing("f", 2)],
        [said(own, answered, unsigned, answered), missing("f", 4)],
        [said(turn("model", { text: "a", thoughtSignature: "AAAA" })), "Corrupted thought signature."],
      ],
    );
    holds(
      check(["text", "image"]),
      [image({ thoughtSignature: token })],
      [[image({}), "Image part is missing a thought_signature."]],
    );
  });
});
