import { describe, expect, test } from "bun:test";
import { ERRORS, type ErrorKind, GatewayError } from "../../core/errors.ts";
import type { AnswerContext } from "../protocol.ts";
import { encodeError } from "./error-body.ts";
import { generateContent } from "./index.ts";

test("every error has its status as code, Google's word for it, and the type of the interface", () => {
  for (const kind of Object.keys(ERRORS) as ErrorKind[]) {
    const error = new GatewayError(kind, "Why.");
    const { error: body } = encodeError(error) as { error: Record<string, unknown> };
    expect(body).toMatchObject({ code: error.status, message: "Why.", type: error.type });
    expect(body.status).toMatch(/^[A-Z_]+$/);
    expect(body.status).not.toBe("UNKNOWN");
  }
  expect(encodeError(new GatewayError("insufficient_credits", "No."))).toEqual({
    error: { code: 402, message: "No.", status: "FAILED_PRECONDITION", type: "insufficient_credits" },
  });
});

test("the field at fault and the time to wait stand in the details", () => {
  const error = new GatewayError("overloaded_error", "Later.", { retryAfterSec: 34, param: "contents" });
  expect(encodeError(error).error).toMatchObject({
    details: [
      {
        "@type": "type.googleapis.com/google.rpc.BadRequest",
        fieldViolations: [{ field: "contents", description: "Later." }],
      },
      { "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "34s" },
    ],
  });
});

describe("what Google refuses", () => {
  const context = {
    model: "google/x",
    secrets: ["AIza-secret-key"],
    native: true,
  } as unknown as AnswerContext;
  const refuse = (status: number, error: object, list = false) =>
    generateContent.readRefusal(
      {
        status,
        body: new TextEncoder().encode(JSON.stringify(list ? [{ error }] : { error })),
        retryAfter: null,
      },
      context,
    );
  const retryInfo = { "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "34.07s" };
  const cases: readonly [string, number, object, Partial<GatewayError>][] = [
    [
      "a quota",
      429,
      { code: 429, message: "You exceeded your quota.", status: "RESOURCE_EXHAUSTED", details: [retryInfo] },
      { kind: "overloaded_error", retryAfterSec: 35 },
    ],
    [
      "a quota that speaks of billing",
      429,
      {
        code: 429,
        message: "You exceeded your current quota, please check your plan and billing details.",
        status: "RESOURCE_EXHAUSTED",
      },
      { kind: "overloaded_error" },
    ],
    [
      "an overload",
      503,
      { code: 503, message: "The model is overloaded.", status: "UNAVAILABLE" },
      { kind: "overloaded_error", retryAfterSec: 1 },
    ],
    [
      "a wait that is too long to tell",
      429,
      { code: 429, status: "RESOURCE_EXHAUSTED", details: [{ retryDelay: "86400s" }] },
      { kind: "overloaded_error", retryAfterSec: 60 },
    ],
    [
      "our key",
      400,
      {
        code: 400,
        message: "API key not valid. Please pass a valid API key.",
        status: "INVALID_ARGUMENT",
        details: [{ reason: "API_KEY_INVALID" }],
      },
      { kind: "upstream_error" },
    ],
    [
      "our key, in other words",
      400,
      {
        code: 400,
        message: "Renew it.",
        status: "INVALID_ARGUMENT",
        details: [{ reason: "API_KEY_INVALID" }],
      },
      { kind: "upstream_error" },
    ],
    [
      "our permission",
      403,
      { code: 403, message: "Denied.", status: "PERMISSION_DENIED" },
      { kind: "upstream_error" },
    ],
    [
      "our place",
      400,
      {
        code: 400,
        message: "User location is not supported for the API use.",
        status: "FAILED_PRECONDITION",
      },
      { kind: "upstream_error" },
    ],
    [
      "our model's name",
      404,
      { code: 404, message: "models/x is not found.", status: "NOT_FOUND" },
      { kind: "upstream_error" },
    ],
    [
      "the client's request",
      400,
      { code: 400, message: 'Unknown name "foo".', status: "INVALID_ARGUMENT" },
      { kind: "invalid_request_error" },
    ],
    [
      "too long a prompt",
      400,
      {
        code: 400,
        message: "The input token count (1048577) exceeds the maximum number of tokens allowed (1048576).",
        status: "INVALID_ARGUMENT",
      },
      { kind: "input_too_large" },
    ],
    [
      "a deadline",
      504,
      { code: 504, message: "Deadline expired.", status: "DEADLINE_EXCEEDED" },
      { kind: "timeout_error" },
    ],
  ];
  for (const [name, status, error, wanted] of cases) {
    test(`${name}, as an object, a list, and a 200 that says it`, () => {
      expect(refuse(status, error)).toMatchObject(wanted);
      expect(refuse(status, error, true)).toMatchObject(wanted);
      const inside = { code: status, ...error };
      expect(refuse(200, inside)).toMatchObject(wanted);
      expect(refuse(200, inside, true)).toMatchObject(wanted);
    });
  }
});
