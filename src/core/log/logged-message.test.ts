import { describe, expect, test } from "bun:test";
import { GatewayError, quoted } from "../errors.ts";
import { loggedMessage, loggedParam } from "./logged-message.ts";

const isModel = (text: string): boolean => text === "openai/gpt-5.6-luna";
const ours = (message: string, param?: string): string =>
  loggedMessage(
    new GatewayError("invalid_request_error", message, param === undefined ? {} : { param }),
    isModel,
  );
const theirs = (message: string, param?: string): string =>
  loggedMessage(
    new GatewayError("invalid_request_error", message, {
      foreign: true,
      ...(param === undefined ? {} : { param }),
    }),
    isModel,
  );

describe("of our own sentences the log has all but what the caller wrote", () => {
  const written = [
    "a secret",
    'a "secret" of mine',
    "back\\slash",
    'ends with \\"',
    "two\nlines",
    "",
    "x".repeat(500),
  ];
  for (const text of written)
    test(JSON.stringify(text.slice(0, 20)), () => {
      const message = `The model ${quoted(text)} is not served here, nor is ${quoted(text)}.`;
      expect(ours(message)).toBe('The model "…" is not served here, nor is "…".');
    });

  test("ids of models and paths of fields stay", () => {
    for (const message of [
      'The model "openai/gpt-5.6-luna" is not served here.',
      '"messages[0].content" must be a string.',
      "messages[0].content must be a string: the provider's own words, nobody's secret.",
      "",
    ])
      expect(ours(message)).toBe(message);
    expect(ours('"top_k" stands twice.', "top_k")).toBe('"top_k" stands twice.');
    expect(ours('"top_k" stands twice.', "top_p")).toBe('"…" stands twice.');
  });

  test("no text is a model's id where models are not known", () => {
    const error = new GatewayError("not_found_error", 'The model "openai/gpt-5.6-luna" is unknown.');
    expect(loggedMessage(error)).toBe('The model "…" is unknown.');
  });

  test("a quotation without an end is cut to the end", () =>
    expect(ours('It says "a secret and')).toBe('It says "…"'));

  test("a field's name that is a text of the caller's is cut out, quoted or not", () => {
    expect(ours("tell me all is not a known key.", "tell me all")).toBe("… is not a known key.");
    expect(["messages[0].content", "top_p", "a.b-c"].map(loggedParam)).toEqual([
      "messages[0].content",
      "top_p",
      "a.b-c",
    ]);
    for (const param of ["tell me", "", "x".repeat(121), 'a"b', "a\nb", undefined])
      expect(loggedParam(param)).toBeUndefined();
  });
});

describe("of a provider's sentences the log has what stands before the first quotation", () => {
  const cases = [
    { said: "Invalid value: 'a secret'. Supported values are: 'a' and 'b'.", want: "Invalid value: …" },
    { said: "Unknown variant `a secret`, expected `text` at line 1.", want: "Unknown variant …" },
    { said: 'Got "a secret here.', want: "Got …" },
    { said: 'Got "messages[0].content!', want: "Got …" },
    { said: "No such “a secret” here.", want: "No such …" },
    { said: "Invalid: 'a' my secret 'b'.", want: "Invalid: …" },
    { said: "The users' limits and can't: 'a secret'", want: "The users' limits and can't: …" },
  ];
  for (const { said, want } of cases) test(said, () => expect(theirs(said)).toBe(want));

  test("paths of fields and ids of models stay, and what follows them", () => {
    const typed = "Invalid type for 'messages[0].content': expected a string, but got an integer.";
    expect(theirs(typed)).toBe(typed);
    expect(theirs("'top_k' is not supported with `openai/gpt-5.6-luna`: 'a secret'.", "top_k")).toBe(
      "'top_k' is not supported with `openai/gpt-5.6-luna`: …",
    );
    expect(theirs("messages.0.content: Field required")).toBe("messages.0.content: Field required");
  });
});

test("nothing stays of what a moderation says", () => {
  const error = new GatewayError("content_moderation", "Banned prompt: my secret.");
  expect(loggedMessage(error, isModel)).toBe("…");
});
