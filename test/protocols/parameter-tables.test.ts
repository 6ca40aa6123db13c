import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import type { TSchema } from "typebox";
import { joinBytes } from "../../src/core/bytes/bytes.ts";
import { loadModelFiles, servedIn } from "../../src/catalog/catalog.ts";
import { CHAT } from "../../src/catalog/parameter-tables/chat-completions.ts";
import { eachField, type Fields } from "../../src/catalog/parameter-tables/field.ts";
import { CONTENT, CONTENT_CONFIG } from "../../src/catalog/parameter-tables/generate-content.ts";
import { MESSAGES } from "../../src/catalog/parameter-tables/messages.ts";
import { RESPONSES } from "../../src/catalog/parameter-tables/responses.ts";
import { isIgnored, parameterSchema, parametersOf } from "../../src/catalog/parameters.ts";
import { modelPage } from "../../src/catalog/llms-txt.ts";
import { GatewayError } from "../../src/core/errors.ts";
import { EFFORTS, type Model, type ListedProtocolId } from "../../src/core/model.ts";
import { compileSchema } from "../../src/core/schema.ts";
import { servedNow } from "../../src/gateway/served.ts";
import { ChatRequestSchema } from "../../src/protocols/chat-completions/schema.ts";
import { GenerateContentRequestSchema } from "../../src/protocols/generate-content/schema.ts";
import { PLACE_NAMES as CHAT_PLACES } from "../../src/protocols/chat-completions/server/place-names.ts";
import { PLACE_NAMES as CONTENT_PLACES } from "../../src/protocols/generate-content/server/place-names.ts";
import { servedBy } from "../../src/protocols/index.ts";
import { MessagesRequestSchema } from "../../src/protocols/messages/schema.ts";
import type { RelayTarget } from "../../src/protocols/protocol.ts";
import type { ProtocolDefinition, Provider } from "../../src/providers/provider.ts";
import { wayTo } from "../../src/providers/spoken.ts";
import { PROVIDERS } from "../../src/providers/registry.ts";
import { wireRequest } from "./wire-request.ts";

// What is documented of language models is what is checked, and what providers are sent. The first holds where a table
// shows a field otherwise than it is checked, too. Of images and videos see media-parameters.test.ts.

const models = loadModelFiles(join(import.meta.dirname, "../../models")).filter(
  ({ category }) => category === "language",
);
const model = models.find(({ id }) => id === "google/gemini-3-pro-image")!;

/** The rows of the interface's table of each endpoint; the model of generateContent is in the path. */
const ROWS: Readonly<Record<ListedProtocolId, string>> = {
  compat_chat_completions: `model messages stream stream_options temperature max_completion_tokens max_tokens top_p stop
    presence_penalty frequency_penalty tools tool_choice reasoning thinking modalities image_config`,
  compat_messages:
    "model max_tokens messages system stream temperature top_p top_k stop_sequences tools tool_choice thinking",
  compat_generate_content: "contents systemInstruction generationConfig tools",
};

for (const [protocol, rows] of Object.entries(ROWS) as [ListedProtocolId, string][]) {
  test(`${protocol}: every row of the interface is a parameter`, () => {
    const names = parametersOf(model, protocol).map(({ name }) => name);
    expect(rows.split(/\s+/).filter((row) => !names.includes(row))).toEqual([]);
    expect(new Set(names).size).toBe(names.length);
  });
}

test("a field has its meaning in a place that every format has a name for", () => {
  const named = [CHAT_PLACES, CONTENT_PLACES].map((names) => new Set(Object.keys(names)));
  const isNamed = (place: string | undefined): boolean =>
    place === undefined || place === "wire" || named.every((names) => names.has(place));
  for (const table of [CHAT, MESSAGES, CONTENT, CONTENT_CONFIG, RESPONSES]) {
    const lost = [...eachField(table)].filter(({ field }) => !isNamed(field.place));
    expect(lost.map(({ path, field }) => [path, field.place])).toEqual([]);
  }
});

/** What a format checks requests by. */
const CHECKED: readonly {
  readonly protocol: ListedProtocolId;
  readonly schema: TSchema;
  readonly fields: Fields;
  /** A request that is good, without what a case adds. */
  readonly good: Readonly<Record<string, unknown>>;
}[] = [
  {
    protocol: "compat_chat_completions",
    schema: ChatRequestSchema,
    fields: CHAT,
    good: { model: model.id, messages: [{ role: "user", content: "x" }] },
  },
  {
    protocol: "compat_messages",
    schema: MessagesRequestSchema,
    fields: MESSAGES,
    good: { model: model.id, max_tokens: 1, messages: [{ role: "user", content: "x" }] },
  },
  {
    protocol: "compat_generate_content",
    schema: GenerateContentRequestSchema,
    fields: CONTENT,
    good: { contents: [{ role: "user", parts: [{ text: "x" }] }] },
  },
];

/** Values at and beyond every bound, and of every wrong type. */
const NUMBERS = [-3, -2, -1, 0, 0.5, 1, 1.5, 2, 2.1, 128, 129, 1_000];
const WORDS = ["x", "", "auto", "enabled", "text", "image", "sideways", "low", "1K"];
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
  { parts: [{ text: "x" }] },
];
const VALUES: readonly unknown[] = [true, false, ...NUMBERS, ...WORDS, ...LISTS, ...OBJECTS];

/** Every word that a schema lists, as a value and as the type of an object. */
function listedIn(schema: unknown): readonly unknown[] {
  if (typeof schema !== "object" || schema === null) return [];
  const { enum: words = [], const: only } = schema as { readonly enum?: string[]; readonly const?: string };
  const own = [...words, ...(only === undefined ? [] : [only])].flatMap((word) => [word, { type: word }]);
  return [...own, ...Object.values(schema).flatMap(listedIn)];
}

for (const { protocol, schema, fields, good } of CHECKED) {
  describe(protocol, () => {
    const served = servedIn({ ...model, supportedProtocols: [protocol] }, { [protocol]: "relay" });
    const documented = compileSchema(parameterSchema(served) as TSchema);
    const checked = compileSchema(schema);
    const tried = [...VALUES, ...listedIn(parameterSchema(served)), ...listedIn(schema)];

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
      .filter((name) => !(name in good) && !isIgnored(model, protocol, name));
    /** The good request with one field more, or one member of a field. */
    const withField = (name: string, value: unknown): object => {
      const [field = "", member] = name.split(".");
      const outer = field === "thinking" ? { type: "enabled" } : {};
      return { ...good, [field]: member === undefined ? value : { ...outer, [member]: value } };
    };
    test.each(names)("%s: what is documented as good is accepted", (name) => {
      const values = tried.filter((value) => documented.accepts(withField(name, value)));
      expect(values.length, "no value was documented as good").toBeGreaterThan(0);
      const refused = values.filter((value) => !checked.accepts(withField(name, value)));
      expect(refused).toEqual([]);
    });
    // What providers judge is not checked: what is documented is what they take.
    const free = new Set(
      [...eachField(fields)].flatMap(({ path, schema: own }) => (own === undefined ? [path] : [])),
    );
    test.each(names.filter((name) => !free.has(name)))("%s: what is documented as bad is refused", (name) => {
      const values = tried.filter((value) => !documented.accepts(withField(name, value)));
      const accepted = values.filter((value) => checked.accepts(withField(name, value)));
      expect(accepted).toEqual([]);
    });
  });
}

/** Every server that a model can be asked at in chat completions, in the format that its provider speaks. */
const REACHED = models.flatMap((each) =>
  each.routes.flatMap(({ provider, upstreamId }) =>
    PROVIDERS.filter(({ id }) => id === provider).flatMap(({ id, protocols }) => {
      const spoken = wayTo("compat_chat_completions", protocols)?.spoken;
      return spoken === undefined ? [] : [{ name: `${each.id} at ${id}`, each, id, upstreamId, spoken }];
    }),
  ),
);

const TRANSLATED = REACHED.filter(({ spoken }) => spoken.id !== "compat_chat_completions");

/** The model as it is served at one server alone. */
function servedAt({ each, id, spoken }: { each: Model; id: string; spoken: ProtocolDefinition }): Model {
  const provider = { id, protocols: [spoken] } as unknown as Provider;
  return servedNow(each, { providers: new Map([[id, provider]]), mediaProviders: new Map() });
}

const checkedChat = compileSchema(ChatRequestSchema);

const SCHEMA = { type: "json_schema", json_schema: { name: "n", schema: { type: "object" } } };
const NAMED = { type: "function", function: { name: "f" } };

/** Values of single parameters, beside `VALUES`, at bounds that only some formats have. */
const MORE_VALUES: Readonly<Record<string, readonly unknown[]>> = {
  stop: [5, 6, 16].map((length) => Array.from({ length }, (_, i) => `s${i}`)),
  n: [2, 8, 9],
  tool_choice: [
    "none",
    "required",
    NAMED,
    { type: "function" },
    { type: "allowed_tools", allowed_tools: { mode: "auto", tools: [NAMED] } },
    { type: "allowed_tools" },
    { type: "custom", custom: { name: "f" } },
  ],
  response_format: [
    { type: "text" },
    SCHEMA,
    { type: "json_schema" },
    { type: "json_schema", json_schema: {} },
  ],
  reasoning: EFFORTS.map((effort) => ({ effort })),
  reasoning_effort: EFFORTS,
  thinking: [{ type: "disabled" }, { type: "adaptive" }, { type: "enabled", budget_tokens: 2_000 }],
  modalities: [["text", "image"]],
};

/** What goes up under its own name wherever the format is spoken and it is taken. */
const KEPT: Readonly<Record<string, unknown>> = {
  temperature: 0.5,
  top_p: 0.5,
  stop: "x",
  presence_penalty: 1,
  frequency_penalty: 1,
  parallel_tool_calls: false,
  tool_choice: "required",
};

/** Values that change what is sent, wherever the parameter is taken. */
const SAYING: Readonly<Record<string, unknown>> = {
  ...KEPT,
  modalities: ["text", "image"],
  image_config: { image_size: "1K" },
  reasoning: { effort: "low" },
  reasoning_effort: "low",
  thinking: { type: "enabled" },
  response_format: SCHEMA,
  max_completion_tokens: 5,
  max_tokens: 5,
};

describe("what a model is documented to take is what its provider is sent", () => {
  test("every Claude and every Gemini is asked by translation", () => {
    const ids = TRANSLATED.map(({ each }) => each.id);
    expect(ids).toEqual(models.map(({ id }) => id).filter((id) => /^(anthropic|google)\//.test(id)));
    expect(ids.length).toBe(5);
  });

  test.each(REACHED)("$name", (reached) => {
    const { each, upstreamId, spoken } = reached;
    const served = servedAt(reached);
    const way = servedBy("compat_chat_completions", spoken.id)!;
    const isTranslated = spoken.id !== "compat_chat_completions";
    const documented = compileSchema(parameterSchema(served) as TSchema);
    const { kind, unknownFields, streamUsageOption, chat } = spoken.dialect;
    const target: RelayTarget = {
      model: served,
      upstreamId,
      unknownFields,
      native: kind === "native",
      streamUsageOption,
      ...(chat === undefined ? {} : { chat }),
    };
    const tools = [{ type: "function", function: { name: "f" } }];
    const good = { model: each.id, messages: [{ role: "user", content: "x" }], tools };
    const sent = (more: object) => {
      const { body, warnings } = way.upstreamBody(way.readRequest(wireRequest({ ...good, ...more })), target);
      return {
        body: JSON.parse(new TextDecoder().decode(joinBytes(body))) as object,
        warnings: warnings.join("\n"),
      };
    };
    const refusedField = (more: object): string | undefined => {
      try {
        sent(more);
      } catch (error) {
        if (error instanceof GatewayError) return error.param;
        throw error;
      }
      return undefined;
    };
    const givesImages = served.outputModalities.includes("image");
    for (const { name } of parametersOf(served, "compat_chat_completions")) {
      if (name in good || name.includes(".")) continue;
      for (const value of [...VALUES, ...(MORE_VALUES[name] ?? [])]) {
        const more = { [name]: value };
        if (!checkedChat.accepts({ ...good, ...more })) continue;
        const told = `${name}: ${JSON.stringify(value)}`;
        // That a model puts out no images is decided before, by its modalities.
        const isDecided = name === "modalities" && (!isTranslated || !givesImages);
        // More output than the model has is lowered, as the documentation says.
        const isLowered = name.startsWith("max_");
        if (documented.accepts({ ...good, ...more })) expect(refusedField(more), told).toBeUndefined();
        else if (!isDecided && !isLowered) expect(refusedField(more)?.split(/[.[]/)[0], told).toBe(name);
      }
      const value = SAYING[name];
      if (value === undefined || !documented.accepts({ ...good, [name]: value })) continue;
      const isIgnoredHere = isIgnored(served, "compat_chat_completions", name);
      // Of an image nothing is said where none is asked for.
      const around = name === "image_config" && !isIgnoredHere ? { modalities: ["image"] } : {};
      const { body, warnings } = sent({ ...around, [name]: value });
      if (isIgnoredHere) {
        expect(body, name).toEqual(sent(around).body);
        expect(warnings, name).toMatch(/left out|not switched/);
      } else if (isTranslated) expect(body, name).not.toEqual(sent(around).body);
      else if (name in KEPT) expect(body, name).toHaveProperty([name], value);
    }
  });

  const page = (id: string): string =>
    modelPage(servedAt(TRANSLATED.find((one) => one.each.id === id)!), "https://gateway.example");
  const cases: readonly (readonly [string, readonly string[]])[] = [
    [
      "anthropic/claude-opus-5.5",
      [
        "| `n` | integer | 1 to 1 |",
        '"format":"anthropic-claude-v1"',
        "`redacted:`",
        "| `presence_penalty` | number | -2 to 2 |  | Ignored",
      ],
    ],
    ["anthropic/claude-haiku-4.5", ["above 1 it is lowered to that"]],
    [
      "google/gemini-3.8-flash",
      [
        "| `n` | integer | 1 to 8 |",
        '"format":"google-gemini-v1"',
        "extra_content.google.thought_signature",
        "at most 5",
      ],
    ],
    [
      "google/gemini-3-pro-image",
      ["| `n` | integer | 1 to 1 |", "`thought_signature`", "`stream: true` is refused"],
    ],
  ];
  test.each(cases)("the page of %s tells it", (id, texts) => {
    const told = page(id);
    expect(texts.filter((text) => !told.includes(text))).toEqual([]);
  });
});

describe("what a model does not take is no property, and is listed", () => {
  for (const each of models) {
    for (const protocol of each.supportedProtocols) {
      test(`${each.id}, ${protocol}`, () => {
        const { properties, ...schema } = parameterSchema(servedIn(each, { [protocol]: "relay" })) as {
          readonly properties: object;
          readonly "x-ignored": readonly string[];
        };
        for (const name of schema["x-ignored"]) expect(properties).not.toHaveProperty([name]);
        for (const { name } of parametersOf(each, protocol).filter(({ name }) => !name.includes(".")))
          expect(name in properties).toBe(!isIgnored(each, protocol, name));
        expect(schema).toMatchObject({ "x-protocol": protocol, type: "object" });
        expect(JSON.stringify(properties)).toContain(`"maximum":${each.maxOutput}`);
      });
    }
  }

  test("a model of two formats has a schema for each", () => {
    const schema = parameterSchema(models.find(({ id }) => id === "anthropic/claude-opus-5.5")!) as {
      readonly "x-protocol": string;
      readonly "x-protocols": Readonly<Record<string, { readonly properties: object }>>;
    };
    expect(schema["x-protocol"]).toBe("compat_chat_completions");
    expect(Object.keys(schema["x-protocols"])).toEqual(["compat_messages"]);
    expect(schema["x-protocols"].compat_messages?.properties).toHaveProperty("stop_sequences");
  });
});
