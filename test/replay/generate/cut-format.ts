import { generateContent } from "../../../src/protocols/generate-content/index.ts";
import { sse, type SseOptions } from "../../upstream/sse-bytes.ts";
import type { CutFormat, SourceStream } from "../cut-format.ts";
import type { Json } from "../wire-json.ts";
import { chunksOf } from "./chunks.ts";
import { breachesOf, looksBroken } from "./stream-rules.ts";

/** Streams of generateContent that are cut. */
export const generateCutFormat: CutFormat = {
  protocol: "generate-content",
  stages: generateContent,
  ownStreams,
  choicesOf: (text) =>
    Math.max(
      1,
      ...chunksOf(text).flatMap(({ candidates }) =>
        (candidates ?? []).map(({ index }: Json) => (index ?? 0) + 1),
      ),
    ),
  contentOf,
  breachesOf,
  looksBroken: (text, choices) => looksBroken(chunksOf(text), choices),
  creditOf: (text) => chunksOf(text).find(({ credit }) => credit !== undefined)?.credit,
  settings: () => ({ protocol: "generate_content", dialect: "native" }),
  request: (modelId, choices) => ({
    path: `/api/v1/models/${modelId}:streamGenerateContent?alt=sse`,
    body: {
      contents: [{ role: "user", parts: [{ text: "Say it." }] }],
      generationConfig: { candidateCount: choices, maxOutputTokens: 4_000 },
    },
  }),
};

/** Every candidate: its parts in order, what else it told, and its reason to end. */
function contentOf(text: string): Json {
  const candidates: Record<number, Json> = {};
  const feedback: Json[] = [];
  for (const chunk of chunksOf(text)) {
    if (chunk.promptFeedback !== undefined) feedback.push(chunk.promptFeedback);
    for (const { index = 0, content, ...others } of (chunk.candidates ?? []) as Json[]) {
      const candidate = (candidates[index] ??= { parts: [], others: [] });
      for (const part of content?.parts ?? []) if (!saysNothing(part)) candidate.parts.push(part);
      if (Object.keys(others).length > 0) candidate.others.push(others);
    }
  }
  return { candidates, feedback };
}

function saysNothing(part: Json): boolean {
  return part.text === "" && Object.keys(part).length === 1;
}

const USAGE = {
  promptTokenCount: 21,
  cachedContentTokenCount: 5,
  candidatesTokenCount: 6,
  thoughtsTokenCount: 3,
  totalTokenCount: 30,
};
const EARLY = { promptTokenCount: 21, totalTokenCount: 21 };

/** A chunk of one candidate. */
function chunk(parts: readonly Json[] | undefined, more: Json = {}, top: Json = {}): Json {
  const content = parts === undefined ? {} : { content: { role: "model", parts } };
  return {
    candidates: [{ ...content, ...more }],
    usageMetadata: EARLY,
    modelVersion: "up",
    responseId: "r",
    ...top,
  };
}

const said = (text: string): Json => chunk([{ text }]);
const last = (parts: readonly Json[] | undefined = [{ text: "." }], more: Json = {}): Json =>
  chunk(parts, { finishReason: "STOP", ...more }, { usageMetadata: USAGE });
const SIGNED_CALL = {
  functionCall: { name: "find", args: { x: "é!", deep: { a: [1, 2] } } },
  thoughtSignature: "c2lnbmF0dXJl",
};

const OWN: readonly (readonly [string, readonly Json[], SseOptions?])[] = [
  ["plain words", [said("One"), said(" two"), last()]],
  ["one chunk", [last([{ text: "All." }])]],
  ["CRLF", [said("One"), said(" two"), last()], { lineEnding: "\r\n" }],
  ["CR, no space after the colon", [said("a"), last()], { lineEnding: "\r", space: false }],
  ["characters of many bytes", [said("é"), said("ß中"), said("文 🎉"), last([{ text: "🏳️‍🌈\u2028" }])]],
  [
    "thoughts, a signed call",
    [chunk([{ text: "Hm.", thought: true }]), chunk([SIGNED_CALL]), last([{ text: "" }])],
  ],
  ["a signature on no text", [said("a"), last([{ text: "", thoughtSignature: "c2ln" }])]],
  ["an end without parts", [said("a"), last([])]],
  ["an end without content", [said("a"), last(undefined)]],
  [
    "usage after the end",
    [said("a"), chunk([{ text: "b" }], { finishReason: "STOP" }), { usageMetadata: USAGE }],
  ],
  ["no usage but the early one", [said("a"), chunk([{ text: "b" }], { finishReason: "MAX_TOKENS" })]],
  ["a long word", [said("x".repeat(9_000)), last()]],
  ["images", [chunk([{ inlineData: { mimeType: "image/png", data: "iVBO".repeat(500) } }]), last()]],
  ["a prompt that is blocked", [{ promptFeedback: { blockReason: "SAFETY" }, usageMetadata: EARLY }]],
  [
    "a prompt that is blocked and not counted",
    [{ promptFeedback: { blockReason: "SAFETY" }, usageMetadata: { trafficType: "ON_DEMAND" } }],
  ],
  ["comments, a byte order mark", [said("a"), last()], { comment: " quiet", byteOrderMark: true }],
];

function ownStreams(): readonly SourceStream[] {
  const two = [said("a"), said("b"), last()].flatMap((event) => {
    const [candidate] = event.candidates;
    return [
      { ...event, candidates: [{ ...candidate, index: 0 }] },
      { ...event, candidates: [{ ...candidate, index: 1 }] },
    ];
  });
  const made = [...OWN, ["two candidates", two] as const];
  return made.map(([name, events, options]) => ({
    name: `generateContent: ${name}`,
    format: generateCutFormat,
    bytes: sse(events as Json[], options ?? {}),
    choices: name === "two candidates" ? 2 : 1,
    native: true,
    padding: [],
  }));
}
