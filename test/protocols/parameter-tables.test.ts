import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import type { TSchema } from "typebox";
import { loadModelFiles, servedIn } from "../../src/catalog/catalog.ts";
import { PARAMETER_TABLES } from "../../src/catalog/parameter-tables.ts";
import { isIgnored, parametersOf } from "../../src/catalog/parameters.ts";
import type { ProtocolId } from "../../src/core/model.ts";
import { compileSchema } from "../../src/core/schema.ts";
import { CHAT_FIELDS } from "../../src/protocols/chat-completions/fields.ts";
import { ChatRequestSchema } from "../../src/protocols/chat-completions/schema.ts";
import type { FieldTable } from "../../src/protocols/rewrite.ts";

// What is documented is what is checked: the tables of the catalogue against the schemas of requests, in both ways.

const models = loadModelFiles(join(import.meta.dirname, "../../models"));
const model = models.find(({ id }) => id === "google/gemini-3-pro-image")!;

/** The rows of the interface's table of each endpoint; the model of generateContent is in the path. */
const ROWS: Readonly<Record<ProtocolId, string>> = {
  compat_chat_completions: `model messages stream stream_options temperature max_completion_tokens max_tokens top_p stop
    presence_penalty frequency_penalty tools tool_choice reasoning thinking modalities image_config`,
  compat_messages:
    "model max_tokens messages system stream temperature top_p top_k stop_sequences tools tool_choice thinking",
  compat_generate_content: "contents systemInstruction generationConfig tools",
};

for (const [protocol, rows] of Object.entries(ROWS) as [ProtocolId, string][]) {
  test(`${protocol}: every row of the interface is a parameter`, () => {
    const names = PARAMETER_TABLES[protocol](model).map(({ name }) => name);
    expect(rows.split(/\s+/).filter((row) => !names.includes(row))).toEqual([]);
    expect(new Set(names).size).toBe(names.length);
  });
}

/** What a format checks requests by. */
const CHECKED: readonly {
  readonly protocol: ProtocolId;
  readonly schema: TSchema;
  readonly fields: FieldTable;
  /** A request that is good, without what a case adds. */
  readonly good: Readonly<Record<string, unknown>>;
}[] = [
  {
    protocol: "compat_chat_completions",
    schema: ChatRequestSchema,
    fields: CHAT_FIELDS,
    good: { model: model.id, messages: [{ role: "user", content: "x" }] },
  },
];

/** Values at and beyond every bound, and of every wrong type. */
const NUMBERS = [-3, -2, -1, 0, 0.5, 1, 1.5, 2, 2.1, 128, 129, 1_000];
const WORDS = ["x", "", "auto", "enabled", "text", "image", "sideways"];
const LISTS = [[], ["x"], [""], [1], ["text"], ["text", "text"], ["image"], [{}]];
const OBJECTS = [
  {},
  { type: "json_object" },
  { type: "sideways" },
  { type: "enabled" },
  { type: "auto" },
  { budget_tokens: 0 },
  { budget_tokens: 5 },
  { effort: "low" },
  { include_usage: true },
];
const VALUES: readonly unknown[] = [true, false, ...NUMBERS, ...WORDS, ...LISTS, ...OBJECTS];

for (const { protocol, schema, fields, good } of CHECKED) {
  describe(protocol, () => {
    const served = servedIn(model, [protocol]);
    const documented = compileSchema(served.parameterSchema as TSchema);
    const checked = compileSchema(schema);

    test("the schema of parameters takes the good request and no other type", () => {
      expect(documented.accepts(good)).toBe(true);
      for (const value of [null, 1, "x", []]) expect(documented.accepts(value)).toBe(false);
      for (const name of Object.keys(good)) {
        const { [name]: _, ...rest } = good;
        expect(documented.accepts(rest), name).toBe(false);
      }
    });

    const names = parametersOf(model, protocol)
      .map(({ name }) => name)
      .filter((name) => !name.includes(".") && !(name in good) && !isIgnored(model, name));
    test.each(names)("%s: what is documented as good is accepted", (name) => {
      expect(Object.hasOwn(fields.fields, name)).toBe(true);
      const values = VALUES.filter((value) => documented.accepts({ ...good, [name]: value }));
      expect(values.length, "no value was documented as good").toBeGreaterThan(0);
      const refused = values.filter((value) => !checked.accepts({ ...good, [name]: value }));
      expect(refused).toEqual([]);
    });
    test.each(names)("%s: what is documented as bad is refused", (name) => {
      const values = VALUES.filter((value) => !documented.accepts({ ...good, [name]: value }));
      const accepted = values.filter((value) => checked.accepts({ ...good, [name]: value }));
      expect(accepted).toEqual([]);
    });
  });
}

describe("what a model does not take is no property, and is listed", () => {
  for (const each of models) {
    for (const protocol of each.supportedProtocols) {
      test(`${each.id}, ${protocol}`, () => {
        const { properties, ...schema } = servedIn(each, [protocol]).parameterSchema as {
          readonly properties: object;
          readonly "x-ignored": readonly string[];
        };
        for (const name of schema["x-ignored"]) expect(properties).not.toHaveProperty([name]);
        for (const { name } of parametersOf(each, protocol).filter(({ name }) => !name.includes(".")))
          expect(name in properties).toBe(!isIgnored(each, name));
        expect(schema).toMatchObject({ "x-protocol": protocol, type: "object" });
        expect(JSON.stringify(properties)).toContain(`"maximum":${each.maxOutput}`);
      });
    }
  }

  test("a model of two formats has a schema for each", () => {
    const schema = models.find(({ id }) => id === "anthropic/claude-opus-5.5")!.parameterSchema as {
      readonly "x-protocol": string;
      readonly "x-protocols": Readonly<Record<string, { readonly properties: object }>>;
    };
    expect(schema["x-protocol"]).toBe("compat_chat_completions");
    expect(Object.keys(schema["x-protocols"])).toEqual(["compat_messages"]);
    expect(schema["x-protocols"].compat_messages?.properties).toHaveProperty("stop_sequences");
  });
});
