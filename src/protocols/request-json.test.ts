import { describe, expect, test } from "bun:test";
import { GatewayError } from "../core/errors.ts";
import { readRequestJson } from "./request-json.ts";

const refusalOf = (text: string): [kind: string, message: string] | undefined => {
  try {
    readRequestJson({ body: new TextEncoder().encode(text) });
    return undefined;
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    return [error.kind, error.message];
  }
};

describe("a body", () => {
  test("nests 64 levels, its own among them, and not one more", () => {
    const deep = (levels: number): string => `{"a":${"[".repeat(levels - 1)}${"]".repeat(levels - 1)}}`;
    expect(refusalOf(deep(64))).toBeUndefined();
    expect(refusalOf(deep(65))).toEqual(["invalid_request_error", "The body nests deeper than 64 levels."]);
  });

  test("has 200,000 values, itself among them, and not one more", () => {
    // The body and its list are two of them.
    const many = (values: number): string => `{"a":[${"0,".repeat(values - 3)}0]}`;
    expect(refusalOf(many(200_000))).toBeUndefined();
    expect(refusalOf(many(200_001))).toEqual([
      "input_too_large",
      "The body has more than 200000 JSON values.",
    ]);
  });
});
