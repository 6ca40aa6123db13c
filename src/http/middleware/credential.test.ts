import { describe, expect, test } from "bun:test";
import type { GatewayError } from "../../core/errors.ts";
import { readCredential } from "./credential.ts";

const asked = (headers: [string, string][], query = ""): Request =>
  new Request(`http://gateway/api/v1/messages${query}`, { headers });

/** The credential of a request, or the code and the sentence that it is refused with. */
function read(headers: [string, string][], query?: string, access: "key" | "admin" = "key"): string {
  try {
    return readCredential(asked(headers, query), access);
  } catch (error) {
    const { kind, code, message } = error as GatewayError;
    expect(kind).toBe("auth_error");
    return `${code}: ${message}`;
  }
}

const SEND_KEY = "Send it as Authorization: Bearer <key>, x-api-key or x-goog-api-key.";

describe("a credential", () => {
  for (const headers of [
    [["authorization", "Bearer k"]],
    [["authorization", " bearer   k "]],
    [["x-api-key", "k"]],
    [["x-goog-api-key", "k"]],
    [
      ["authorization", "Bearer k"],
      ["x-api-key", "k"],
      ["x-goog-api-key", "k"],
    ],
  ] as [string, string][][])
    test(`is read from ${JSON.stringify(headers)}`, () => expect(read(headers)).toBe("k"));

  test("is refused where two headers hold different ones, whichever they are", () => {
    const [bearer, own, google] = [
      ["authorization", "Bearer k"],
      ["x-api-key", "other"],
      ["x-goog-api-key", "third"],
    ] as [string, string][];
    const words = (first: string, second: string) =>
      `api_key_ambiguous: The headers ${first} and ${second} hold different keys. Send one of them.`;
    expect(read([bearer!, own!])).toBe(words("authorization", "x-api-key"));
    expect(read([bearer!, google!])).toBe(words("authorization", "x-goog-api-key"));
    expect(read([own!, google!])).toBe(words("x-api-key", "x-goog-api-key"));
  });

  for (const [name, text] of [
    ["authorization", "Bearer k"],
    ["x-api-key", "k"],
    ["x-goog-api-key", "k"],
  ] as const)
    test(`is refused where ${name} stands twice, also with the same one`, () => {
      const refusal = `api_key_ambiguous: The header ${name} stands more than once. Send it once.`;
      const twice: [string, string] = [name, `${text}, ${text}`];
      expect(read([twice])).toBe(refusal);
      const other: [string, string] =
        name === "x-api-key" ? ["authorization", "Bearer k"] : ["x-api-key", "k"];
      expect(read([other, twice])).toBe(refusal);
    });
});

describe("the error of a request without a credential says", () => {
  test("how one is sent", () => {
    expect(read([])).toBe(`api_key_missing: This request has no API key. ${SEND_KEY}`);
    expect(read([], "", "admin")).toBe(
      "admin_token_missing: This request has no admin token. Send it as Authorization: Bearer <token>.",
    );
  });

  test("which header holds none", () => {
    for (const [name, text] of [
      ["authorization", "Bearer"],
      ["authorization", "bearer "],
      ["x-api-key", ""],
      ["x-goog-api-key", ""],
    ] as const)
      expect(read([[name, text]])).toBe(
        `api_key_missing: The header ${name} has no API key in it: is the variable that holds it set? ${SEND_KEY}`,
      );
    expect(
      read([
        ["authorization", "Bearer k"],
        ["x-api-key", ""],
      ]),
    ).toStartWith("api_key_missing: The header x-api-key");
  });

  test("that Authorization takes nothing but a Bearer", () => {
    for (const text of ["Basic a2V5", "k", "Bearer two words", "Bearerk"])
      expect(read([["authorization", text]])).toBe(
        `api_key_misplaced: Of Authorization only a Bearer with one word is read. ${SEND_KEY}`,
      );
  });

  test("which place it stands in that is not read", () => {
    for (const name of [
      "api-key",
      "apikey",
      "x-auth-token",
      "x-access-token",
      "x-api-token",
      "proxy-authorization",
    ])
      expect(read([[name, "k"]], "?key=k")).toBe(
        `api_key_misplaced: No API key is read from the header ${name}. ${SEND_KEY}`,
      );
    for (const name of ["key", "api_key", "api-key", "apikey", "access_token", "token"])
      expect(read([], `?${name}=k`)).toBe(
        `api_key_misplaced: No API key is read from the query (${name}). ${SEND_KEY}`,
      );
    expect(read([], "?other=k")).toStartWith("api_key_missing: ");
    expect(read([["api-key", "k"]], "", "admin")).toStartWith("admin_token_misplaced: No admin token");
  });
});
