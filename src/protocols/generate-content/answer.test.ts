import { describe, expect, test } from "bun:test";
import { ANSWER_CONTEXT } from "../../../test/protocols/answer-context.ts";
import { geminiAnswer } from "../../../test/upstream/gemini-bytes.ts";
import { loadRecordings, recordedBytes, recordingsFor } from "../../../test/upstream/recordings.ts";
import { GatewayError } from "../../core/errors.ts";
import type { AnswerContext } from "../protocol.ts";
import { readAnswer } from "./answer.ts";

const CONTEXT: AnswerContext = {
  ...ANSWER_CONTEXT,
  model: "google/gemini-3.8-flash",
  secrets: ["secret-key-123"],
  expectedInput: 9,
};

function read(body: string | object, more: Partial<AnswerContext> = {}) {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const answer = readAnswer(new TextEncoder().encode(text), { ...CONTEXT, ...more });
  return { ...answer, text: new TextDecoder().decode(answer.encode(1_500_000n)) };
}

function refusal(body: string | object): GatewayError {
  try {
    read(body);
  } catch (error) {
    if (error instanceof GatewayError) return error;
    throw error;
  }
  throw new Error("was taken for an answer");
}

const USAGE = { promptTokenCount: 5, candidatesTokenCount: 2, totalTokenCount: 7 };

test("an answer keeps its bytes, and has its credit at the end", () => {
  const body =
    '{ "candidates" : [{"content":{"parts":[{"text":"\\u00e9","thoughtSignature":"a\\/b=="}]}}], "usageMetadata":{"promptTokenCount":5.0,"candidatesTokenCount":1,"totalTokenCount":6}, "modelVersion":"m" }\n';
  expect(read(body).text).toBe(body.replace(" }\n", ',"credit":1.5 }\n'));
});

test("the model that serves in place of another is named by its id", () => {
  const named = (body: object, isFallback = true): unknown => JSON.parse(read(body, { isFallback }).text);
  const body = geminiAnswer({ usage: USAGE });
  const { modelVersion: _own, ...unnamed } = body;
  const ours = { ...body, modelVersion: CONTEXT.model, credit: 1.5 };
  expect([named(body), named(unnamed), named(body, false)]).toEqual([ours, ours, { ...body, credit: 1.5 }]);
});

test("another credit is not passed on", () => {
  expect(JSON.parse(read({ credit: 9, ...geminiAnswer({ usage: USAGE }) }).text).credit).toBe(1.5);
});

test("usage that is missing is counted and told; so is one that cannot be", () => {
  const parts = [
    { text: "x".repeat(40), thought: true },
    "y".repeat(80),
    { inlineData: { mimeType: "image/png", data: "AAAA" } },
  ];
  const counted = read(geminiAnswer({ parts, usage: null }));
  expect(counted.metered).toMatchObject({
    usage: { input: 9, output: 20, reasoning: 10, imageOutput: 1_120 },
    flags: ["estimated"],
  });
  expect(JSON.parse(counted.text).usageMetadata).toEqual({
    promptTokenCount: 9,
    candidatesTokenCount: 1_140,
    thoughtsTokenCount: 10,
    totalTokenCount: 1_159,
  });
  const bent = read(geminiAnswer({ usage: { promptTokenCount: -1, candidatesTokenCount: 2 } }));
  expect(bent.metered.flags).toEqual(["clamped"]);
  expect(JSON.parse(bent.text).usageMetadata.promptTokenCount).toBe(0);
});

test("an answer of text whose usage says that there is no output is not free", () => {
  const told = { promptTokenCount: 8, totalTokenCount: 8 };
  const { metered, text } = read(geminiAnswer({ parts: ["x".repeat(40)], usage: told }));
  expect(metered).toMatchObject({ usage: { input: 8, output: 10 }, flags: ["estimated"] });
  expect(JSON.parse(text).usageMetadata).toEqual({
    promptTokenCount: 8,
    candidatesTokenCount: 10,
    totalTokenCount: 18,
  });
  const silent = read(geminiAnswer({ parts: [{ text: "" }, { thoughtSignature: "aa==" }], usage: told }));
  expect(silent.metered).toMatchObject({ usage: { input: 8, output: 0 }, flags: [] });
});

test("searches of all candidates are counted", () => {
  const grounded = (queries: string[]) => ({
    content: { parts: [{ text: "a" }] },
    groundingMetadata: { webSearchQueries: queries },
  });
  const { metered } = read({ candidates: [grounded(["a", "b"]), grounded(["a", ""])], usageMetadata: USAGE });
  expect(metered.usage.webSearches).toBe(3);
});

describe("blocks", () => {
  test("a blocked prompt is an answer, charged by its usage or not at all", () => {
    const body = {
      promptFeedback: { blockReason: "SAFETY" },
      usageMetadata: { promptTokenCount: 5, totalTokenCount: 5 },
    };
    expect(read(body)).toMatchObject({
      metered: { usage: { input: 5 }, flags: [] },
      text: JSON.stringify({ ...body, credit: 1.5 }),
    });
    expect(read({ promptFeedback: { blockReason: "OTHER" } }).metered.usage.input).toBe(0);
    const uncounted = { ...body, usageMetadata: { trafficType: "ON_DEMAND" } };
    expect(read(uncounted)).toMatchObject({
      metered: { usage: { input: 0 } },
      text: JSON.stringify({ ...uncounted, credit: 1.5 }),
    });
  });

  test("a candidate without content is an answer", () => {
    expect(
      read({ candidates: [{ finishReason: "SAFETY", index: 0 }], usageMetadata: USAGE }).metered.flags,
    ).toEqual([]);
  });
});

describe("a 200 that is no answer", () => {
  for (const body of [
    "{}",
    "[]",
    "[{}]",
    '{"candidates":[]}',
    '{"candidates":"x"}',
    '{"promptFeedback":{}}',
    "nope",
    "",
    "null",
    '{"usageMetadata":{"promptTokenCount":1}}',
    `{"candidates":[{}],"x":${"[".repeat(300)}${"]".repeat(300)}}`,
  ]) {
    test(body.slice(0, 40), () => expect(refusal(body).kind).toBe("upstream_error"));
  }

  const errors: readonly [object, string][] = [
    [{ error: { code: 429, message: "Quota", status: "RESOURCE_EXHAUSTED" } }, "overloaded_error"],
    [[{ error: { code: 503, message: "Busy", status: "UNAVAILABLE" } }], "overloaded_error"],
    [{ error: { code: 400, message: "Bad part.", status: "INVALID_ARGUMENT" } }, "invalid_request_error"],
  ];
  for (const [body, kind] of errors)
    test(JSON.stringify(body), () => expect(refusal(body).kind).toBe(kind as GatewayError["kind"]));
});

describe("an answer that is empty", () => {
  const empty = [
    undefined,
    {},
    { role: "model" },
    { parts: [] },
    { parts: [{ text: "" }] },
    { parts: [{}, null, { text: "" }] },
  ];
  const candidates = [undefined, null, ""].flatMap((finishReason) =>
    empty.map((content) => ({ finishReason, index: 0, content })),
  );

  test.each(candidates)("is refused without a finish reason: %j", (candidate) => {
    for (const of of [[candidate], [candidate, candidate]]) {
      const error = refusal({ candidates: of, usageMetadata: USAGE });
      expect([error.kind, error.message]).toEqual([
        "upstream_error",
        "The provider's answer is empty, and has no finish reason.",
      ]);
    }
  });

  test("is one with a finish reason, beside a candidate that says something, or where the prompt was blocked", () => {
    const nothing = { content: { parts: [] } };
    const said = [
      { candidates: [{ ...nothing, finishReason: "STOP" }], usageMetadata: USAGE },
      { candidates: [nothing, { content: { parts: [{ text: "x" }] } }], usageMetadata: USAGE },
      { candidates: [{ content: { parts: [{ functionCall: { name: "f" } }] } }], usageMetadata: USAGE },
      { candidates: [nothing], promptFeedback: { blockReason: "SAFETY" } },
    ];
    for (const body of said)
      expect(JSON.parse(read(body).text).candidates).toHaveLength(body.candidates.length);
  });
});

const hasRecordings = recordingsFor("recorded answers");

test.if(hasRecordings)("recorded answers come back as they were, with their credit", () => {
  const answers = ["generate-content", "cross-protocol"]
    .flatMap((folder) => loadRecordings(folder))
    .filter(
      ({ request, response }) =>
        /[^m]GenerateContent|:generateContent/.test(request.url) &&
        response.status === 200 &&
        typeof response.body === "object" &&
        response.body !== null &&
        "candidates" in response.body,
    );
  expect(answers.length).toBeGreaterThan(100);
  for (const { response, path } of answers) {
    const body = recordedBytes(response.body) as string;
    const { text, metered } = read(body);
    expect([path, JSON.parse(text)]).toEqual([
      path,
      {
        ...(response.body as object),
        credit: 1.5,
        ...(metered.flags.length === 0 ? {} : { usageMetadata: JSON.parse(text).usageMetadata }),
      },
    ]);
    // One model of the vendor counts no output at all.
    if ("usageMetadata" in (response.body as object) && !path.includes("refusal"))
      expect([path, metered.flags]).toEqual([path, path.includes("gemma-3-27b-it") ? ["estimated"] : []]);
  }
});
