import { describe, expect, test } from "bun:test";
import { PLAIN_TARGET } from "../../../test/protocols/plain-target.ts";
import { wireRequest } from "../../../test/protocols/wire-request.ts";
import type { Model } from "../../core/model.ts";
import { demandAt } from "./demand.ts";
import { readRequest } from "./request.ts";

/** A text of 4 000 characters: some thousand tokens. */
const LONG = "word ".repeat(800);
/** An image of nine by four. */
const GIF = "data:image/gif;base64,R0lGODlhCQAEAAAAACwAAAAACQAEAAACAAA7";

const read = (body: object) => readRequest(wireRequest({ model: "v/m", ...body }));
const demandOf = (body: object) => read(body).demand;
const user = (content: unknown) => ({ role: "user", content });

describe("the guess and the bound of a request's text", () => {
  const boundOf = (body: object) => {
    const bytes = Math.ceil(JSON.stringify({ model: "v/m", ...body }).length / 2);
    return demandOf(body).textTokens.ceiling - bytes;
  };

  test("begin with what stands around the whole and around each item", () => {
    const around = (items: number) => [3 + 4 * items, 96 + 12 * items];
    for (const [input, items] of [
      [[user("")], 1],
      [[user(""), user(""), user("")], 3],
    ] as const)
      expect([demandOf({ input }).textTokens.expected, boundOf({ input })]).toEqual(around(items));
    expect(boundOf({ input: "hi" })).toBe(108);
  });

  test("have something for each tool, and the bound something for there being any", () => {
    const tool = { type: "function", name: "f", parameters: {} };
    const ofTools = (tools: readonly object[]) => boundOf({ input: "hi", tools }) - 108;
    expect([ofTools([]), ofTools([tool]), ofTools([tool, tool, tool])]).toEqual([0, 800, 1_200]);
  });

  const call = { call_id: "c", name: "f" };
  const places: readonly (readonly [name: string, body: object])[] = [
    ["input", { input: LONG }],
    ["instructions", { input: "hi", instructions: LONG }],
    ["tools", { input: "hi", tools: [{ type: "function", name: "f", description: LONG }] }],
    [
      "the answer's form",
      { input: "hi", text: { format: { type: "json_schema", schema: { title: LONG } } } },
    ],
    ["a message", { input: [user(LONG)] }],
    ["a part", { input: [user([{ type: "input_text", text: LONG }])] }],
    ["a refusal", { input: [{ role: "assistant", content: [{ type: "refusal", refusal: LONG }] }] }],
    ["a call", { input: [{ type: "function_call", ...call, arguments: LONG }] }],
    ["a call's name", { input: [{ type: "function_call", ...call, name: LONG, arguments: "" }] }],
    ["a custom call", { input: [{ type: "custom_tool_call", ...call, input: LONG }] }],
    ["a result", { input: [{ type: "function_call_output", call_id: "c", output: LONG }] }],
    [
      "a part of a result",
      {
        input: [{ type: "function_call_output", call_id: "c", output: [{ type: "input_text", text: LONG }] }],
      },
    ],
    [
      "a result that is an object",
      { input: [{ type: "computer_call_output", call_id: "c", output: { said: LONG } }] },
    ],
    ["a summary", { input: [{ type: "reasoning", summary: [{ type: "summary_text", text: LONG }] }] }],
    ["an action", { input: [{ type: "local_shell_call", action: { command: [LONG] } }] }],
    ["an operation", { input: [{ type: "apply_patch_call", operation: { diff: LONG } }] }],
    ["tools that came in", { input: [{ type: "tool_search_output", tools: [{ name: LONG }] }] }],
    ["results of a search", { input: [{ type: "file_search_call", results: [{ text: LONG }] }] }],
  ];
  for (const [name, body] of places)
    test(`have the text of ${name}`, () => {
      const { expected } = demandOf(body).textTokens;
      expect(expected).toBeGreaterThan(800);
      expect(expected).toBeLessThan(1_300);
    });

  test("have a result's text as it is, not as JSON", () => {
    const ofResult = (output: string) =>
      demandOf({ input: [{ type: "function_call_output", call_id: "c", output }] }).textTokens.expected;
    expect(ofResult('"'.repeat(4_000))).toBe(ofResult("x".repeat(4_000)));
  });
});

test("media are counted by their kind, with the bytes that stand in the request", () => {
  const found = (part: object) => {
    const { media, mediaBytes, images, namesStored = false } = demandOf({ input: [user([part])] });
    return { media, mediaBytes, images, namesStored };
  };
  const none = { media: {}, mediaBytes: 0, images: [], namesStored: false };
  const pdf = { ...none, media: { pdf: 1 } };
  const image = { type: "input_image" };
  const file = { type: "input_file" };
  expect(found({ type: "input_text", text: "x" })).toEqual(none);
  expect(found({ ...image, image_url: GIF, detail: "low" })).toEqual({
    ...none,
    media: { image: 1 },
    images: [{ size: { width: 9, height: 4 }, detail: "low" }],
  });
  expect(found({ ...image, image_url: "https://example.com/a.png" })).toEqual({
    ...none,
    media: { image: 1 },
    images: [{}],
  });
  expect(found({ ...image, file_id: "file-1" })).toEqual({ ...none, media: { image: 1 }, namesStored: true });
  expect(found({ ...file, file_data: "AAAA", filename: "a.pdf" })).toEqual({ ...pdf, mediaBytes: 4 });
  expect(found({ ...file, file_data: "AAAA", filename: "a.wav" })).toEqual({
    ...none,
    media: { audio: 1 },
    mediaBytes: 4,
  });
  expect(found({ ...file, file_url: "https://example.com/a.pdf" })).toEqual(pdf);
  expect(found({ ...file, file_id: "file-1" })).toEqual({ ...pdf, namesStored: true });
  const spoken = { ...none, media: { audio: 1 } };
  expect(found({ type: "input_audio", input_audio: { format: "wav" } })).toEqual(spoken);
  expect(found({ type: "input_audio", input_audio: { data: "AAAA", format: "wav" } })).toEqual({
    ...none,
    media: { audio: 1 },
    mediaBytes: 4,
  });
});

test("an image's own bytes add nothing to the bound of the text", () => {
  const ceilingOf = (url: string) =>
    demandOf({ input: [user([{ type: "input_image", image_url: url }])] }).textTokens.ceiling;
  expect(ceilingOf(GIF + "A".repeat(100_000))).toBe(ceilingOf("data:image/gif;base64,AAAA"));
  const output = [{ type: "input_image", image_url: GIF }];
  expect(demandOf({ input: [{ type: "function_call_output", call_id: "c", output }] }).media).toEqual({
    image: 1,
  });
});

describe("at a model", () => {
  const at = (body: object, more: Partial<Model> = {}) =>
    demandAt(read({ input: "hi", ...body }), {
      ...PLAIN_TARGET,
      model: { ...PLAIN_TARGET.model, ...more },
    });
  const priced = { prices: { web_search: 5_000n } } as unknown as Partial<Model>;
  const tools = [{ type: "web_search" }];

  test("one answer of text is asked for, of at most what is said; OpenAI's takes no bound below 16", () => {
    expect(at({})).toMatchObject({ choices: 1, webSearches: 0, buckets: [], outputModalities: ["text"] });
    const boundsOf = (id: string) =>
      [1, 15, 16, 17].map((bound) => at({ max_output_tokens: bound }, { id }).maxOutputTokens);
    expect(boundsOf("v/m")).toEqual([1, 15, 16, 17]);
    expect(boundsOf("openai/m")).toEqual([16, 16, 16, 17]);
    expect(at({}, { id: "openai/m" }).maxOutputTokens).toBeUndefined();
  });

  test("searches are reckoned with where it has a price for them: ten, or as many as the request allows", () => {
    const searches = (body: object, model: Partial<Model>) => {
      const { webSearches, buckets } = at(body, model);
      return [webSearches, buckets];
    };
    expect(searches({ tools }, priced)).toEqual([10, ["web_search"]]);
    expect(searches({ tools, max_tool_calls: 3 }, priced)).toEqual([3, ["web_search"]]);
    expect(searches({ tools, max_tool_calls: 30 }, priced)).toEqual([10, ["web_search"]]);
    expect(searches({ tools: [{ type: "function", name: "f" }] }, priced)).toEqual([0, []]);
    expect(searches({ tools }, {})).toEqual([0, []]);
  });
});
