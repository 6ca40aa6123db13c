import { describe, expect, test } from "bun:test";
import { ANSWER_CONTEXT } from "../../../test/protocols/answer-context.ts";
import { GatewayError } from "../../core/errors.ts";
import type { AnswerContext } from "../protocol.ts";
import type { AskedVectors, EmbeddingFormat } from "./format.ts";
import { geminiEmbeddings } from "./gemini.ts";
import { openaiEmbeddings } from "./openai.ts";

const ASKED: AskedVectors = { texts: 2, encoding: "float", dimensions: null, normalize: false };

const context = (asked: Partial<AskedVectors>): AnswerContext => ({
  ...ANSWER_CONTEXT,
  native: false,
  expectedInput: 9,
  echo: { ...ASKED, ...asked },
});

function read(format: EmbeddingFormat, text: string, asked: Partial<AskedVectors> = {}) {
  const answer = format.readAnswer(new TextEncoder().encode(text), context(asked));
  return { ...answer, text: new TextDecoder().decode(answer.encode(12_500n)) };
}

const row = (index: unknown, embedding: unknown) => ({ object: "embedding", index, embedding });
const base64 = (...numbers: number[]): string =>
  Buffer.from(new Float32Array(numbers).buffer).toString("base64");
const usage = { prompt_tokens: 8, total_tokens: 8 };
const list = (data: unknown, more: object = { usage }): string =>
  JSON.stringify({ object: "list", data, model: "m-1", ...more });

describe("an answer in OpenAI's form", () => {
  test("keeps its bytes, its numbers' digits too, but for model and credit", () => {
    const sent =
      '{ "object":"list", "data":[{"index":0,"embedding":[0.10, -1e-3],"object":"embedding"},{"index":1,"embedding":[1,0.0]}], "model":"m-1","usage":{"prompt_tokens":8,"total_tokens":8,"cost":1e-7}, "id":"x" }';
    const { text, metered, repairs } = read(openaiEmbeddings, sent);
    expect(text).toBe(sent.replace('"m-1"', '"v/m"').replace('"id":"x" }', '"id":"x","credit":0.0125 }'));
    expect([metered.usage.input, metered.flags, repairs]).toEqual([8, [], []]);
  });

  test("in the other encoding is put into the one that was asked for", () => {
    const floats = list([row(0, [0.5, -2]), row(1, [1, 0.25])]);
    const coded = list([row(0, base64(0.5, -2)), row(1, base64(1, 0.25))]);
    const vectorsOf = (text: string) =>
      (JSON.parse(text) as { data: { embedding: unknown }[] }).data.map(({ embedding }) => embedding);
    const toBase64 = read(openaiEmbeddings, floats, { encoding: "base64" });
    expect(vectorsOf(toBase64.text)).toEqual([base64(0.5, -2), base64(1, 0.25)]);
    expect(toBase64.repairs).toEqual(["vector_encoding"]);
    expect(vectorsOf(read(openaiEmbeddings, coded).text)).toEqual([
      [0.5, -2],
      [1, 0.25],
    ]);
    expect(read(openaiEmbeddings, coded, { encoding: "base64" }).repairs).toEqual([]);
  });

  test("stands in the order of the input", () => {
    const { text, repairs } = read(openaiEmbeddings, list([row(1, [2]), row(0, [1])]));
    expect(JSON.parse(text)).toMatchObject({
      data: [row(0, [1]), row(1, [2])],
      model: "v/m",
      credit: 0.0125,
    });
    expect(repairs).toEqual(["vector_order"]);
    const unnumbered = read(openaiEmbeddings, list([row(undefined, [1]), row(undefined, [2])]));
    expect(JSON.parse(unnumbered.text)).toMatchObject({ data: [row(0, [1]), row(1, [2])] });
  });

  test("without usage is charged by our count, and says so; a total alone is the input", () => {
    for (const more of [{}, { usage: null }, { usage: { prompt_tokens: 0, total_tokens: 0 } }]) {
      const { text, metered } = read(openaiEmbeddings, list([row(0, [1]), row(1, [2])], more));
      expect([metered.usage.input, metered.flags]).toEqual([9, ["estimated"]]);
      expect(JSON.parse(text)).toMatchObject({ usage: { prompt_tokens: 9, total_tokens: 9 } });
    }
    const voyage = read(openaiEmbeddings, list([row(0, [1]), row(1, [2])], { usage: { total_tokens: 5 } }));
    expect([voyage.metered.usage.input, voyage.metered.flags]).toEqual([5, []]);
    expect(JSON.parse(voyage.text)).toMatchObject({ usage: { prompt_tokens: 5, total_tokens: 5 } });
  });

  const useless: readonly (readonly [name: string, text: string, asked?: Partial<AskedVectors>])[] = [
    ["no data", list([])],
    ["too few vectors", list([row(0, [1])])],
    ["too many", list([row(0, [1]), row(1, [1]), row(2, [1])])],
    ["data that is no list", list({})],
    ["an empty vector", list([row(0, [1]), row(1, [])])],
    ["a vector of words", list([row(0, [1]), row(1, ["a"])])],
    ["text that is no base64", list([row(0, [1]), row(1, "?!")])],
    ["base64 of no floats", list([row(0, [1]), row(1, "AAAAAAA=")])],
    ["an empty text", list([row(0, [1]), row(1, "")])],
    ["shorter vectors than were asked for", list([row(0, [1]), row(1, [1])]), { dimensions: 2 }],
    ["an error", JSON.stringify({ error: { message: "no", code: 500 } })],
    ["half of it", list([row(0, [1]), row(1, [1])]).slice(0, 60)],
  ];
  for (const [name, text, asked] of useless)
    test(`with ${name} is an upstream error`, () =>
      expect(() => read(openaiEmbeddings, text, asked)).toThrow(GatewayError));
});

describe("an answer of Gemini's", () => {
  const gemini = (more: object = {}): string =>
    JSON.stringify({ embeddings: [{ values: [3, 4] }, { values: [0, 0] }], ...more });

  test("becomes one of OpenAI's form, charged by our count where Google gives none", () => {
    const { text, metered } = read(geminiEmbeddings, gemini());
    expect(JSON.parse(text)).toEqual({
      object: "list",
      data: [row(0, [3, 4]), row(1, [0, 0])],
      model: "v/m",
      usage: { prompt_tokens: 9, total_tokens: 9 },
      credit: 0.0125,
    });
    expect(metered.flags).toEqual(["estimated"]);
    const counted = read(geminiEmbeddings, gemini({ usageMetadata: { promptTokenCount: 4 } }));
    expect([counted.metered.usage.input, counted.metered.flags]).toEqual([4, []]);
  });

  test("gets length one and base64 where that is wanted; zeros stay", () => {
    const { text } = read(geminiEmbeddings, gemini(), { normalize: true, encoding: "base64" });
    expect(JSON.parse(text)).toMatchObject({
      data: [row(0, base64(0.6, 0.8)), row(1, base64(0, 0))],
    });
  });

  test("with other than one vector for each text is an upstream error", () => {
    for (const text of ['{"embeddings":[]}', "{}", '{"embeddings":[{"values":[1]},{}]}', "[]"])
      expect(() => read(geminiEmbeddings, text)).toThrow(GatewayError);
    expect(() => read(geminiEmbeddings, gemini(), { dimensions: 3 })).toThrow("not as long");
  });
});
