import type { ListedProtocolId } from "../../src/core/model.ts";

// Bodies as the sessions of coding agents send them. Each turn has what was sent before and some more. Now and then a
// part of it was written anew, left out, spelled in another way, or broken.

/** A number from 0 up to 1, without it. */
export type Random = () => number;

/** Random numbers that follow from a seed (mulberry32). */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Bodies of a few sessions, their turns among one another. */
export function sessionBodies(
  format: ListedProtocolId,
  modelId: string,
  random: Random,
  count: number,
): Uint8Array[] {
  const sessions = Array.from({ length: 1 + below(random, 2) }, () => openSession(format, modelId, random));
  return Array.from({ length: count }, () => {
    const session = pick(random, sessions);
    session.step();
    return broken(random, spelled(random, changed(random, session.body())));
  });
}

function below(random: Random, most: number): number {
  return Math.floor(random() * most);
}

function pick<T>(random: Random, items: readonly T[]): T {
  return items[below(random, items.length)] as T;
}

const WORDS = [
  "Read the file first. ",
  "é ü ß ",
  "\u65e5\u672c\u8a9e ",
  "\ud83d\ude42",
  "\ud800",
  'a "quoted" path C:\\x\n\t',
  "{}[]:, ",
];

function words(random: Random, most: number): string {
  const word = random() < 0.5 ? "Run the tests after each change. " : pick(random, WORDS);
  return word.repeat(below(random, most / word.length) + 1);
}

/** What a session says, in no format. */
type Step = Readonly<
  | { kind: "text"; who: "user" | "assistant"; text: string; mark: object | undefined }
  | { kind: "image"; data: string }
  | { kind: "thinking"; text: string; signature: string }
  | { kind: "call"; id: string; input: string; result: string }
>;

const INPUTS = [
  '{"path":"/a","offset":10}',
  '{"id":1234567890123456789}',
  '{"x":1.0,"y":[-0,1e3]}',
  "{}",
  '{"deep":{"a":[{"b":null}]}}',
];
const MARKS = [
  undefined,
  undefined,
  undefined,
  { type: "ephemeral" },
  { type: "ephemeral", ttl: "1h" },
  { type: "ephemeral", ttl: "5m" },
];
const PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

function openSession(format: ListedProtocolId, modelId: string, random: Random) {
  const system = words(random, 4_000);
  const tools = Array.from({ length: below(random, 8) }, (_, i) => toolNumber(random, i));
  const steps: Step[] = [{ kind: "text", who: "user", text: words(random, 2_000), mark: undefined }];
  let calls = 0;
  const said = (): Step => {
    const chance = random();
    if (chance < 0.45) {
      calls += 1;
      const id = random() < 0.9 ? `call_${calls}` : `call_${"x".repeat(50)}${calls}`;
      return { kind: "call", id, input: pick(random, INPUTS), result: words(random, 3_000) };
    }
    if (chance < 0.55) return { kind: "image", data: PIXEL };
    if (chance < 0.65) return { kind: "thinking", text: words(random, 500), signature: "EqQBCgIYAhIM" };
    return {
      kind: "text",
      who: random() < 0.5 ? "user" : "assistant",
      text: words(random, 2_000),
      mark: pick(random, MARKS),
    };
  };
  return {
    step(): void {
      for (let more = below(random, 4); more > 0; more -= 1) steps.push(said());
      // A client that sums up, or goes back.
      if (random() < 0.05) steps.splice(1, below(random, steps.length));
      if (random() < 0.2) steps.push({ kind: "text", who: "user", text: words(random, 300), mark: MARKS[3] });
    },
    body: () => WRITERS[format]({ system, tools, steps }, modelId),
  };
}

interface Said {
  readonly system: string;
  readonly tools: readonly ReturnType<typeof toolNumber>[];
  readonly steps: readonly Step[];
}

function toolNumber(random: Random, i: number) {
  return {
    name: `tool_${i}`,
    description: words(random, 800),
    schema: {
      type: "object",
      properties: { path: { type: "string", description: words(random, 200) } },
      required: ["path"],
    },
  };
}

const WRITERS: Readonly<Record<ListedProtocolId, (said: Said, modelId: string) => Record<string, unknown>>> =
  {
    compat_chat_completions: ({ system, tools, steps }, model) => ({
      model,
      messages: [{ role: "system", content: system }, ...steps.flatMap(chatMessages)],
      ...(tools.length === 0
        ? {}
        : {
            tools: tools.map(({ name, description, schema }) => ({
              type: "function",
              function: { name, description, parameters: schema },
            })),
          }),
      max_completion_tokens: 1_000,
      stream: true,
    }),
    compat_messages: ({ system, tools, steps }, model) => ({
      model,
      messages: steps.flatMap(messagesOf),
      system: [{ type: "text", text: system, cache_control: { type: "ephemeral" } }],
      tools: tools.map(({ name, description, schema }) => ({ name, description, input_schema: schema })),
      max_tokens: 1_000,
    }),
    compat_generate_content: ({ system, tools, steps }) => ({
      system_instruction: { parts: [{ text: system }] },
      contents: steps.flatMap(contentsOf),
      tools: [
        {
          functionDeclarations: tools.map(({ name, description, schema }) => ({
            name,
            description,
            parametersJsonSchema: schema,
          })),
        },
      ],
      generationConfig: { maxOutputTokens: 1_000 },
    }),
  };

/** What somebody says, as chat completions and messages both have it. */
function textMessage({ who, text, mark }: Extract<Step, { readonly kind: "text" }>): object {
  return mark === undefined
    ? { role: who, content: text }
    : { role: who, content: [{ type: "text", text, cache_control: mark }] };
}

function chatMessages(step: Step): object[] {
  switch (step.kind) {
    case "text":
      return [textMessage(step)];
    case "image":
      return [
        {
          role: "user",
          content: [{ type: "image_url", image_url: { url: `data:image/png;base64,${step.data}` } }],
        },
      ];
    case "thinking":
      return [{ role: "assistant", content: step.text, reasoning_content: step.text }];
    case "call":
      return [
        {
          role: "assistant",
          content: null,
          tool_calls: [
            { id: step.id, type: "function", function: { name: "tool_0", arguments: step.input } },
          ],
        },
        { role: "tool", tool_call_id: step.id, content: step.result },
      ];
  }
}

function messagesOf(step: Step): object[] {
  switch (step.kind) {
    case "text":
      return [textMessage(step)];
    case "image":
      return [
        {
          role: "user",
          content: [{ type: "image", source: { type: "base64", media_type: "image/png", data: step.data } }],
        },
      ];
    case "thinking":
      return [
        {
          role: "assistant",
          content: [{ type: "thinking", thinking: step.text, signature: step.signature }],
        },
      ];
    case "call":
      return [
        {
          role: "assistant",
          content: [
            { type: "tool_use", id: step.id, name: "tool_0", input: JSON.parse(step.input) as unknown },
          ],
        },
        { role: "user", content: [{ type: "tool_result", tool_use_id: step.id, content: step.result }] },
      ];
  }
}

function contentsOf(step: Step): object[] {
  switch (step.kind) {
    case "text":
      return [{ role: step.who === "user" ? "user" : "model", parts: [{ text: step.text }] }];
    case "image":
      return [{ role: "user", parts: [{ inline_data: { mime_type: "image/png", data: step.data } }] }];
    case "thinking":
      return [
        { role: "model", parts: [{ text: step.text, thought: true, thoughtSignature: step.signature }] },
      ];
    case "call":
      return [
        {
          role: "model",
          parts: [{ functionCall: { name: "tool_0", args: JSON.parse(step.input) as unknown } }],
        },
        {
          role: "user",
          parts: [{ functionResponse: { name: "tool_0", response: { output: step.result } } }],
        },
      ];
  }
}

const ODD: readonly unknown[] = [
  null,
  0,
  -1,
  1.5,
  "",
  "x",
  true,
  [],
  {},
  [{}],
  { type: "x" },
  "text",
  ["a"],
  { type: "ephemeral", ttl: "1h" },
];
const NAMES =
  "role content type text cache_control name id __proto__ 1 images refusal thinking citations extra max_tokens".split(
    " ",
  );

/** Now and then one value somewhere is another one, or gone, or one more is there. */
function changed(random: Random, body: Record<string, unknown>): Record<string, unknown> {
  if (random() < 0.6) return body;
  const copy = structuredClone(body);
  let at: Record<string, unknown> = copy;
  for (;;) {
    const key = pick(random, Object.keys(at));
    const within = at[key];
    const goesOn =
      typeof within === "object" && within !== null && Object.keys(within).length > 0 && random() < 0.8;
    if (goesOn) {
      at = within as Record<string, unknown>;
      continue;
    }
    if (Array.isArray(at)) at[key] = pick(random, ODD);
    else if (random() < 0.3) delete at[key];
    else Object.defineProperty(at, random() < 0.5 ? key : pick(random, NAMES), OWN(pick(random, ODD)));
    return copy;
  }
}

const OWN = (value: unknown): PropertyDescriptor => ({
  value,
  enumerable: true,
  configurable: true,
  writable: true,
});

/** JSON as one client or another writes it. */
function spelled(random: Random, body: object): string {
  const chance = random();
  const text = JSON.stringify(body, null, chance < 0.1 ? 1 : 0);
  if (chance < 0.2)
    return text.replaceAll(/[^\0-~]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
  if (chance < 0.25) return text.replaceAll("\\n", "\\u000a");
  if (chance < 0.3) return text.replace(/":/g, () => (random() < 0.01 ? '" : ' : '":'));
  return text;
}

const BREAKS: readonly ((random: Random, text: string, at: number) => string)[] = [
  (_, text, at) => text.slice(0, at) + text.slice(at + 1),
  (_, text, at) => `${text.slice(0, at)} ${text.slice(at)}`,
  (random, text, at) => text.slice(0, at) + pick(random, '{}[]:,"\\0e.\0\x01'.split("")) + text.slice(at),
  (_, text, at) => text.slice(0, at),
  (_, text) => text.replace('"role":', '"role":"user","role":'),
  (_, text) => text.replace('"type":', '"type":"x","\\u0074ype":'),
  (_, text) => text.replace(',"', ',"model":"x","'),
  (random, text) => text + pick(random, [" ", "x", "}", "\n"]),
  (_, text) => text.replaceAll("},{", "} , {"),
  (_, text) => text.replace("}]", "}5]"),
  (_, text) => text.replace('"m', '"\\m'),
  (_, text) => text.replace('"tools"', '"\\u0074ools"'),
  (_, text) => text.replace("},{", "}.5,{"),
];

/** Now and then the text is broken, or has a key twice. */
function broken(random: Random, text: string): Uint8Array {
  const isBroken = random() < 0.15;
  const written = isBroken ? pick(random, BREAKS)(random, text, below(random, text.length)) : text;
  const bytes = new TextEncoder().encode(written);
  if (random() < 0.01) bytes[below(random, bytes.length)] = 0xff;
  return bytes;
}
