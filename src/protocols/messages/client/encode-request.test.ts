import { describe, expect, test } from "bun:test";
import {
  answered,
  called,
  chatOf,
  encoded,
  messagesTarget,
  type Name,
  refusalOf,
  turn,
} from "../../../../test/protocols/messages-client.ts";
import type { ChatRequest, Part, Turn } from "../../../core/chat.ts";
import type { JsonObject } from "../../../core/json/json-value.ts";
import type { Model } from "../../../core/model.ts";
import type { RelayTarget } from "../../protocol.ts";
import { strictSchema } from "./strict-schema.ts";

const HI = [turn("user", "hi")];
const TOOLS: ChatRequest["tools"] = [{ name: "f" }];
const TOOL = { name: "f", input_schema: { type: "object", properties: {} } };

interface Case {
  readonly name: string;
  readonly chat: Partial<ChatRequest>;
  readonly model?: Name;
  readonly facts?: Partial<Model>;
  readonly target?: Partial<RelayTarget>;
  /** Members of the body that goes up, beside model, stream, messages and an untouched max_tokens. */
  readonly want: object;
  readonly warns?: readonly string[];
}

function check(cases: readonly Case[], turns: readonly Turn[] = HI): void {
  for (const { name, chat, model = "haiku", facts, target, want, warns = [] } of cases) {
    test(name, () => {
      const aim = messagesTarget(model, facts, target);
      const got = encoded(chatOf(turns, chat), aim);
      const { model: _model, stream: _stream, messages: _messages, ...rest } = got.up;
      expect(rest).toEqual({ max_tokens: aim.model.maxOutput, ...want });
      expect(got.warnings).toEqual([...warns]);
      expect(got.refused).toBeUndefined();
    });
  }
}

describe("the bound on output", () => {
  check([
    { name: "is the one that was asked for", chat: { maxOutputTokens: 7 }, want: { max_tokens: 7 } },
    { name: "else what was held for", chat: {}, target: { outputBound: 900 }, want: { max_tokens: 900 } },
    { name: "else the most of the model", chat: {}, want: { max_tokens: 64_000 } },
    { name: "else one of ours", chat: {}, facts: { maxOutput: null }, want: { max_tokens: 32_768 } },
    {
      name: "is never above the most of the model",
      chat: { maxOutputTokens: 70_000 },
      want: { max_tokens: 64_000 },
      warns: ["max_tokens was lowered to 64000: anthropic/claude-haiku-4.5 puts out no more"],
    },
  ]);
});

describe("tools and their choice", () => {
  const plain = { tools: TOOLS };
  check([
    {
      name: "a tool without parameters takes an empty object; strict and a mark only where they were asked for",
      chat: {
        tools: [
          { name: "f" },
          {
            name: "g",
            description: "d",
            strict: false,
            parameters: { properties: { a: { type: "integer", minimum: 1 } }, required: ["a"] },
          },
        ],
      },
      want: {
        tools: [
          TOOL,
          {
            name: "g",
            description: "d",
            input_schema: {
              type: "object",
              properties: { a: { type: "integer", minimum: 1 } },
              required: ["a"],
            },
          },
        ],
      },
    },
    {
      name: "a search stands beside them, always with a bound",
      chat: { ...plain, webSearch: {} },
      want: { tools: [TOOL, { type: "web_search_20250305", name: "web_search", max_uses: 10 }] },
    },
    {
      name: "a search is told where and how often, and what it is not told is named",
      chat: {
        webSearch: {
          forced: true,
          mostUses: 2,
          allowedDomains: ["a.test", "b.test"],
          blockedDomains: ["b.test"],
          location: { city: "Oslo" },
          contextSize: "low",
        },
        parallelToolCalls: false,
      },
      want: {
        tools: [
          {
            type: "web_search_20250305",
            name: "web_search",
            max_uses: 2,
            allowed_domains: ["a.test"],
            user_location: { type: "approximate", city: "Oslo" },
          },
        ],
        tool_choice: { type: "tool", name: "web_search", disable_parallel_tool_use: true },
      },
      warns: [
        "how much of the pages is read of web_search_options was left out: this model's provider takes none",
      ],
    },
    {
      name: "domains that are not searched stand alone, and no bound is above ours",
      chat: { webSearch: { mostUses: 99, blockedDomains: ["b.test"] } },
      want: {
        tools: [
          { type: "web_search_20250305", name: "web_search", max_uses: 10, blocked_domains: ["b.test"] },
        ],
      },
    },
    {
      name: "a strict tool has a schema that can bind",
      chat: {
        tools: [
          { name: "f", strict: true, parameters: { properties: { a: { type: "integer", minimum: 1 } } } },
        ],
      },
      want: {
        tools: [
          {
            name: "f",
            strict: true,
            input_schema: {
              type: "object",
              properties: { a: { type: "integer", description: "Must hold: minimum: 1" } },
              additionalProperties: false,
            },
          },
        ],
      },
      warns: [
        "tools[].function.strict binds the model without minimum: this model's provider has that told to it in words only",
      ],
    },
    {
      name: "none",
      chat: { ...plain, toolChoice: { type: "none" }, parallelToolCalls: false },
      want: { tools: [TOOL], tool_choice: { type: "none" } },
    },
    {
      name: "auto",
      chat: { ...plain, toolChoice: { type: "auto" }, parallelToolCalls: true },
      want: { tools: [TOOL], tool_choice: { type: "auto" } },
    },
    {
      name: "required",
      chat: { ...plain, toolChoice: { type: "required" } },
      want: { tools: [TOOL], tool_choice: { type: "any" } },
    },
    {
      name: "a tool by name, one call only",
      chat: { ...plain, toolChoice: { type: "tool", name: "f" }, parallelToolCalls: false },
      want: { tools: [TOOL], tool_choice: { type: "tool", name: "f", disable_parallel_tool_use: true } },
    },
    {
      name: "one call only without a choice leaves the choice to the model",
      chat: { ...plain, parallelToolCalls: false },
      want: { tools: [TOOL], tool_choice: { type: "auto", disable_parallel_tool_use: true } },
    },
    {
      name: "without tools there is no choice",
      chat: { parallelToolCalls: false, toolChoice: { type: "auto" } },
      want: {},
    },
    {
      name: "while the model thinks no call is forced",
      chat: {
        ...plain,
        toolChoice: { type: "required" },
        parallelToolCalls: false,
        thinking: { mode: "on", budgetTokens: 2_000 },
      },
      want: {
        tools: [TOOL],
        tool_choice: { type: "auto", disable_parallel_tool_use: true },
        thinking: { type: "enabled", budget_tokens: 2_000 },
      },
      warns: ["tool_choice became auto: while the model thinks no call can be forced"],
    },
    {
      name: "a model that is kept from thinking can be forced",
      chat: { ...plain, toolChoice: { type: "required" }, thinking: { mode: "off" } },
      want: { tools: [TOOL], tool_choice: { type: "any" }, thinking: { type: "disabled" } },
    },
  ]);
});

describe("thinking in each model's words", () => {
  const summarized = { display: "summarized" };
  check([
    { name: "nothing said, nothing sent", chat: {}, want: {} },
    { name: "off", chat: { thinking: { effort: "none" } }, want: { thinking: { type: "disabled" } } },
    {
      name: "off where it cannot be",
      model: "sonnet",
      chat: { thinking: { mode: "off" } },
      want: {},
      warns: ["reasoning was left out: anthropic/claude-sonnet-5.5 cannot be kept from thinking"],
    },
    {
      name: "an effort is a budget where the model thinks by one, and temperature goes",
      chat: { thinking: { effort: "high" }, temperature: 0.2 },
      want: { thinking: { type: "enabled", budget_tokens: 24_576 } },
      warns: ["temperature was left out: anthropic/claude-haiku-4.5 does not take it while it thinks"],
    },
    {
      name: "such a budget leaves room for the answer",
      chat: { thinking: { effort: "high" }, maxOutputTokens: 5_000 },
      want: { max_tokens: 5_000, thinking: { type: "enabled", budget_tokens: 4_000 } },
    },
    {
      name: "no room at all, no thinking: the bound is the caller's, and was held for",
      chat: { thinking: { effort: "high" }, maxOutputTokens: 1_000, temperature: 0.2 },
      want: { max_tokens: 1_000, temperature: 0.2 },
      warns: ["reasoning was left out: max_tokens leaves no room for a budget of 1024"],
    },
    {
      name: "an effort is an effort where the model measures out its thinking, and temperature goes",
      model: "opus",
      chat: { thinking: { effort: "high" }, maxOutputTokens: 1_000, temperature: 0.2 },
      want: {
        max_tokens: 1_000,
        thinking: { type: "adaptive", ...summarized },
        output_config: { effort: "high" },
      },
      warns: ["temperature was left out: anthropic/claude-opus-5.5 does not take it"],
    },
    {
      name: "on",
      chat: { thinking: { mode: "on" } },
      want: { thinking: { type: "enabled", budget_tokens: 8_192 } },
    },
    {
      name: "on, not shown",
      model: "sonnet",
      chat: { thinking: { mode: "on", hidden: true } },
      want: { thinking: { type: "adaptive", display: "omitted" } },
    },
    {
      name: "a budget",
      chat: { thinking: { mode: "on", budgetTokens: 3_000, hidden: true } },
      want: { thinking: { type: "enabled", budget_tokens: 3_000, display: "omitted" } },
    },
    {
      name: "a budget where the model takes none",
      model: "opus",
      chat: { thinking: { budgetTokens: 3_000 } },
      want: { thinking: { type: "adaptive", ...summarized }, output_config: { effort: "low" } },
      warns: ["reasoning was changed to adaptive with effort low: anthropic/claude-opus-5.5 takes no budget"],
    },
    {
      name: "an effort that the format does not have",
      model: "opus",
      chat: { thinking: { effort: "minimal" } },
      want: { thinking: { type: "adaptive", ...summarized }, output_config: { effort: "low" } },
      warns: ["the effort minimal became low: anthropic/claude-opus-5.5 has no other"],
    },
    {
      name: "an effort that the model does not have",
      model: "opus",
      facts: { thinking: { style: "adaptive", efforts: ["low", "medium"] } },
      chat: { thinking: { effort: "max" } },
      want: { thinking: { type: "adaptive", ...summarized }, output_config: { effort: "medium" } },
      warns: ["the effort max became medium: anthropic/claude-opus-5.5 has no other"],
    },
    {
      name: "an effort that nobody knows",
      model: "opus",
      chat: { thinking: { effort: "wild" } },
      want: { thinking: { type: "adaptive", ...summarized } },
      warns: ["the effort wild was left out: anthropic/claude-opus-5.5 does not know it"],
    },
    {
      name: "nothing but that it shall not be shown",
      chat: { thinking: { hidden: true } },
      want: {},
      warns: ["reasoning.exclude was left out: nothing else was said of reasoning"],
    },
  ]);
});

describe("an answer that called tools and lost its thinking", () => {
  const OFF =
    "reasoning was switched off for this request: the answer that called tools came back without its reasoning_details";
  const thought: Part = { type: "thinking", text: "hm", signature: "S" };
  const results = turn("tool", answered("c", "x"));
  const thinking = { effort: "low" };
  const cases: readonly {
    name: string;
    turns: readonly Turn[];
    isOff: boolean;
    model?: Name;
    systemTurns?: boolean;
  }[] = [
    {
      name: "switches thinking off where it must begin with it",
      turns: [...HI, turn("assistant", "text", called("c")), results],
      isOff: true,
    },
    {
      name: "does so too when the user says something beside the results",
      turns: [...HI, turn("assistant", called("c")), results, turn("user", "go on")],
      isOff: true,
    },
    {
      name: "does so too when its thinking was another vendor's",
      turns: [...HI, turn("assistant", { ...thought, issuer: "google" }, called("c")), results],
      isOff: true,
    },
    {
      name: "has it still",
      turns: [...HI, turn("assistant", thought, called("c")), results],
      isOff: false,
    },
    {
      name: "has it still, redacted",
      turns: [...HI, turn("assistant", { type: "redacted_thinking", data: "R" }, called("c")), results],
      isOff: false,
    },
    {
      name: "is not the first round of its run, which has it",
      turns: [
        ...HI,
        turn("assistant", thought, called("c")),
        results,
        turn("assistant", called("c")),
        results,
      ],
      isOff: false,
    },
    {
      name: "is the first round of its run, in which a system message stands and a later round has it",
      turns: [
        ...HI,
        turn("assistant", called("c")),
        results,
        turn("system", "Be brief."),
        turn("assistant", thought, called("d")),
        turn("tool", answered("d", "x")),
      ],
      isOff: true,
      systemTurns: true,
    },
    {
      name: "is over: an answer without calls came after it",
      turns: [...HI, turn("assistant", called("c")), results, turn("assistant", "done"), turn("user", "so?")],
      isOff: false,
    },
    {
      name: "may have had none: the model measures out its thinking",
      turns: [...HI, turn("assistant", called("c")), results],
      isOff: false,
      model: "opus",
    },
  ];
  for (const { name, turns, isOff, model = "haiku", systemTurns = false } of cases) {
    test(name, () => {
      const target = messagesTarget(model, { systemTurns });
      const got = encoded(chatOf(turns, { thinking, tools: TOOLS }), target);
      expect(got.up.thinking === undefined).toBe(isOff);
      expect(got.warnings.includes(OFF)).toBe(isOff);
      expect(got.refused).toBeUndefined();
    });
  }

  test("leaves a forced call forced once thinking is off", () => {
    const turns = [...HI, turn("assistant", called("c")), results];
    const { up } = encoded(chatOf(turns, { thinking, tools: TOOLS, toolChoice: { type: "required" } }));
    expect(up.tool_choice).toEqual({ type: "any" });
  });
});

describe("all other fields", () => {
  const left = (name: string): string => `${name} was left out: the provider does not take it`;
  check([
    {
      name: "sampling goes up as far as the model takes it",
      chat: { temperature: 1.4, topP: 0.9 },
      want: { temperature: 1 },
      warns: [
        "temperature was lowered to 1: anthropic/claude-haiku-4.5 takes no more",
        "top_p was left out: anthropic/claude-haiku-4.5 does not take it together with temperature",
      ],
    },
    {
      name: "stops of white space are left out",
      chat: { stop: ["\n\n", "END", " "] },
      want: { stop_sequences: ["END"] },
      warns: ["stop was left out where it is white space only: it is not taken"],
    },
    {
      name: "hints that the format has no word for",
      chat: { presencePenalty: 1, frequencyPenalty: 0.5, seed: 3, image: { aspectRatio: "1:1" } },
      want: {},
      warns: [left("presence_penalty"), left("frequency_penalty"), left("seed"), left("image_config")],
    },
    {
      name: "how wordy, and the key of a cache, which the format has no word for",
      chat: { verbosity: "low", cacheKey: "k" },
      want: {},
      warns: [left("verbosity"), left("prompt_cache_key")],
    },
    {
      name: "how many tokens are sampled from",
      chat: { topK: 40, topP: 0.9 },
      want: { top_k: 40, top_p: 0.9 },
    },
    { name: "a penalty of nothing is none", chat: { presencePenalty: 0 }, want: {} },
    { name: "the user", chat: { user: "u-1" }, want: { metadata: { user_id: "u-1" } } },
    {
      name: "a user too long",
      chat: { user: "u".repeat(257) },
      want: {},
      warns: ["user or safety_identifier was left out: the provider takes 256 characters"],
    },
    {
      name: "a schema for the answer",
      chat: {
        responseFormat: {
          type: "json_schema",
          name: "n",
          description: "What it is.",
          schema: { type: "object", properties: { a: { type: "string", maxLength: 3 } }, required: ["a"] },
          strict: true,
        },
        thinking: { mode: "off" },
      },
      want: {
        thinking: { type: "disabled" },
        output_config: {
          format: {
            type: "json_schema",
            schema: {
              type: "object",
              description: "What it is.",
              properties: { a: { type: "string", description: "Must hold: maxLength: 3" } },
              required: ["a"],
              additionalProperties: false,
            },
          },
        },
      },
      warns: [
        "json_schema binds the model without maxLength: this model's provider has that told to it in words only",
      ],
    },
    {
      name: "a schema stands beside an effort",
      model: "opus",
      chat: {
        responseFormat: { type: "json_schema", name: "n", schema: { type: "object" } },
        thinking: { effort: "low" },
      },
      want: {
        thinking: { type: "adaptive", display: "summarized" },
        output_config: {
          effort: "low",
          format: { type: "json_schema", schema: { type: "object", additionalProperties: false } },
        },
      },
    },
    {
      name: "any JSON is asked for in words",
      chat: { responseFormat: { type: "json_object" } },
      want: {
        system: [
          {
            type: "text",
            text: "Answer with one valid JSON object and nothing else: no words around it and no code fence.",
          },
        ],
      },
      warns: [
        "response_format json_object became an instruction: the provider binds its models by json_schema only",
      ],
    },
  ]);

  test("the detail of an image is a hint", () => {
    const image: Part = { type: "image", source: { kind: "url", url: "https://x.test/a" }, detail: "low" };
    expect(encoded(chatOf([turn("user", image)])).warnings).toEqual([left("image_url.detail")]);
    expect(encoded(chatOf([turn("user", { ...image, detail: "auto" })])).warnings).toEqual([]);
  });

  const refused: readonly (readonly [string, Partial<ChatRequest>])[] = [
    ["n", { choices: 2 }],
    ["modalities", { outputModalities: ["text", "image"] }],
  ];
  for (const [field, chat] of refused) {
    test(`${field} is refused by name`, () => {
      expect(refusalOf(chatOf(HI, chat))[0]).toBe(field);
    });
  }
});

describe("a schema that binds", () => {
  const cases: readonly { name: string; schema: Record<string, unknown>; want: JsonObject }[] = [
    {
      name: "is closed at every level, and says in words what is not taken",
      schema: {
        $schema: "https://json-schema.org/draft/2020-12/schema",
        type: "object",
        description: "D",
        minProperties: 1,
        properties: {
          list: { type: "array", minItems: 2, maxItems: 3, items: { type: "object", properties: {} } },
          one: { type: "array", minItems: 1, items: { type: "string", pattern: "^a", format: "uuid" } },
          odd: { type: "string", format: "colour" },
          map: { type: "object", additionalProperties: { type: "number" } },
        },
      },
      want: {
        type: "object",
        description: "D\n\nMust hold: minProperties: 1",
        additionalProperties: false,
        properties: {
          list: {
            type: "array",
            items: { type: "object", properties: {}, additionalProperties: false },
            description: "Must hold: minItems: 2; maxItems: 3",
          },
          one: {
            type: "array",
            minItems: 1,
            items: { type: "string", format: "uuid", description: 'Must hold: pattern: "^a"' },
          },
          odd: { type: "string", description: 'Must hold: format: "colour"' },
          map: {
            type: "object",
            additionalProperties: false,
            description: 'Must hold: additionalProperties: {"type":"number"}',
          },
        },
      },
    },
    {
      name: "keeps choices, references and what they refer to",
      schema: {
        $defs: { a: { type: "integer", exclusiveMinimum: 0 } },
        oneOf: [{ $ref: "#/$defs/a" }, { type: "null" }, { enum: ["x"] }, { const: 1 }],
      },
      want: {
        $defs: { a: { type: "integer", description: "Must hold: exclusiveMinimum: 0" } },
        anyOf: [{ $ref: "#/$defs/a" }, { type: "null" }, { enum: ["x"] }, { const: 1 }],
      },
    },
    {
      name: "has properties of any name",
      schema: { type: "object", properties: { maximum: { type: "number" }, $schema: { type: "string" } } },
      want: {
        type: "object",
        properties: { maximum: { type: "number" }, $schema: { type: "string" } },
        additionalProperties: false,
      },
    },
  ];
  for (const { name, schema, want } of cases) {
    test(name, () => expect<object>(strictSchema(schema)).toEqual(want));
  }
});
