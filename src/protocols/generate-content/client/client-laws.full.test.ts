import { expect, test } from "bun:test";
import * as fc from "fast-check";
import { chatOf, FLASH, gemini, IMAGE, sentToGemini } from "../../../../test/protocols/gemini-sent.ts";
import { runsOf } from "../../../../test/runs.ts";
import type { ChatRequest, Part, Source, ToolResultPart, Turn } from "../../../core/chat.ts";
import type { Model } from "../../../core/model.ts";

const RUNS = runsOf(400, 10_000);

/** Takes results of text alone, as models that are told a budget do. */
const OLDER = gemini("google/gemini-2.9-flash", ["text"], { thinking: { style: "budget", canBeOff: true } });
const model = fc.constantFrom(FLASH, IMAGE, OLDER);

const words = fc.oneof(
  fc.string({ unit: "binary", maxLength: 8 }),
  fc.constantFrom("", " ", "\n", "[1, 2.50]", '{"output": 12345678901234567890}', "{no json"),
);
const signature = fc.oneof(
  fc.base64String({ minLength: 4, maxLength: 12 }),
  fc.constantFrom("ab-_", "QUI", "", "no base64!", "A"),
);
const some = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });
const text: fc.Arbitrary<Part> = words.map((said) => ({ type: "text", text: said }));
const signedText: fc.Arbitrary<Part> = fc.record(
  { type: fc.constant("text" as const), text: words, signature },
  { requiredKeys: ["type", "text"] },
);
const data = fc.base64String({ minLength: 4, maxLength: 8 });
const held = (mediaType: string): fc.Arbitrary<Source> =>
  data.map((bytes) => ({ kind: "data", mediaType, data: bytes }));
const imageSource: fc.Arbitrary<Source> = fc.oneof(
  fc.constantFrom("image/png", "image/jpg;a=b", "image/GIF", "").chain(held),
  fc.constantFrom<Source>(
    { kind: "url", url: "https://x.test/a.png?b" },
    { kind: "url", url: "https://x.test/a", mediaType: "image/webp" },
    { kind: "file", id: "files/pic-1" },
  ),
);
const image: fc.Arbitrary<Part> = fc.record(
  { type: fc.constant("image" as const), source: imageSource, signature },
  { requiredKeys: ["type", "source"] },
);
const document: fc.Arbitrary<Part> = fc.oneof(
  held("").map((source): Part => ({ type: "document", source, name: "a.csv" })),
  fc
    .constantFrom("text/plain", "application/pdf")
    .chain(held)
    .map((source): Part => ({ type: "document", source })),
);
const thinking: fc.Arbitrary<Part> = fc.oneof(
  fc.record(
    {
      type: fc.constant("thinking" as const),
      text: fc.constantFrom("", "hm"),
      signature,
      issuer: fc.constantFrom("anthropic" as const, "google" as const),
    },
    { requiredKeys: ["type", "text"] },
  ),
  fc.record({ type: fc.constant("redacted_thinking" as const), data }),
);
const id = fc.oneof(fc.constantFrom("a", "b", "functions.f:0", ""), fc.string({ maxLength: 6 }));
const input = fc.oneof(
  fc.constantFrom("", " ", "{}", ' {"n": 12345678901234567890, "x": 1.0, "e": 1e400} ', '{"a":1,"a":2}'),
  fc.constantFrom('{"__proto__":{"a":1}}', '{"inline_data":{"mime_type":"x"}}'),
  fc
    .dictionary(fc.string({ maxLength: 4 }), fc.jsonValue({ maxDepth: 3 }))
    .map((value) => JSON.stringify(value)),
);
const call = fc.record(
  {
    type: fc.constant("tool_call" as const),
    id,
    name: fc.constantFrom("f", "g"),
    input,
    signature,
  },
  { requiredKeys: ["type", "id", "name", "input"] },
);

/** An answer with calls, and what answers them: in any order, some twice or never, with other turns between. */
const round: fc.Arbitrary<Turn[]> = fc
  .record({
    before: fc.array(fc.oneof(thinking, signedText), { maxLength: 3 }),
    calls: fc.array(call, { minLength: 1, maxLength: 4 }),
    after: fc.array(fc.oneof(image, thinking, signedText), { maxLength: 2 }),
    results: fc.array(
      fc.record({
        of: fc.nat(),
        parts: fc.array(fc.oneof(text, image, document), { maxLength: 3 }),
        isError: fc.boolean(),
      }),
      { maxLength: 6 },
    ),
    between: fc.array(fc.constantFrom<Turn["role"]>("system", "user"), { maxLength: 1 }),
  })
  .map(({ before, calls, after, results, between }) => {
    const given = results.map(({ of, ...rest }): ToolResultPart => ({
      type: "tool_result",
      callId: calls[of % calls.length]?.id ?? "",
      ...rest,
    }));
    const half = given.length >> 1;
    return [
      [{ role: "assistant" as const, parts: [before, calls, after].flat() }],
      [{ role: "tool" as const, parts: given.slice(0, half) }],
      between.map((role): Turn => ({ role, parts: [{ type: "text", text: "between" }] })),
      [{ role: "tool" as const, parts: given.slice(half) }],
    ].flat();
  });
const turnOf = (role: Turn["role"], part: fc.Arbitrary<Part>): fc.Arbitrary<Turn> =>
  fc.array(part, { maxLength: 4 }).map((parts) => ({ role, parts }));
const system = turnOf("system", text);
const FIRST: Turn = { role: "user", parts: [{ type: "text", text: "first" }] };
const turns: fc.Arbitrary<Turn[]> = fc.oneof(
  { weight: 1, arbitrary: fc.array(system, { minLength: 1, maxLength: 3 }) },
  {
    weight: 20,
    arbitrary: fc
      .tuple(
        fc.array(system, { maxLength: 2 }),
        fc.array(
          fc.oneof(
            round,
            turnOf("user", fc.oneof(text, image, document)).map((turn) => [turn]),
            turnOf("assistant", fc.oneof(signedText, thinking, image)).map((turn) => [turn]),
            system.map((turn) => [turn]),
          ),
          { maxLength: 8 },
        ),
      )
      .map(([leading, rest]) => [leading, FIRST, rest.flat()].flat()),
  },
);

const request = fc
  .record({
    choices: fc.constant(1),
    turns,
    tools: fc.uniqueArray(
      fc.record({
        name: fc.constantFrom("f", "g"),
        parameters: some(
          fc.constantFrom<Record<string, unknown>>({}, { type: "object", properties: { a: { minimum: 1 } } }),
        ),
        strict: some(fc.boolean()),
      }),
      { maxLength: 2, selector: ({ name }) => name },
    ),
    toolChoice: some(fc.constantFrom({ type: "none" as const }, { type: "auto" as const })),
    parallelToolCalls: some(fc.boolean()),
    maxOutputTokens: some(fc.constantFrom(1, 900, 1_000_000)),
    temperature: some(fc.constantFrom(0, 0.5, 2)),
    topP: some(fc.constantFrom(0, 0.5, 1)),
    seed: some(fc.oneof(fc.nat(), fc.maxSafeInteger())),
    stop: fc.array(fc.constantFrom("END", " "), { maxLength: 3 }),
    user: some(fc.string()),
    thinking: some(
      fc.record(
        {
          mode: fc.constantFrom("on" as const, "off" as const, "auto" as const),
          budgetTokens: fc.constantFrom(1, 1_024, 20_000),
          effort: fc.constantFrom("none", "minimal", "low", "medium", "high", "xhigh", "max", "wild"),
          hidden: fc.boolean(),
        },
        { requiredKeys: [] },
      ),
    ),
    responseFormat: some(
      fc.constantFrom<NonNullable<ChatRequest["responseFormat"]>>(
        { type: "json_object" },
        { type: "json_schema", name: "n", schema: { type: "object", properties: { a: { maxLength: 2 } } } },
      ),
    ),
  })
  // What was not said is not there.
  .map((fields): ChatRequest => JSON.parse(JSON.stringify(fields)));

/** A turn in the form that a request and what was sent of it can both be brought to. */
interface Form {
  readonly role: Turn["role"];
  readonly parts: readonly Json[];
}
// oxlint-disable-next-line typescript/no-explicit-any -- wire data of a test
type Json = any;

/** JSON whose numbers are compared by their digits. */
const exact = (json: string): Json =>
  JSON.parse(json, (_key, value: unknown, from?: { source?: string }) =>
    typeof value === "number" ? `number ${from?.source}` : value,
  );
const attempt = (json: string): Json => {
  try {
    return exact(json);
  } catch {
    return undefined;
  }
};

/** What the client puts where a signature must stand and there is none. */
const PLACEHOLDER = "skip_thought_signature_validator";
const signedBy = (by: string | undefined) =>
  by === undefined || by === PLACEHOLDER ? {} : { signature: by };

/** A request of this format as turns: written from the vendor's reference, not from the client that is tested. */
function decoded(body: Json): Form[] {
  const leading = body.systemInstruction === undefined ? [] : [{ ...body.systemInstruction, role: "system" }];
  return [...leading, ...body.contents].map(({ role, parts }: Json): Form => {
    const read: Json[] = [];
    for (const part of parts) {
      const { functionCall, functionResponse, thoughtSignature, ...rest } = part;
      const last = read.at(-1);
      if (functionCall !== undefined)
        read.push({
          call: "",
          ...named(functionCall),
          args: functionCall.args,
          ...signedBy(thoughtSignature),
        });
      else if (functionResponse !== undefined) {
        const { response, parts: media = [] } = functionResponse;
        read.push({ result: "", ...named(functionResponse), response, media: [...media] });
      } else if (last?.media !== undefined) last.media.push(rest);
      else read.push({ ...rest, ...signedBy(thoughtSignature) });
    }
    const isTool = read.some((part) => part.result !== undefined);
    return { role: isTool ? "tool" : role === "model" ? "assistant" : role, parts: read };
  });
}
const named = ({ id: called = "", name }: Json) => ({ id: called, name });

/**
 * The normal form of turns, which is what a Gemini can be told of them:
 * - System turns at the start are one. Later ones, and all where nothing else is there, are a user's.
 * - Empty texts are not there, but for one in a turn that would have no part.
 * - Thinking is its signature alone, where Google's models can have made it. The signature is on the text right before
 *   it if the thinking had no text itself. The last other one is on the last text that has none, or else on an empty
 *   text that bears it.
 * - Behind an answer with calls stands one turn with one result for each, in their order. The n-th result of an id is
 *   that of the n-th call of it, and a call without one got an error.
 * - An empty answer is not there, and answers in a row are one.
 * - Media have a plain type, and in a result those come first that the model takes inside of it.
 */
function normalForm(all: readonly Turn[], { thinking: style }: Model): Form[] {
  const first = all.findIndex(({ role }) => role !== "system");
  const leading = all.slice(0, Math.max(first, 0)).flatMap(({ parts }) => saidParts(parts));
  const forms: Form[] = leading.length === 0 ? [] : [{ role: "system", parts: leading }];
  let rest = all.slice(Math.max(first, 0));
  for (let turn = rest[0]; turn !== undefined; turn = rest[0]) {
    rest = rest.slice(1);
    if (turn.role === "assistant") {
      const parts = answerForm(turn.parts);
      const last = forms.at(-1);
      if (last?.role === "assistant")
        forms.push({ role: "assistant", parts: [...forms.pop()!.parts, ...parts] });
      else if (parts.length > 0) forms.push({ role: "assistant", parts });
      const end = rest.findIndex(({ role }) => role === "assistant");
      const given = rest
        .slice(0, end === -1 ? undefined : end)
        .flatMap(({ parts: more }) => more)
        .filter((part) => part.type === "tool_result");
      const results = turn.parts.flatMap((part) => {
        if (part.type !== "tool_call") return [];
        const at = given.findIndex(({ callId }) => callId === part.id);
        const [result] = at === -1 ? [] : given.splice(at, 1);
        return [{ result: "", ...named(part), ...resultForm(result, style?.style === "budget") }];
      });
      if (results.length > 0) forms.push({ role: "tool", parts: results });
    } else if (turn.role !== "tool") {
      const parts = saidParts(turn.parts);
      forms.push({ role: "user", parts: parts.length === 0 ? [{ text: "" }] : parts });
    }
  }
  return forms;
}

const saidParts = (parts: readonly Part[]): Json[] =>
  parts.flatMap((part) => {
    if (part.type === "text") return part.text === "" ? [] : [{ text: part.text }];
    return [mediumForm(part)];
  });

/** A signature that can be one. */
const isSignature = (by = ""): boolean =>
  /^[\w+/-]{2,}={0,2}$/.test(by) && by.replace(/=+$/, "").length % 4 !== 1;
const own = (by: string | undefined) => (isSignature(by) ? { signature: by } : {});
/** An image's came through an address, which has base64 of another alphabet and no padding. */
const ofImage = (by = "") => {
  const plain = by.replaceAll("-", "+").replaceAll("_", "/").replace(/=+$/, "");
  return isSignature(by) ? { signature: plain + "=".repeat(-plain.length & 3) } : {};
};

function answerForm(parts: readonly Part[]): Json[] {
  const forms: Json[] = [];
  let alone: Json;
  for (const part of parts) {
    const last = forms.at(-1);
    if (part.type === "text") {
      if (part.text !== "" || isSignature(part.signature))
        forms.push({ text: part.text, ...own(part.signature) });
    } else if (part.type === "tool_call") {
      const args = exact(part.input.trim() || "{}");
      forms.push({ call: "", ...named(part), args, ...own(part.signature) });
    } else if (part.type === "image") {
      forms.push({ ...mediumForm(part), ...ofImage(part.signature) });
    } else if (part.type === "thinking" && part.issuer !== "anthropic" && isSignature(part.signature)) {
      if (part.text === "" && last?.text !== undefined && last.signature === undefined)
        last.signature = part.signature;
      else forms.push((alone = { text: "", signature: part.signature }));
    }
  }
  const heir = forms.findLast((form) => form.text !== undefined && form.signature === undefined);
  if (alone === undefined || heir === undefined) return forms;
  heir.signature = alone.signature;
  return forms.filter((form) => form !== alone);
}

function resultForm(result: ToolResultPart | undefined, isTextAlone: boolean): Json {
  if (result === undefined) return { response: { error: "The call was given no result." }, media: [] };
  const said = result.parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
  const json = attempt(said);
  const value = typeof json === "object" && json !== null ? json : said;
  const isObject = typeof value === "object" && !Array.isArray(value);
  const media = result.parts.filter((part) => part.type !== "text").map(mediumForm);
  const isInside = ({ inlineData }: Json): boolean =>
    !isTextAlone &&
    inlineData !== undefined &&
    inlineData.mimeType !== "image/gif" &&
    inlineData.mimeType !== "text/csv";
  return {
    response: result.isError ? { error: value } : isObject ? value : { output: value },
    media: [...media.filter(isInside), ...media.filter((medium) => !isInside(medium))],
  };
}

/** The media of these tests, by the type that is known of each. */
const TYPES: Record<string, string> = {
  "image/png": "image/png",
  "image/jpg;a=b": "image/jpeg",
  "image/GIF": "image/gif",
  "text/plain": "text/plain",
  "application/pdf": "application/pdf",
  "https://x.test/a.png?b": "image/png",
  "https://x.test/a": "image/webp",
  "files/pic-1": "image/jpeg",
};
function mediumForm(part: Part): Json {
  if (!("source" in part)) throw new Error("These tests send no other part here.");
  const { source } = part;
  const usual = part.type === "image" ? "image/jpeg" : "text/csv";
  if (source.kind === "data")
    return { inlineData: { mimeType: TYPES[source.mediaType] ?? usual, data: source.data } };
  const fileUri = source.kind === "url" ? source.url : source.id;
  return { fileData: { mimeType: TYPES[fileUri], fileUri } };
}

test("every request that is written is one that the format's reader and the provider take", () => {
  fc.assert(
    fc.property(request, model, (chat, by) => {
      expect(() => sentToGemini(chat, by)).not.toThrow();
    }),
    RUNS,
  );
});

test("what is sent, read back, is the normal form of what was said", () => {
  fc.assert(
    fc.property(turns, model, (all, by) => {
      const sent = sentToGemini(chatOf(all), by);
      expect(decoded(exact(sent.text))).toEqual(normalForm(all, by));
    }),
    RUNS,
  );
});

test("a placeholder stands where a signature must and there is none, and nowhere else", () => {
  fc.assert(
    fc.property(turns, model, (all, by) => {
      const { contents } = sentToGemini(chatOf(all), by).body;
      const said = contents.findLastIndex(
        ({ role, parts }: Json) => role === "user" && parts[0].functionResponse === undefined,
      );
      contents.forEach(({ role, parts }: Json, i: number) => {
        const firstCall = parts.find((part: Json) => part.functionCall !== undefined);
        for (const part of parts) {
          const isFirst = i > said && part === firstCall;
          const isImage = by === IMAGE && role === "model" && part.inlineData !== undefined;
          if (isFirst || isImage) expect(part.thoughtSignature).toBeString();
          else expect(part.thoughtSignature).not.toBe(PLACEHOLDER);
        }
      });
    }),
    RUNS,
  );
});

/** Without what stands in for a signature: that of a call goes as soon as a person says something new. */
const unmarked = (contents: Json): Json =>
  contents.map(({ role, parts }: Json) => ({
    role,
    parts: parts.map(({ thoughtSignature, ...part }: Json) => ({ ...part, ...signedBy(thoughtSignature) })),
  }));

/** The contents that stood before, where the last may go on: answers in a row are one. */
function expectBegins(after: Json[], before: Json[]): void {
  // The order of members is a part of it.
  const begun = JSON.stringify(after.slice(0, before.length - 1));
  expect(begun).toBe(JSON.stringify(before.slice(0, -1)));
  const { role, parts } = before.at(-1);
  expect(after[before.length - 1].role).toBe(role);
  expect(JSON.stringify(after[before.length - 1].parts.slice(0, parts.length))).toBe(JSON.stringify(parts));
}

test("a step more of the same work leaves what was written before it as it was", () => {
  // A prompt cache is found again by what stands before.
  const step: Turn[] = [
    { role: "assistant", parts: [{ type: "tool_call", id: "z", name: "f", input: "{}" }] },
    {
      role: "tool",
      parts: [{ type: "tool_result", callId: "z", parts: [{ type: "text", text: "x" }], isError: false }],
    },
  ];
  fc.assert(
    fc.property(turns.filter(isAsked), model, (all, by) => {
      const before = sentToGemini(chatOf(all), by).body;
      const after = sentToGemini(chatOf([...all, ...step]), by).body;
      expect(after.systemInstruction).toEqual(before.systemInstruction);
      expectBegins(after.contents, before.contents);
    }),
    RUNS,
  );
});

test("a turn more leaves what was written before it as it was, but for placeholders of calls", () => {
  const next: Turn[] = [
    { role: "assistant", parts: [{ type: "text", text: "x" }] },
    { role: "user", parts: [{ type: "text", text: "more" }] },
  ];
  fc.assert(
    fc.property(turns.filter(isAsked), model, (all, by) => {
      const before = sentToGemini(chatOf(all), by).body;
      const after = sentToGemini(chatOf([...all, ...next]), by).body;
      expect(after.systemInstruction).toEqual(before.systemInstruction);
      expectBegins(unmarked(after.contents), unmarked(before.contents));
    }),
    RUNS,
  );
});

/** System turns alone are sent as a user's, and as the instruction once somebody says something. */
function isAsked(all: readonly Turn[]): boolean {
  return all.some(({ role }) => role !== "system");
}
