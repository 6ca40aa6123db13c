import { describe, expect, test } from "bun:test";
import { joinBytes } from "../../core/bytes/bytes.ts";
import { wireRequest } from "../../../test/protocols/wire-request.ts";
import type { Model, ThinkingFacts } from "../../core/model.ts";
import { type ChatDialect, COMPATIBLE_CHAT, OPEN_CHAT, REFERENCE_CHAT } from "../chat-dialect.ts";
import type { RelayTarget } from "../protocol.ts";
import { readRequest } from "./request.ts";
import { upstreamBody } from "./upstream-body.ts";

// Each quirk by itself, byte for byte: white space and all that it does not name stay as they were.

interface Aim {
  readonly chat: ChatDialect;
  readonly thinking?: Partial<ThinkingFacts>;
  readonly ignored?: readonly string[];
  readonly target?: Partial<RelayTarget>;
}

function send(text: string, { chat, thinking, ignored = [], target = {} }: Aim) {
  const model = {
    id: "v/m",
    outputModalities: ["text"],
    ignoredParameters: ignored,
    maxTokensField: "max_tokens",
    maxOutput: null,
    ...(thinking === undefined
      ? {}
      : { thinking: { canBeOff: true, streamedOnly: false, reasoningBackAlways: false, ...thinking } }),
  } as unknown as Model;
  const { body, warnings } = upstreamBody(readRequest(wireRequest(text)), {
    model,
    upstreamId: "up",
    unknownFields: "remove",
    native: false,
    streamUsageOption: true,
    chat,
    ...target,
  });
  return { text: new TextDecoder().decode(joinBytes(body)), warnings };
}

interface Case extends Aim {
  readonly name: string;
  readonly sent: string;
  readonly got: string;
  readonly warns?: readonly string[];
}

const keepsContent: ChatDialect = { ...COMPATIBLE_CHAT, reasoningBack: ["reasoning_content"] };
const openrouter: ChatDialect = {
  ...COMPATIBLE_CHAT,
  reasoningBack: ["reasoning", "reasoning_details", "reasoning_content"],
  messageImages: true,
};
const strict: ChatDialect = {
  ...COMPATIBLE_CHAT,
  messageFields: ["role", "content", "tool_calls", "tool_call_id"],
};
const always = { chat: keepsContent, thinking: { reasoningBackAlways: true } };

const messages: readonly Case[] = [
  {
    name: "reasoning is cut wherever it stands among the members",
    chat: REFERENCE_CHAT,
    sent: `{"reasoning_content":"a", "role" : "assistant","reasoning":"b","content" : "c" , "reasoning_details":[{"type":"x"}] }`,
    got: `{"role" : "assistant","content" : "c" }`,
    warns: ["reasoning_content", "reasoning", "reasoning_details"],
  },
  {
    name: "reasoning that says nothing goes without a word",
    chat: REFERENCE_CHAT,
    sent: `{"role":"assistant","content":"c","reasoning_content":null,"reasoning":"","reasoning_details":[]}`,
    got: `{"role":"assistant","content":"c"}`,
  },
  {
    name: "reasoning_content stays byte for byte where it is wanted",
    chat: keepsContent,
    sent: `{"role":"assistant","content":"c" ,"reasoning_content" : "\\u0061\\n"}`,
    got: `{"role":"assistant","content":"c" ,"reasoning_content" : "\\u0061\\n"}`,
  },
  {
    name: "reasoning of another vendor comes under the name that is wanted",
    chat: keepsContent,
    sent: `{"role":"assistant","content":"c","reasoning" :"\\u0061"}`,
    got: `{"role":"assistant","content":"c","reasoning_content" :"\\u0061"}`,
  },
  {
    name: "the same reasoning in all forms goes up once, without a word",
    chat: keepsContent,
    sent: `{"role":"assistant","content":"c","reasoning_content":"a","reasoning":"a"}`,
    got: `{"role":"assistant","content":"c","reasoning_content":"a"}`,
  },
  {
    name: "OpenRouter's details stay byte for byte",
    chat: openrouter,
    sent: `{"role":"assistant","content":"c","reasoning_details":[ {"type":"reasoning.encrypted","data":"Zm9v\\/","index":0} ]}`,
    got: `{"role":"assistant","content":"c","reasoning_details":[ {"type":"reasoning.encrypted","data":"Zm9v\\/","index":0} ]}`,
  },
  {
    name: "details of another issuer do not go to OpenRouter",
    chat: openrouter,
    sent: `{"role":"assistant","content":"c","reasoning_details":[{"type":"thinking","thinking":"a","signature":"s"}]}`,
    got: `{"role":"assistant","content":"c"}`,
    warns: ["reasoning_details"],
  },
  {
    name: "images of earlier answers are cut",
    chat: COMPATIBLE_CHAT,
    sent: `{"role":"assistant","content":"c","images":[{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}]}`,
    got: `{"role":"assistant","content":"c"}`,
    warns: ["images"],
  },
  {
    name: "members that a strict vendor does not know are cut",
    chat: strict,
    sent: `{"role":"assistant","content":"c","refusal":null,"annotations":[],"name":"n","cache_control":{"type":"ephemeral"}}`,
    got: `{"role":"assistant","content":"c"}`,
    warns: ["name", "cache_control"],
  },
  {
    name: "developer is system, whatever it is written like",
    chat: COMPATIBLE_CHAT,
    sent: `{"role" : "dev\\u0065loper","content":"c"}`,
    got: `{"role" : "system","content":"c"}`,
  },
  {
    name: "null content is empty where null is refused",
    chat: { ...COMPATIBLE_CHAT, nullContent: false },
    sent: `{"role":"assistant","content": null ,"tool_calls":[{"id":"a","type":"function","function":{"name":"f"}}]}`,
    got: `{"role":"assistant","content": "" ,"tool_calls":[{"id":"a","type":"function","function":{"name":"f"}}]}`,
  },
  {
    name: "a signature in a data URL is cut, and the image keeps its bytes",
    chat: COMPATIBLE_CHAT,
    sent: `{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;thought_signature=a-_b;base64,AA\\/A","detail":"low"}}]}`,
    got: `{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,AA\\/A","detail":"low"}}]}`,
  },
  {
    name: "also one that is written with escapes",
    chat: COMPATIBLE_CHAT,
    sent: `{"role":"user","content":[{"type":"text","text":"a,b"},{"type":"image_url","image_url":{"url":"data:image\\/png;thought\\u005fsignature=x;base64\\u002cAAAA"}}]}`,
    got: `{"role":"user","content":[{"type":"text","text":"a,b"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}]}`,
  },
  {
    name: "and stays where nothing is known",
    chat: OPEN_CHAT,
    sent: `{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;thought_signature=x;base64,AAAA"}}]}`,
    got: `{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;thought_signature=x;base64,AAAA"}}]}`,
  },
  ...(
    [
      ["is cut", COMPATIBLE_CHAT, '{"google":{"thought_signature":"c2ln"}}', ""],
      ["is cut alone", COMPATIBLE_CHAT, '{"a":1.0,"google":{}}', ',"extra_content":{"a":1.0}'],
      ["stays where nothing is known", OPEN_CHAT, '{"google":{}}', ',"extra_content":{"google":{}}'],
    ] as const
  ).map(([what, chat, extra, left]) => ({
    name: `what Google's model has signed a call with ${what}`,
    chat,
    sent: `{"role":"assistant","content":"c","tool_calls":[{"id":"a","extra_content":${extra},"type":"function"}]}`,
    got: `{"role":"assistant","content":"c","tool_calls":[{"id":"a"${left},"type":"function"}]}`,
    ...(chat === OPEN_CHAT ? {} : { warns: ["tool_calls[].extra_content.google"] }),
  })),
  {
    name: "nothing is missing where the model wants no reasoning of old",
    chat: keepsContent,
    thinking: {},
    sent: `{"role":"assistant","tool_calls":[{"id":"a"}],"content":"c"}`,
    got: `{"role":"assistant","tool_calls":[{"id":"a"}],"content":"c"}`,
  },
  {
    name: "where it wants it always, an empty one is put in beside calls",
    ...always,
    sent: `{"role":"assistant","tool_calls":[{"id":"a"}],"content":"c" }`,
    got: `{"role":"assistant","tool_calls":[{"id":"a"}],"content":"c","reasoning_content":"" }`,
  },
  {
    name: "in place of null, too",
    ...always,
    sent: `{"role":"assistant","reasoning_content" : null,"tool_calls":[{"id":"a"}],"content":"c"}`,
    got: `{"role":"assistant","reasoning_content" : "","tool_calls":[{"id":"a"}],"content":"c"}`,
  },
  {
    name: "but not at a provider that takes none",
    chat: COMPATIBLE_CHAT,
    thinking: { reasoningBackAlways: true },
    sent: `{"role":"assistant","tool_calls":[{"id":"a"}],"content":"c"}`,
    got: `{"role":"assistant","tool_calls":[{"id":"a"}],"content":"c"}`,
  },
  {
    name: "but not without tools",
    ...always,
    sent: `{"role":"assistant","content":"c"}`,
    got: `{"role":"assistant","content":"c"}`,
  },
];

describe("messages", () => {
  for (const { name, sent, got, warns = [], ...aim } of messages) {
    test(name, () => {
      const around = (message: string): string =>
        `[ {"role":"user","content":"q"} , ${message},{"role":"user","content":"r"}]`;
      const result = send(`{"model":"v/m","messages":${around(sent)}}`, aim);
      expect(result.text).toBe(`{"model":"up","messages":${around(got)}}`);
      expect(result.warnings.map((warning) => warning.split(" ")[0] as string)).toEqual([...warns]);
    });
  }

  test("an id of a call is another for Mistral, the same in call and result, and legal ones stay", () => {
    const text = `{"model":"v/m","messages":[{"role":"assistant","content":null,"tool_calls":[{"function":{"name":"f","arguments":"{}"},"id" : "call_1"},{"id":"abcDEF123","function":{"name":"f"}}]},{"role":"tool","tool_call_id" : "call_1","content":"1"},{"role":"tool","tool_call_id":"abcDEF123","content":"2"}]}`;
    const sent = send(text, { chat: { ...COMPATIBLE_CHAT, toolIds: "nine" } });
    const made = /"id" : "([a-zA-Z0-9]{9})"/.exec(sent.text)?.[1] as string;
    expect(sent.text).toBe(text.replace("v/m", "up").replaceAll("call_1", made));
    expect(sent.warnings).toEqual([]);
  });
});

const MESSAGES = '"messages":[{"role":"user","content":"hi"}]';
const TOOLS = '"tools":[{"type":"function","function":{"name":"f"}}]';
const fields: readonly Case[] = [
  {
    name: "what says the same already keeps its bytes",
    chat: { ...COMPATIBLE_CHAT, thinking: { effort: "reasoning_effort", toggle: "thinking" } },
    sent: `,"thinking" : { "type" : "enabled", "keep":"all" },"reasoning_effort" :"hi\\u0067h"`,
    got: `,"thinking" : { "type" : "enabled", "keep":"all" },"reasoning_effort" :"hi\\u0067h"`,
  },
  {
    name: "a vendor's own members of thinking stay beside what is changed",
    chat: { ...COMPATIBLE_CHAT, thinking: { effort: "reasoning_effort", toggle: "thinking" } },
    sent: `,"thinking":{"type":"enabled","budget_tokens":2000,"clear_thinking":false}`,
    got: `,"thinking":{"clear_thinking":false,"type":"enabled"},"reasoning_effort":"low"`,
  },
  {
    name: "a model that ignores reasoning_effort is not told by it",
    chat: { ...COMPATIBLE_CHAT, thinking: { effort: "reasoning_effort" } },
    ignored: ["reasoning_effort"],
    sent: `,"reasoning":{"effort":"low"}`,
    got: "",
    warns: ["how"],
  },
  {
    name: "a model that thinks in streams only is told not to in a plain call",
    chat: { ...COMPATIBLE_CHAT, thinking: { toggle: "enable_thinking", budget: "thinking_budget" } },
    thinking: { streamedOnly: true },
    sent: "",
    got: ',"enable_thinking":false',
  },
  {
    name: "with a word of it where thinking was asked for",
    chat: { ...COMPATIBLE_CHAT, thinking: { toggle: "enable_thinking", budget: "thinking_budget" } },
    thinking: { streamedOnly: true },
    sent: ',"reasoning_effort":"low"',
    got: ',"enable_thinking":false',
    warns: ["thinking"],
  },
  {
    name: "and thinks in a stream",
    chat: { ...COMPATIBLE_CHAT, thinking: { toggle: "enable_thinking", budget: "thinking_budget" } },
    thinking: { streamedOnly: true },
    target: { streamUsageOption: false },
    sent: ',"reasoning_effort":"low","stream":true',
    got: ',"stream":true,"enable_thinking":true,"thinking_budget":3072',
  },
  {
    name: "parallel_tool_calls without tools says nothing and goes",
    chat: OPEN_CHAT,
    sent: ',"parallel_tool_calls":false',
    got: "",
  },
  {
    name: "and stays beside tools",
    chat: OPEN_CHAT,
    sent: `,${TOOLS},"parallel_tool_calls":false`,
    got: `,${TOOLS},"parallel_tool_calls":false`,
  },
  {
    name: "hints that the vendor does not know are left out",
    chat: COMPATIBLE_CHAT,
    sent: ',"user":"u","seed":1,"store":true,"logit_bias":{"1":2},"metadata":null',
    got: "",
    warns: ["user", "seed", "store", "logit_bias"],
  },
  {
    name: "values that say nothing go without a word",
    chat: COMPATIBLE_CHAT,
    sent: ',"n":1,"logprobs":false,"service_tier":null,"function_call":"none"',
    got: "",
    warns: [],
  },
  {
    name: "a field goes under the vendor's name",
    chat: { ...COMPATIBLE_CHAT, renames: { seed: "random_seed" }, takes: ["random_seed"] },
    sent: ',"seed" : 1e0',
    got: ',"random_seed" : 1e0',
  },
  {
    name: "which the caller's own use of it goes before",
    chat: { ...COMPATIBLE_CHAT, renames: { seed: "random_seed" }, takes: ["random_seed"] },
    sent: ',"seed":1,"random_seed":2',
    got: ',"random_seed":2',
  },
  {
    name: "a vendor's own field goes up, and a stranger's does not",
    chat: { ...COMPATIBLE_CHAT, takes: ["safe_prompt"] },
    sent: ',"safe_prompt":true,"top_k":3',
    got: ',"safe_prompt":true',
    warns: ["top_k"],
  },
  {
    name: "no tools, where a choice of none cannot be said",
    chat: { ...COMPATIBLE_CHAT, toolChoice: "auto" },
    sent: `,${TOOLS},"tool_choice":"none"`,
    got: "",
  },
  {
    name: "a choice of none where it can",
    chat: { ...COMPATIBLE_CHAT, toolChoice: "auto_none" },
    sent: `,${TOOLS},"tool_choice":"none"`,
    got: `,${TOOLS},"tool_choice":"none"`,
  },
  {
    name: "stream_options go where they are not known",
    chat: COMPATIBLE_CHAT,
    target: { streamUsageOption: false },
    sent: ',"stream":true,"stream_options":{"include_usage":true}',
    got: ',"stream":true',
  },
];

describe("fields", () => {
  for (const { name, sent, got, warns = [], ...aim } of fields) {
    test(name, () => {
      const result = send(`{"model":"v/m",${MESSAGES}${sent}}`, aim);
      expect(result.text).toBe(`{"model":"up",${MESSAGES}${got}}`);
      expect(result.warnings.map((warning) => warning.split(" ")[0] as string)).toEqual([...warns]);
    });
  }
});

describe("what would be another answer is a 400 that names it", () => {
  const cases: readonly (Aim & { readonly sent: string; readonly param: string; readonly says?: string })[] =
    [
      { chat: COMPATIBLE_CHAT, sent: ',"n":2', param: "n" },
      { chat: { ...COMPATIBLE_CHAT, takes: ["n"], manyChoices: false }, sent: ',"n":2', param: "n" },
      { chat: COMPATIBLE_CHAT, sent: ',"logprobs":true', param: "logprobs" },
      { chat: COMPATIBLE_CHAT, sent: ',"audio":{"voice":"a","format":"wav"}', param: "audio" },
      { chat: COMPATIBLE_CHAT, sent: ',"functions":[{"name":"f"}]', param: "functions", says: "use tools." },
      {
        chat: COMPATIBLE_CHAT,
        sent: ',"function_call":{"name":"f"}',
        param: "function_call",
        says: "use tool_choice.",
      },
      { chat: COMPATIBLE_CHAT, sent: ',"web_search_options":{}', param: "web_search_options" },
      { chat: COMPATIBLE_CHAT, sent: ',"service_tier":"priority"', param: "service_tier" },
      {
        chat: COMPATIBLE_CHAT,
        sent: ',"tools":[{"type":"custom","custom":{"name":"c"}}]',
        param: "tools[0].type",
      },
      {
        chat: { ...COMPATIBLE_CHAT, mostStops: 2 },
        sent: ',"stop":["a","b","c"]',
        param: "stop",
        says: "takes at most 2",
      },
      {
        chat: { ...COMPATIBLE_CHAT, toolChoice: "auto_none" },
        sent: ',"tool_choice":"required"',
        param: "tool_choice",
      },
      {
        chat: { ...COMPATIBLE_CHAT, toolChoice: "words" },
        sent: ',"tool_choice":{"type":"function","function":{"name":"f"}}',
        param: "tool_choice",
      },
      {
        chat: { ...COMPATIBLE_CHAT, jsonSchema: false },
        sent: ',"response_format":{"type":"json_schema","json_schema":{"name":"a"}}',
        param: "response_format",
        says: "must be json_object or text",
      },
      {
        chat: { ...COMPATIBLE_CHAT, jsonSchema: false, jsonObject: false },
        sent: ',"response_format":{"type":"json_object"}',
        param: "response_format",
        says: "must be text:",
      },
      {
        chat: { ...COMPATIBLE_CHAT, jsonObject: false },
        sent: ',"response_format":{"type":"json_object"}',
        param: "response_format",
      },
    ];
  for (const { sent, param, says = "", ...aim } of cases) {
    test(sent.slice(1), () => {
      let thrown: unknown;
      try {
        send(`{"model":"v/m",${MESSAGES}${sent}}`, aim);
      } catch (error) {
        thrown = error;
      }
      expect(thrown).toMatchObject({ kind: "invalid_request_error", param });
      expect((thrown as Error).message).toContain(says);
    });
  }
});
