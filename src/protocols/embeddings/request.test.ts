import { describe, expect, test } from "bun:test";
import { GatewayError } from "../../core/errors.ts";
import { readEmbeddingRequest } from "./request.ts";

const read = (body: unknown) =>
  readEmbeddingRequest({ body: new TextEncoder().encode(JSON.stringify(body)) });

/** The field that the refusal of a request names. */
function faultOf(body: object): unknown {
  try {
    read({ model: "m", input: "x", ...body });
  } catch (error) {
    if (error instanceof GatewayError) return [error.kind, error.param];
  }
  return "taken";
}

describe("the input", () => {
  test("is a text, a list of texts, the tokens of a text, or a list of those", () => {
    expect(read({ model: "m", input: "One." })).toMatchObject({ texts: ["One."], isOne: true });
    expect(read({ model: "m", input: ["One.", "Two."] })).toMatchObject({
      texts: ["One.", "Two."],
      isOne: false,
    });
    expect(read({ model: "m", input: [1, 2] })).toMatchObject({ texts: [[1, 2]], isOne: true });
    expect(read({ model: "m", input: [[1, 2], [3]] })).toMatchObject({ texts: [[1, 2], [3]], isOne: false });
  });

  const wrongs: readonly (readonly [input: unknown, param: string])[] = [
    [undefined, "input"],
    [null, "input"],
    [5, "input"],
    [{ text: "x" }, "input"],
    ["", "input"],
    [[], "input"],
    [["a", ""], "input[1]"],
    [["a", 5], "input[1]"],
    [["a", null], "input[1]"],
    [["a", ["b"]], "input[1]"],
    [[1, "a"], "input[1]"],
    [[1, -1], "input[1]"],
    [[1, 1.5], "input[1]"],
    [[[1], []], "input[1]"],
    [[[1], "a"], "input[1]"],
    [[[1], [2, "a"]], "input[1][1]"],
    [Array(2_049).fill("a"), "input"],
  ];
  for (const [input, param] of wrongs)
    test(`that is ${JSON.stringify(input)?.slice(0, 40)} is a 400 that names ${param}`, () =>
      expect(faultOf({ input })).toEqual(["invalid_request_error", param]));

  test("may have as many tokens as OpenAI takes", () => {
    const input = Array.from({ length: 40 }, () => Array<number>(7_500).fill(100_000));
    expect(read({ model: "m", input }).sizes.reduce((sum, { expected }) => sum + expected, 0)).toBe(300_000);
  });
});

test("each other field is checked, and null says the same as leaving it out", () => {
  for (const field of ["dimensions", "encoding_format", "user"])
    expect(faultOf({ [field]: null })).toBe("taken");
  for (const dimensions of [0, -1, 1.5, "256", []])
    expect(faultOf({ dimensions })).toEqual(["invalid_request_error", "dimensions"]);
  for (const encoding_format of ["int8", "", 5, ["float"]])
    expect(faultOf({ encoding_format })).toEqual(["invalid_request_error", "encoding_format"]);
  for (const user of [5, ["a"], {}]) expect(faultOf({ user })).toEqual(["invalid_request_error", "user"]);
  for (const model of [undefined, null, "", 5])
    expect(faultOf({ model })).toEqual(["invalid_request_error", "model"]);
});

test("a field of another interface is known by its name here", () => {
  expect(() => read({ model: "m", texts: ["a"] })).toThrow("What was sent as texts belongs there.");
  expect(read({ model: "m", input: "a", input_type: "query" }).others).toEqual({ input_type: "query" });
});

test("a text is sized by its script, tokens by their number", () => {
  const { sizes } = read({ model: "m", input: ["word ".repeat(100), "海".repeat(100)] });
  expect(sizes[0]?.expected).toBe(125);
  expect(sizes[1]?.expected).toBe(84);
  expect(read({ model: "m", input: [[1, 2, 3]] }).sizes).toEqual([{ expected: 3, ceiling: 3 }]);
});
