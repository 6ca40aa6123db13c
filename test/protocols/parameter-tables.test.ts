import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import type { TSchema } from "typebox";
import { loadModelFiles, servedIn } from "../../src/catalog/catalog.ts";
import { chatParameterNames, isIgnored, parametersOf } from "../../src/catalog/parameters.ts";
import { modelPage } from "../../src/catalog/llms-txt.ts";
import { GatewayError } from "../../src/core/errors.ts";
import { EFFORTS, type ProtocolId } from "../../src/core/model.ts";
import { compileSchema } from "../../src/core/schema.ts";
import { CHAT_FIELDS, ChatRequestSchema } from "../../src/protocols/chat-completions/schema.ts";
import {
  CONFIG_FIELDS,
  GenerateContentRequestSchema,
  REQUEST_FIELDS,
} from "../../src/protocols/generate-content/schema.ts";
import { MESSAGES_FIELDS, MessagesRequestSchema } from "../../src/protocols/messages/schema.ts";
import { type LiveProviders, servedNow } from "../../src/gateway/served.ts";
import { chatCompletions } from "../../src/protocols/chat-completions/index.ts";
import { servedBy } from "../../src/protocols/index.ts";
import type { RelayTarget } from "../../src/protocols/protocol.ts";
import type { Provider } from "../../src/providers/provider.ts";
import { PROVIDERS } from "../../src/providers/registry.ts";
import { wireRequest } from "./wire-request.ts";
import type { FieldTable } from "../../src/protocols/rewrite.ts";

// What is documented of language models is what is checked: the tables of the catalogue against the schemas of requests,
// in both ways. Of images and videos see media-parameters.test.ts.

const models = loadModelFiles(join(import.meta.dirname, "../../models")).filter(
  ({ category }) => category === "language",
);
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
    const names = parametersOf(model, protocol).map(({ name }) => name);
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
  {
    protocol: "compat_messages",
    schema: MessagesRequestSchema,
    fields: MESSAGES_FIELDS,
    good: { model: model.id, max_tokens: 1, messages: [{ role: "user", content: "x" }] },
  },
  {
    protocol: "compat_generate_content",
    schema: GenerateContentRequestSchema,
    fields: REQUEST_FIELDS,
    good: { contents: [{ role: "user", parts: [{ text: "x" }] }] },
  },
];

/** Free-form in the interface, so that they are not checked: what is documented is what providers take. */
const FREE: ReadonlySet<string> = new Set([
  "image_config.aspect_ratio",
  "image_config.image_size",
  "generationConfig.responseJsonSchema",
]);

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
    const served = servedIn(model, [protocol]);
    const documented = compileSchema(served.parameterSchema as TSchema);
    const checked = compileSchema(schema);
    const tried = [...VALUES, ...listedIn(served.parameterSchema), ...listedIn(schema)];

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
      const [field = "", member = ""] = name.split(".");
      const known = field === "generationConfig" && member !== "" ? CONFIG_FIELDS : fields;
      expect(Object.hasOwn(known.fields, known === fields ? field : member)).toBe(true);
      const values = tried.filter((value) => documented.accepts(withField(name, value)));
      expect(values.length, "no value was documented as good").toBeGreaterThan(0);
      const refused = values.filter((value) => !checked.accepts(withField(name, value)));
      expect(refused).toEqual([]);
    });
    test.each(names.filter((name) => !FREE.has(name)))("%s: what is documented as bad is refused", (name) => {
      const values = tried.filter((value) => !documented.accepts(withField(name, value)));
      const accepted = values.filter((value) => checked.accepts(withField(name, value)));
      expect(accepted).toEqual([]);
    });
  });
}

/** How every vendor of language models is spoken to. */
const LANGUAGE = PROVIDERS.flatMap(({ id, protocols }) =>
  protocols.map(({ id: protocol, dialect }) => ({ id, protocol, dialect })),
);

const liveAt = (id: string, provider: Provider): LiveProviders => ({
  providers: new Map([[id, provider]]),
  mediaProviders: new Map(),
});

/** Every chat completions server that a model can be reached at. */
const REACHED = models.flatMap((each) =>
  each.routes.flatMap(({ provider, upstreamId }) =>
    LANGUAGE.filter(({ id, protocol }) => id === provider && protocol === "compat_chat_completions").map(
      ({ id, dialect }) => ({ name: `${each.id} at ${id}`, each, id, upstreamId, dialect }),
    ),
  ),
);

const checkedChat = compileSchema(ChatRequestSchema);

/** A value of each parameter that says something, so that leaving it out is worth a warning. */
const VALUE_OF: Readonly<Record<string, unknown>> = {
  temperature: 0.5,
  top_p: 0.5,
  stop: "x",
  presence_penalty: 1,
  frequency_penalty: 1,
  parallel_tool_calls: true,
  modalities: ["text"],
  image_config: { image_size: "1K" },
  reasoning: { effort: "low" },
  reasoning_effort: "low",
  thinking: { type: "enabled" },
};

/** What goes up under its own name wherever it is taken. */
const KEPT: Readonly<Record<string, unknown>> = {
  temperature: 0.5,
  top_p: 0.5,
  stop: "x",
  presence_penalty: 1,
  frequency_penalty: 1,
  parallel_tool_calls: true,
  tool_choice: "auto",
};

describe("what a server is documented to take is what it is sent", () => {
  test.each(REACHED)("$name", ({ each, id, upstreamId, dialect }) => {
    const protocols = [{ id: "compat_chat_completions", dialect }];
    const provider = { id, protocols } as unknown as Provider;
    const served = servedNow(each, liveAt(id, provider));
    const documented = compileSchema(served.parameterSchema as TSchema);
    const target: RelayTarget = {
      model: served,
      upstreamId,
      unknownFields: dialect.unknownFields,
      native: dialect.kind === "native",
      streamUsageOption: dialect.streamUsageOption,
      ...(dialect.chat === undefined ? {} : { chat: dialect.chat }),
    };
    const tools = [{ type: "function", function: { name: "f" } }];
    const good = { model: each.id, messages: [{ role: "user", content: "x" }], tools };
    const sent = (name: string, value: unknown) => {
      const request = chatCompletions.readRequest(wireRequest({ ...good, [name]: value }));
      const { body, warnings } = chatCompletions.upstreamBody(request, target);
      return { body: JSON.parse(new TextDecoder().decode(body)) as object, warnings: warnings.join("\n") };
    };
    for (const name of chatParameterNames(served)) {
      if (name in good || name.startsWith("max_")) continue;
      for (const value of VALUES.filter((one) => checkedChat.accepts({ ...good, [name]: one }))) {
        // That the answer of a model can be no image is decided before, by its modalities.
        if (name === "modalities" && JSON.stringify(value) !== '["text"]') continue;
        const told = `${name}: ${JSON.stringify(value)}`;
        if (!documented.accepts({ ...good, [name]: value }))
          expect(() => sent(name, value), told).toThrow(name);
        else if (isIgnored(served, "compat_chat_completions", name) && VALUE_OF[name] !== undefined) {
          const { body, warnings } = sent(name, VALUE_OF[name]);
          expect(body, told).not.toHaveProperty([name]);
          expect(warnings, told).toMatch(/left out|not switched/);
        } else expect(() => sent(name, value), told).not.toThrow();
      }
      if (name in KEPT && !isIgnored(served, "compat_chat_completions", name))
        expect(sent(name, KEPT[name]).body, name).toHaveProperty([name], KEPT[name]);
    }
  });
});

/** Every provider of another format that a model is asked at in chat completions. */
const TRANSLATED = models.flatMap((each) =>
  each.routes.flatMap(({ provider, upstreamId }) =>
    LANGUAGE.filter(({ id, protocol }) => id === provider && protocol !== "compat_chat_completions").map(
      ({ id, protocol, dialect }) => ({
        name: `${each.id} at ${id}`,
        each,
        id,
        protocol,
        upstreamId,
        dialect,
      }),
    ),
  ),
);

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

/** Values that change what is sent, wherever the parameter is taken. */
const SAYING: Readonly<Record<string, unknown>> = {
  ...VALUE_OF,
  parallel_tool_calls: false,
  modalities: ["text", "image"],
  image_config: undefined,
  tool_choice: "required",
  response_format: SCHEMA,
  max_completion_tokens: 5,
  max_tokens: 5,
};

describe("what a translation is documented to take is what the provider is sent", () => {
  test("every Claude and every Gemini is asked by translation", () => {
    const ids = TRANSLATED.map(({ each }) => each.id);
    expect(ids).toEqual(models.map(({ id }) => id).filter((id) => /^(anthropic|google)\//.test(id)));
    expect(ids.length).toBe(5);
  });

  test.each(TRANSLATED)("$name", ({ each, id, protocol, upstreamId, dialect }) => {
    const served = servedNow(
      each,
      liveAt(id, { id, protocols: [{ id: protocol, dialect }] } as unknown as Provider),
    );
    const way = servedBy("compat_chat_completions", protocol)!;
    const documented = compileSchema(served.parameterSchema as TSchema);
    const target: RelayTarget = {
      model: served,
      upstreamId,
      unknownFields: dialect.unknownFields,
      native: true,
      streamUsageOption: false,
    };
    const tools = [{ type: "function", function: { name: "f" } }];
    const good = { model: each.id, messages: [{ role: "user", content: "x" }], tools };
    const sent = (more: object) => {
      const { body, warnings } = way.upstreamBody(way.readRequest(wireRequest({ ...good, ...more })), target);
      return { body: JSON.parse(new TextDecoder().decode(body)) as object, warnings: warnings.join("\n") };
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
    const plain = sent({}).body;
    const isIgnoredHere = (name: string): boolean => isIgnored(served, "compat_chat_completions", name);
    for (const name of chatParameterNames(served)) {
      if (name in good) continue;
      for (const value of [...VALUES, ...(MORE_VALUES[name] ?? [])]) {
        const more = { [name]: value };
        if (!checkedChat.accepts({ ...good, ...more })) continue;
        const told = `${name}: ${JSON.stringify(value)}`;
        // That a model puts out no images is decided before, by its modalities.
        const isDecided = name === "modalities" && !served.outputModalities.includes("image");
        // More output than the model has is lowered, as the documentation says.
        const isLowered = name.startsWith("max_");
        if (documented.accepts({ ...good, ...more })) expect(refusedField(more), told).toBeUndefined();
        else if (!isDecided && !isLowered) expect(refusedField(more)?.split(/[.[]/)[0], told).toBe(name);
      }
      const saying = name === "image_config" ? { image_size: "1K" } : SAYING[name];
      if (saying === undefined || (name === "modalities" && !served.outputModalities.includes("image")))
        continue;
      // Of an image nothing is said where none is asked for.
      const around = name === "image_config" && !isIgnoredHere(name) ? { modalities: ["image"] } : {};
      const { body, warnings } = sent({ ...around, [name]: saying });
      const bare = name === "image_config" ? sent(around).body : plain;
      if (isIgnoredHere(name)) {
        expect(body, name).toEqual(bare);
        expect(warnings, name).toContain(`${name} was left out`);
      } else expect(body, name).not.toEqual(bare);
    }
  });

  const page = (id: string): string => {
    const { each, ...at } = TRANSLATED.find((one) => one.each.id === id)!;
    const protocols = [{ id: at.protocol, dialect: at.dialect }];
    const provider = { id: at.id, protocols } as unknown as Provider;
    return modelPage(servedNow(each, liveAt(at.id, provider)), "https://gateway.example");
  };
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
        const { properties, ...schema } = servedIn(each, [protocol]).parameterSchema as {
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
    const schema = models.find(({ id }) => id === "anthropic/claude-opus-5.5")!.parameterSchema as {
      readonly "x-protocol": string;
      readonly "x-protocols": Readonly<Record<string, { readonly properties: object }>>;
    };
    expect(schema["x-protocol"]).toBe("compat_chat_completions");
    expect(Object.keys(schema["x-protocols"])).toEqual(["compat_messages"]);
    expect(schema["x-protocols"].compat_messages?.properties).toHaveProperty("stop_sequences");
  });
});
