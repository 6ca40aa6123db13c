import { describe, expect, test } from "bun:test";
import { CHAT_FIELDS } from "./chat-completions/schema.ts";
import { CONFIG_FIELDS, REQUEST_FIELDS } from "./generate-content/schema.ts";
import { IMAGE_FORM } from "./images/schema.ts";
import { createMeantField, schemaRefusal, unknownField } from "./meant-field.ts";
import { MESSAGES_FIELDS } from "./messages/schema.ts";
import { VIDEO_FORM } from "./videos/schema.ts";

describe("a wrong name leads to the field that is meant", () => {
  const meant = createMeantField(["max_tokens", "stop"], {
    max_tokens: "num_predict",
    stop: "stop_words halt",
  });

  test("by what other interfaces call it, and by its own name, in any spelling", () => {
    for (const name of ["num_predict", "numPredict", "NUM-PREDICT", "maxTokens", "Max_Tokens"])
      expect(meant(name)).toBe("max_tokens");
    expect([meant("halt"), meant("stopWords")]).toEqual(["stop", "stop"]);
  });

  test("and any other leads nowhere, what every object inherits and a very long one too", () => {
    for (const name of ["", "x", "constructor", "__proto__", "num_predicts", `${"_".repeat(100)}stop`])
      expect(meant(name)).toBeUndefined();
  });
});

test("the warning of an unknown field fits into a header", () => {
  expect(unknownField('a"b\n', "messages", "x")).toBe(
    "a?b? was left out: it is not a field of messages, did you mean x?",
  );
  expect(unknownField("a", "messages", undefined)).toBe("a was left out: it is not a field of messages");
});

test("a missing field is told under which name it was sent, and no other fault is", () => {
  const meant = createMeantField(["messages"], { messages: "prompt input" });
  const told = (problem: string, body: object) =>
    schemaRefusal({ path: "messages", problem }, { ...body }, meant).message;
  expect(told("is required", { model: "x", input: [] })).toBe(
    "messages is required. What was sent as input belongs there.",
  );
  expect(told("is required", { model: "x" })).toBe("messages is required.");
  expect(told("must be an array", { input: [] })).toBe("messages must be an array.");
});

describe("the table of", () => {
  const tables = {
    "chat completions": { ...CHAT_FIELDS, own: Object.keys(CHAT_FIELDS.fields) },
    messages: { ...MESSAGES_FIELDS, own: Object.keys(MESSAGES_FIELDS.fields) },
    generateContent: { ...REQUEST_FIELDS, own: Object.keys(REQUEST_FIELDS.fields) },
    generationConfig: { ...CONFIG_FIELDS, own: Object.keys(CONFIG_FIELDS.fields) },
    images: { ...IMAGE_FORM, own: [...IMAGE_FORM.names] },
    videos: { ...VIDEO_FORM, own: [...VIDEO_FORM.names] },
  };
  for (const [name, { own, meant }] of Object.entries(tables))
    test(`${name} takes none of its own fields for another`, () =>
      expect(own.filter((field) => meant(field) !== field)).toEqual([]));
});
