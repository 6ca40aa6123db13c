import { describe, expect, test } from "bun:test";
import { chatOf, FLASH, gemini, IMAGE, sentToGemini } from "../../../../test/protocols/gemini-sent.ts";
import type { ChatRequest, Turn } from "../../../core/chat.ts";
import type { Model } from "../../../core/model.ts";
import { GatewayError } from "../../../core/errors.ts";
import { generateContentClient } from "./index.ts";

const HI: Turn = { role: "user", parts: [{ type: "text", text: "hi" }] };
const TOOL = { name: "f", description: "does", parameters: { type: "object", properties: {} } };

const sent = (more: Partial<ChatRequest>, model?: Model) => sentToGemini(chatOf([HI], more), model);
const config = (more: Partial<ChatRequest>, model?: Model) => sent(more, model).body.generationConfig;

function refusal(more: Partial<ChatRequest>, model?: Model): GatewayError {
  try {
    sent(more, model);
  } catch (error) {
    if (error instanceof GatewayError) return error;
    throw error;
  }
  throw new Error("It was accepted.");
}

test("a plain chat is a plain request", () => {
  expect(sent({})).toMatchObject({
    body: { contents: [{ role: "user", parts: [{ text: "hi" }] }] },
    warnings: [],
  });
  expect(Object.keys(sent({}).body)).toEqual(["contents"]);
});

describe("generationConfig", () => {
  const cases: readonly [string, Partial<ChatRequest>, object][] = [
    [
      "numbers",
      {
        maxOutputTokens: 9,
        temperature: 0,
        topP: 0.5,
        topK: 40,
        presencePenalty: -1,
        frequencyPenalty: 0.25,
        seed: 0,
      },
      {
        maxOutputTokens: 9,
        temperature: 0,
        topP: 0.5,
        topK: 40,
        presencePenalty: -1,
        frequencyPenalty: 0.25,
        seed: 0,
      },
    ],
    ["stops", { stop: ["a", "b", "c", "d", "e"] }, { stopSequences: ["a", "b", "c", "d", "e"] }],
    ["choices", { choices: 8 }, { candidateCount: 8 }],
    ["JSON", { responseFormat: { type: "json_object" } }, { responseMimeType: "application/json" }],
    [
      "a schema, whole",
      {
        responseFormat: {
          type: "json_schema",
          name: "n",
          strict: true,
          schema: { $ref: "#/$defs/a", $defs: { a: { const: 1 } }, additionalProperties: false },
        },
      },
      {
        responseMimeType: "application/json",
        responseJsonSchema: { $ref: "#/$defs/a", $defs: { a: { const: 1 } }, additionalProperties: false },
      },
    ],
    [
      "text as what is put out says nothing",
      { outputModalities: ["text"], temperature: 1 },
      { temperature: 1 },
    ],
  ];
  for (const [name, more, wanted] of cases) {
    test(name, () => {
      const { body, warnings } = sent(more);
      expect(body.generationConfig).toEqual(wanted);
      expect(warnings).toEqual([]);
    });
  }

  test("more stops or choices than there can be are a 400 that names the caller's field", () => {
    expect(refusal({ stop: ["1", "2", "3", "4", "5", "6"] }).param).toBe("stop");
    expect(refusal({ choices: 9 }).param).toBe("n");
    expect(refusal({ choices: 2 }, IMAGE).param).toBe("n");
  });

  test("a bound above the model's most is lowered, by the caller's name of it", () => {
    const { body, warnings } = sent({ maxOutputTokens: 70_000 });
    expect(body.generationConfig).toEqual({ maxOutputTokens: 65_536 });
    expect(warnings).toEqual(["max_tokens was lowered to 65536: google/gemini-3.8-flash puts out no more"]);
  });

  test("a seed that is no integer of 32 bits is left out", () => {
    for (const seed of [0.5, 2 ** 31]) {
      const { body, warnings } = sent({ seed, topP: 1 });
      expect(body.generationConfig).toEqual({ topP: 1 });
      expect(warnings[0]).toStartWith("seed was left out");
    }
    expect(config({ seed: -(2 ** 31) + 1 })).toEqual({ seed: -(2 ** 31) + 1 });
  });
});

describe("an image model", () => {
  const cases: readonly [string, Partial<ChatRequest>, object][] = [
    ["is told to write where nothing was said", {}, { responseModalities: ["TEXT"] }],
    ["writes and draws", { outputModalities: ["text", "image"] }, { responseModalities: ["TEXT", "IMAGE"] }],
    [
      "writes and draws, in whatever order it is asked",
      { outputModalities: ["image", "text"], image: { aspectRatio: "16:9", size: "2K" } },
      { responseModalities: ["TEXT", "IMAGE"], imageConfig: { aspectRatio: "16:9", imageSize: "2K" } },
    ],
    ["draws alone", { outputModalities: ["image"] }, { responseModalities: ["IMAGE"] }],
  ];
  for (const [name, more, wanted] of cases) test(name, () => expect(config(more, IMAGE)).toEqual(wanted));

  test("is not told of an image that nobody asked for", () => {
    const { body, warnings } = sent({ image: { size: "1K" } }, IMAGE);
    expect(body.generationConfig).toEqual({ responseModalities: ["TEXT"] });
    expect(warnings[0]).toStartWith("image_config was left out");
  });
});

describe("thinking", () => {
  const shown = (thinkingLevel?: string) => ({
    ...(thinkingLevel === undefined ? {} : { thinkingLevel }),
    includeThoughts: true,
  });
  const budgeted = gemini("g", ["text"], { thinking: { style: "budget" } });
  const always = gemini("g", ["text"], { thinking: { style: "budget", canBeOff: false } });
  const twoLevels = gemini("g", ["text"], { thinking: { efforts: ["low", "high"] } });
  const untold = gemini("g", ["text"], { thinking: { efforts: [] } });
  const cases: readonly [
    string,
    ChatRequest["thinking"],
    object | undefined,
    (string | undefined)?,
    Model?,
  ][] = [
    ["an effort", { effort: "low" }, shown("LOW")],
    ["the least effort", { effort: "minimal" }, shown("MINIMAL")],
    ["an effort above the highest", { effort: "xhigh" }, shown("HIGH"), "the effort xhigh became high"],
    [
      "an effort between two",
      { effort: "medium" },
      shown("HIGH"),
      "the effort medium became high",
      twoLevels,
    ],
    ["an unknown effort", { effort: "wild" }, shown(), "how much to think was left out"],
    ["a small budget", { mode: "on", budgetTokens: 3_999 }, shown("LOW"), "the thinking budget became"],
    ["a budget", { budgetTokens: 4_000 }, shown("MEDIUM"), "the thinking budget became"],
    ["a large budget", { budgetTokens: 16_000 }, shown("HIGH"), "the thinking budget became"],
    ["an effort before a budget", { effort: "low", budgetTokens: 99_999 }, shown("LOW")],
    ["on", { mode: "on" }, shown()],
    ["on, hidden", { mode: "on", hidden: true }, undefined],
    ["an effort, hidden", { effort: "high", hidden: true }, { thinkingLevel: "HIGH" }],
    ["off", { mode: "off" }, { thinkingLevel: "MINIMAL" }, "thinking was not switched off"],
    ["no effort", { effort: "none" }, { thinkingLevel: "MINIMAL" }, "thinking was not switched off"],
    ["off, of two levels", { mode: "off" }, { thinkingLevel: "LOW" }, "thinking was not", twoLevels],
    ["off, where nothing can be said", { mode: "off" }, undefined, "thinking was not switched off", untold],
    ["an effort, where none is taken", { effort: "low" }, shown(), "how much to think was left out", untold],
    [
      "a budget as it is",
      { budgetTokens: 77 },
      { thinkingBudget: 77, includeThoughts: true },
      undefined,
      budgeted,
    ],
    [
      "an effort as a budget",
      { effort: "low" },
      { thinkingBudget: 1_024, includeThoughts: true },
      undefined,
      budgeted,
    ],
    ["no budget", { mode: "off" }, { thinkingBudget: 0 }, undefined, budgeted],
    ["the least budget", { mode: "off" }, { thinkingBudget: 512 }, "thinking was not switched off", always],
    [
      "as it finds right",
      { mode: "auto" },
      { thinkingBudget: -1, includeThoughts: true },
      undefined,
      budgeted,
    ],
  ];
  for (const [name, thinking, wanted, warning, model = FLASH] of cases) {
    test(name, () => {
      const { body, warnings } = sent({ thinking: thinking! }, model);
      expect(body.generationConfig?.thinkingConfig).toEqual(wanted as never);
      if (warning === undefined) expect(warnings).toEqual([]);
      else expect(warnings[0]).toStartWith(warning);
    });
  }
});

describe("tools", () => {
  test("schemas go up whole", () => {
    const parameters = {
      $schema: "https://json-schema.org/draft/2020-12/schema",
      type: "object",
      additionalProperties: false,
      properties: { a: { $ref: "#/$defs/x" }, b: { const: 1 }, c: { type: "number", exclusiveMinimum: 0 } },
      $defs: { x: { type: "string" } },
    };
    const { body, warnings } = sent({ tools: [{ name: "f", parameters, strict: true }, { name: "g" }] });
    expect(body.tools).toEqual([
      { functionDeclarations: [{ name: "f", parametersJsonSchema: parameters }, { name: "g" }] },
    ]);
    expect(warnings).toEqual(["tools[].function.strict was left out: this model has no such switch"]);
  });

  const choices: readonly [ChatRequest["toolChoice"], object | undefined][] = [
    [undefined, undefined],
    [{ type: "none" }, { mode: "NONE" }],
    [{ type: "auto" }, { mode: "AUTO" }],
    [{ type: "required" }, { mode: "ANY" }],
    [
      { type: "tool", name: "f" },
      { mode: "ANY", allowedFunctionNames: ["f"] },
    ],
  ];
  test.each(choices)("the choice %p is %p", (toolChoice, wanted) => {
    const { body } = sent({ tools: [TOOL], ...(toolChoice === undefined ? {} : { toolChoice }) });
    expect(body.toolConfig?.functionCallingConfig).toEqual(wanted as never);
  });

  test("a name that the format does not take is a 400 that names the caller's field", () => {
    expect(refusal({ tools: [TOOL, { name: "1st", at: "tools[1].name" }] }).param).toBe("tools[1].name");
  });

  test("one call at a time cannot be asked for, and is named", () => {
    expect(sent({ tools: [TOOL], parallelToolCalls: false }).warnings[0]).toStartWith("parallel_tool_calls");
    expect(sent({ tools: [TOOL], parallelToolCalls: true }).warnings).toEqual([]);
  });
});

test("hints that there is no word for are left out, and each is named once", () => {
  const cache = { type: "ephemeral" };
  const source = { kind: "data", mediaType: "image/png", data: "AAAA" } as const;
  const turns: readonly Turn[] = [
    { role: "system", parts: [{ type: "text", text: "s", cache }] },
    { role: "user", parts: [{ type: "image", source, detail: "low", cache }, ...HI.parts] },
  ];
  const { warnings, body } = sentToGemini(chatOf(turns, { user: "u", tools: [{ ...TOOL, cache }] }));
  expect(warnings.map((sentence) => sentence.split(" ")[0])).toEqual([
    "cache_control",
    "image_url.detail",
    "user",
  ]);
  expect(warnings.at(-1)).toStartWith("user or safety_identifier was left out: ");
  expect(JSON.stringify(body)).not.toMatch(/ephemeral|"low"|"u"/);
});

describe("a search", () => {
  test("is a tool without members; what it cannot be told is named", () => {
    const webSearch = { forced: true, mostUses: 2, contextSize: "low", location: { city: "Oslo" } } as const;
    const { body, warnings } = sent({ webSearch });
    expect(body.tools).toEqual([{ googleSearch: {} }]);
    expect(body.toolConfig).toBeUndefined();
    const told = (what: string): string =>
      `${what} of web_search_options was left out: this model's provider takes none`;
    expect(warnings).toEqual([
      told("the bound on the number of searches"),
      told("how much of the pages is read"),
      told("the place of the user"),
      told("that there must be a search: the choice"),
    ]);
  });

  test("cannot be had beside functions, or for some domains alone", () => {
    const can = generateContentClient.canSearch;
    expect(can?.({}, chatOf([HI]))).toBe(true);
    expect(can?.({}, chatOf([HI], { tools: [TOOL] }))).toBe(false);
    expect(can?.({ allowedDomains: ["a.test"] }, chatOf([HI]))).toBe(false);
    expect(can?.({ blockedDomains: ["a.test"] }, chatOf([HI]))).toBe(false);
  });
});
