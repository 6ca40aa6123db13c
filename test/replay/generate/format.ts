import { expect } from "bun:test";
import type { Recording } from "../../upstream/recordings.ts";
import { type CountedTokens, NO_TOKENS } from "../charge.ts";
import type { RecordedRequest, ReplayCase, ReplayFormat, StreamCheck, Unservable } from "../format.ts";
import type { Exchange } from "../exchange.ts";
import { type Changes, hostilePair, plainPair } from "../request-pair.ts";
import type { Json } from "../wire-json.ts";
import { chunksOf, framedAsEvents, wantedChunks } from "./chunks.ts";
import { breachesOf } from "./stream-rules.ts";
import { generateTokens, searchesOf } from "./tokens.ts";

/** generateContent: two hosts of one vendor, whose answers pass as they are. */
export const generateFormat: ReplayFormat = {
  protocol: "generate-content",
  setting: "generate_content",
  basePath: "",
  modelMember: undefined,
  usageMember: "usageMetadata",
  sellsSearches: true,
  isNative: () => true,
  served,
  unservable,
  request: ({ request }) => requestOf(request.body, request.url),
  madeUp: ({ request, response }) => ({
    ...requestOf(
      { contents: [{ role: "user", parts: [{ text: "A request of our own making." }] }] },
      request.url,
    ),
    stream: typeof response.body === "string",
  }),
  modelKind: () => ({ name: "g", settings: { output_modalities: ["text", "image", "audio"] } }),
  pairs({ body }, seed) {
    const changes = (): Changes => changesFor(body);
    return { plain: plainPair(body, changes), hostile: hostilePair(body, seed, true, changes) };
  },
  streamedPair: ({ body }) => plainPair(body, () => changesFor(body)),
  clientPath(modelId, stream, seed) {
    const verb = stream ? "streamGenerateContent" : "generateContent";
    const query = stream && seed % 3 !== 0 ? "?alt=sse" : "";
    const id = seed % 2 === 0 ? modelId : modelId.replaceAll("/", "%2F");
    return `/api/${seed % 5 === 0 ? "v1/v1beta" : "v1"}/models/${id}:${verb}${query}`;
  },
  clientHeaders: () => ({}),
  upstreamTarget: (upstreamId, stream) =>
    `/v1beta/models/${upstreamId}:${stream ? "streamGenerateContent?alt=sse" : "generateContent"}`,
  upstreamHeaders: (_, key) => ({ "x-goog-api-key": key }),
  checkPlain(_, recorded, answer) {
    if (leavesOutputOut(recorded)) {
      // What was told of the input stands; the output is counted, or it would be free.
      expect(answer.usageMetadata.promptTokenCount).toBe(recorded.usageMetadata.promptTokenCount);
      expect(answer.usageMetadata.candidatesTokenCount).toBeGreaterThan(0);
      return undefined;
    }
    if (recorded.usageMetadata !== undefined) expect(answer.usageMetadata).toEqual(recorded.usageMetadata);
    return countedOf([recorded]);
  },
  checkStream,
  checkErrorBody({ error }, { status, type }) {
    expect([error.code, typeof error.message, typeof error.status, error.type]).toEqual([
      status,
      "string",
      "string",
      type,
    ]);
  },
};

/** Whether a whole answer has text, and a usage that counts none of it: one model of the vendor does so. */
export function leavesOutputOut({ candidates, usageMetadata: usage }: Json): boolean {
  if (usage?.promptTokenCount === undefined || usage.totalTokenCount !== usage.promptTokenCount) return false;
  return candidates?.some(({ content }: Json) => content?.parts?.some(({ text }: Json) => text)) === true;
}

/** Members that are no fields of the reference: the model is in the path, the armour is another host's. */
const LEFT_OUT = ["model", "modelArmorConfig"];

function changesFor(body: Json): Changes {
  return { replace: {}, append: [], leftOut: LEFT_OUT.filter((name) => name in body) };
}

/** A stream that was recorded as one array is what the same chunks would be as events. */
function served(recording: Recording): Recording {
  const body: Json = recording.response.body;
  const text = typeof body === "string" ? body.trim() : "";
  const chunks = Array.isArray(body) ? body : text.startsWith("[") ? JSON.parse(text) : undefined;
  if (chunks === undefined || recording.response.status !== 200) return recording;
  const headers = { "content-type": "text/event-stream" };
  return { ...recording, response: { status: 200, headers, body: framedAsEvents(chunks) } };
}

function unservable({ request, response }: Recording): Unservable | undefined {
  if (!/enum-encoding/.test(request.url) || response.status !== 200) return undefined;
  return { reason: "an encoding that is never asked for: enums as numbers", answerAlone: false };
}

function requestOf(body: Json, url: string): RecordedRequest {
  const [, upstreamId = "unknown", verb] = /\/models\/([^/:?]+):(\w+)/.exec(decodeURIComponent(url)) ?? [];
  return { body, stream: verb === "streamGenerateContent", upstreamId };
}

function countedOf(chunks: readonly Json[]): CountedTokens | undefined {
  const usage = chunks.findLast(({ usageMetadata }) => usageMetadata !== undefined)?.usageMetadata;
  if (usage === undefined) return undefined;
  // A blocked prompt that nobody counted costs nothing.
  if (Object.keys(usage).every((name) => !name.endsWith("Count")))
    return { tokens: NO_TOKENS, flags: ["estimated"] };
  return { ...generateTokens(usage), webSearches: searchesOf(chunks) };
}

function checkStream(found: ReplayCase, { text }: Exchange): StreamCheck {
  const recorded = chunksOf(found.recording.response.body as string);
  const credit = /"credit":([\d.]+)\}/.exec(text)?.[1];
  expect(breachesOf(text)).toEqual([]);
  expect(chunksOf(text)).toEqual(wantedChunks(recorded, Number(credit)));
  return { credit, counted: countedOf(recorded), broken: false };
}
