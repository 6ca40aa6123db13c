import { expect, test } from "bun:test";
import { type ErrorKind, GatewayError, quoted, toGatewayError, withHeaders, withWarnings } from "./errors.ts";

const STATUSES: Readonly<Record<ErrorKind, number>> = {
  invalid_request_error: 400,
  content_moderation: 400,
  input_too_large: 400,
  auth_error: 401,
  insufficient_credits: 402,
  permission_error: 403,
  not_found_error: 404,
  method_not_allowed: 405,
  conflict_error: 409,
  unsupported_encoding: 415,
  rate_limit_error: 429,
  internal_error: 500,
  upstream_error: 502,
  overloaded_error: 503,
  timeout_error: 504,
};

for (const [kind, status] of Object.entries(STATUSES)) {
  test(`${kind} is ${status}`, () => {
    const error = new GatewayError(kind as ErrorKind, "m", { param: "p", cause: "c" });
    expect([error.status, error.param, error.cause, error.message]).toEqual([status, "p", "c", "m"]);
    const isRequest = kind === "method_not_allowed" || kind === "unsupported_encoding";
    expect(error.type).toBe(isRequest ? "invalid_request_error" : kind);
  });
}

for (const thrown of [
  new Error("secret inside"),
  "secret inside",
  null,
  undefined,
  { message: "secret inside" },
]) {
  test(`${thrown === null ? "null" : typeof thrown} becomes an internal_error that tells nothing and keeps its cause`, () => {
    const error = toGatewayError(thrown);
    expect(error.kind as string).toBe("internal_error");
    expect(error.message).not.toContain("secret");
    expect(error.cause).toBe(thrown);
  });
}

test("a GatewayError stays itself", () => {
  const error = new GatewayError("auth_error", "m");
  expect(toGatewayError(error)).toBe(error);
});

test("an error with more headers is the same error: all that it says stays", () => {
  const details = {
    param: "p",
    code: "c",
    retryAfterSec: 7,
    operatorFault: true,
    operatorHint: "Set it.",
    foreign: true,
    cause: new Error("why"),
  };
  const more = withHeaders(new GatewayError("upstream_error", "m", { ...details, headers: { a: "1" } }), {
    a: "2",
    b: "3",
  });
  expect(more).toMatchObject({
    ...details,
    kind: "upstream_error",
    message: "m",
    headers: { a: "1", b: "3" },
  });
  const plain = withHeaders(new GatewayError("auth_error", "m"), { b: "3" });
  expect(new GatewayError("auth_error", "m").headers).toEqual({});
  const { param, code, retryAfterSec, operatorHint } = plain;
  expect([param, code, retryAfterSec, operatorHint]).toEqual(Array.from({ length: 4 }, () => undefined));
  expect([plain.operatorFault, plain.foreign]).toEqual([false, false]);
});

test("what a caller wrote is quoted up to 100 characters", () => {
  expect(quoted('a "b"\n')).toBe('"a \\"b\\"\\n"');
  expect(quoted("x".repeat(100))).toBe(`"${"x".repeat(100)}"`);
  expect(quoted("x".repeat(101))).toBe(`"${"x".repeat(100)}"`);
});

test("an error has its class's name, and no warnings unless it is given some", () => {
  const error = new GatewayError("auth_error", "m");
  expect([error.name, error.warnings]).toEqual(["GatewayError", []]);
});

test("an error with more warnings says these before its own, and with none it is itself", () => {
  const error = new GatewayError("upstream_error", "m", { code: "c", warnings: ["own"] });
  expect(withWarnings(error, [])).toBe(error);
  expect(withWarnings(error, ["one"])).toMatchObject({ code: "c", warnings: ["one", "own"] });
  expect(withWarnings(error, ["one", "two"]).warnings).toEqual(["one", "two", "own"]);
});
