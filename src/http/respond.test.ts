import { describe, expect, test } from "bun:test";
import { ERRORS, type ErrorKind, GatewayError } from "../core/errors.ts";
import { respondError, warningHeader } from "./respond.ts";

function shouldRetry(error: GatewayError): string | null {
  return respondError(error, "req_1").headers.get("x-should-retry");
}

describe("a client is told not to send again", () => {
  for (const [kind, { status }] of Object.entries(ERRORS)) {
    const isFinal = status < 500 && status !== 429;
    test(`what is answered by ${status} ${kind}: ${isFinal ? "yes" : "no"}`, () => {
      expect(shouldRetry(new GatewayError(kind as ErrorKind, "No."))).toBe(isFinal ? "false" : null);
    });
  }

  test("what a limit of its key never lets through, and not what it does later", () => {
    const never = { headers: { "x-should-retry": "false" } };
    expect(shouldRetry(new GatewayError("rate_limit_error", "No.", never))).toBe("false");
    const later = respondError(new GatewayError("rate_limit_error", "No.", { retryAfterSec: 7 }), "req_1");
    expect([later.headers.get("x-should-retry"), later.headers.get("retry-after")]).toEqual([null, "7"]);
  });
});

test("warnings are one header of sixteen texts at the most, and none for none", () => {
  const warnings = Array.from({ length: 17 }, (_, i) => `w${i}`);
  expect(warningHeader([])).toEqual({});
  expect(warningHeader(["a"])).toEqual({ warning: '299 switchyard "a"' });
  for (const [given, told] of [
    [15, 15],
    [16, 16],
    [17, 16],
  ] as const)
    expect(warningHeader(warnings.slice(0, given)).warning?.match(/299 /g)).toHaveLength(told);
});

test("a warning has nothing that a header cannot have, and no end of its own text", () => {
  expect(warningHeader(['a "b" \\c', "d\r\ne: \u00e9\u4e2d"])).toEqual({
    warning: '299 switchyard "a \'b\' ?c", 299 switchyard "d??e: ??"',
  });
});
