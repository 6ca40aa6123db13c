import { describe, expect, test } from "bun:test";
import { GatewayError } from "../errors.ts";
import { describeError, redact, refusalFields } from "./log.ts";

const CANARIES = [
  "sk-aB3dE6gH9jK2mN5pQ8rT1vW4xY7zA0cF3hJ6lM9oQ2sU5wZ",
  "sk-proj-abc_DEF-123456789",
  "adm-0123456789abcdef",
  "Bearer abc.def.ghi",
  "bearer abc.def.ghi",
  "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9eyJzdWIiOiIxMjM0NTY3ODkwIn0",
  "QUJD".repeat(20),
];

describe("no line of the log shows what looks like a secret", () => {
  for (const canary of CANARIES) {
    const check = (): void => {
      for (const text of [canary, `key ${canary}.`, `{"authorization":"${canary}"}`, `a=${canary}&b=1`]) {
        const shown = redact(text);
        expect(shown).toContain("[redacted]");
        expect(shown).not.toContain(canary.slice(-6));
      }
    };
    // The pattern for Bearer knows one spelling; HTTP knows any.
    if (canary.startsWith("bearer")) test(`${canary.slice(0, 12)}…`, check);
    else test(`${canary.slice(0, 12)}…`, check);
  }

  test("AIza…", () => expect(redact(`key AIza${"aB3".repeat(11)}xy`)).toContain("[redacted]"));
});

test("plain sentences stay, and are cut to their length after they are redacted", () => {
  expect(redact("The provider said no.")).toBe("The provider said no.");
  expect(redact("x ".repeat(500), 20)).toHaveLength(20);
  expect(redact(`${"a ".repeat(8)}sk-abcdefgh12345678`, 22)).not.toContain("abcdefgh");
});

describe("an error is told with its causes, in one line, redacted", () => {
  test("with codes", () => {
    const inner = Object.assign(new Error("connect failed for sk-abcdefgh1234"), { code: "ECONNREFUSED" });
    const text = describeError(new Error("outer", { cause: inner }));
    expect(text).toBe("Error: outer ← Error ECONNREFUSED: connect failed for [redacted]");
  });

  test("but no code that is no word", () => {
    expect(describeError(Object.assign(new Error("a"), { code: 5 }))).toBe("Error: a");
  });

  test("by its name, and up to 600 characters", () => {
    const error = new GatewayError("auth_error", "x y ".repeat(200));
    expect(describeError(error)).toBe(`GatewayError: ${"x y ".repeat(200)}`.slice(0, 600));
  });

  test("of a ring of causes, and of no error at all", () => {
    const ring = new Error("a");
    ring.cause = ring;
    expect(describeError(ring).split("←")).toHaveLength(4);
    expect([
      describeError("text"),
      describeError(5),
      describeError(undefined),
      describeError({ a: 1 }),
    ]).toEqual(["text", "number", "", "object"]);
  });
});

test("a text is cut to 300 characters where nothing else is said", () => {
  expect(redact("x y ".repeat(100))).toBe("x y ".repeat(75));
  expect(redact("x y ".repeat(100), 8)).toBe("x y x y ");
});

test("the line of a refusal has its code and its field, where it has them", () => {
  const isModel = (): boolean => false;
  expect(refusalFields(new GatewayError("auth_error", "No."), isModel)).toEqual({
    error: "auth_error",
    refusal: "No.",
  });
  const error = new GatewayError("not_found_error", "No.", { code: "model_not_found", param: "model" });
  expect(refusalFields(error, isModel)).toEqual({
    error: "not_found_error",
    code: "model_not_found",
    param: "model",
    refusal: "No.",
  });
});
