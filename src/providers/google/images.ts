import { isJsonObject, type JsonObject, objectsIn } from "../../core/json/json-value.ts";
import type { ImageRequest } from "../../core/media/media.ts";
import { readUsage } from "../../protocols/generate-content/usage.ts";
import { createEach } from "../create-each.ts";
import type {
  MediaAdapter,
  MediaCall,
  MediaHttpAnswer,
  MediaOutput,
  MediaRefusal,
  MediaStep,
} from "../media.ts";
import { type CodeTable, isGood, objectAt, reasonIn, refusalOf, textAt } from "../media-answers.ts";

/**
 * Gemini's images, by generateContent: one to a call, so that several are asked for in as many calls at once. Made
 * while the calls wait; there is nothing to ask after and nothing to stop.
 * https://ai.google.dev/gemini-api/docs/image-generation
 */
export const googleImages: MediaAdapter<ImageRequest> = {
  async create(request, call) {
    const parts = await partsOf(request, call);
    return parts === undefined
      ? refused("input_too_large", "The images are more than 100 MB together, in base64.")
      : createEach(request, call, (one) => createOne(one, parts, call));
  },
};

async function createOne(
  request: ImageRequest,
  parts: readonly JsonObject[],
  call: MediaCall,
): Promise<MediaStep> {
  const answer = await call.send({
    method: "POST",
    path: `/v1beta/models/${call.upstreamId}:generateContent`,
    json: {
      contents: [{ role: "user", parts }],
      generationConfig: generationConfig(request),
    },
  });
  return isGood(answer) ? readAnswer(answer) : { state: "refused", refusal: readRefusal(answer) };
}

/** https://ai.google.dev/gemini-api/docs/troubleshooting */
const CODES: CodeTable = [
  [
    "operator_fault",
    /^(API_KEY_INVALID|API_KEY_SERVICE_BLOCKED|UNAUTHENTICATED|PERMISSION_DENIED|NOT_FOUND|FAILED_PRECONDITION)$/,
  ],
  ["busy", /^(RESOURCE_EXHAUSTED|UNAVAILABLE)$/],
];

/**
 * Messages about a key that is wrong or has expired, where the details are left out. Also those about credit that is
 * used up, which come with a 429 as any. Matched from the start, since the rest may quote the prompt.
 */
const OPERATORS =
  /^(API key (not valid|expired|not found)|your [^"'`]{0,80}(prepayment credits are depleted|spending cap))/i;

/** A wrong key is a 400 that says so in its details. A quota of the day is a 429 that names it: no wait would help. */
function readRefusal(answer: MediaHttpAnswer): MediaRefusal {
  const error = objectAt(answer.json, "error");
  const message = textAt(error, "message") ?? "";
  const details = objectsIn(error.details);
  const words = [...details.map((detail) => textAt(detail, "reason")), textAt(error, "status")];
  const code = words.find((word) => reasonIn(CODES, word) !== undefined) ?? textAt(error, "status");
  const wait = details
    .map((detail) => /^(\d{1,6})(\.\d+)?s$/.exec(textAt(detail, "retryDelay") ?? "")?.[1])
    .find(Boolean);
  const isOperators = OPERATORS.test(message) || details.some(isOfDay);
  return {
    ...refusalOf(answer, {
      ...(code === undefined ? {} : { code: code.slice(0, 100) }),
      message,
      reason: isOperators ? "operator_fault" : reasonIn(CODES, code),
    }),
    ...(wait === undefined ? {} : { retryAfterMs: (Number(wait) + 1) * 1_000 }),
  };
}

function isOfDay({ violations }: JsonObject): boolean {
  return (
    Array.isArray(violations) &&
    violations.filter(isJsonObject).some((violation) => /PerDay/.test(textAt(violation, "quotaId") ?? ""))
  );
}

function generationConfig({ imageSize, aspectRatio, seed }: ImageRequest): JsonObject {
  return {
    responseModalities: ["IMAGE"],
    imageConfig: {
      ...(imageSize === undefined ? {} : { imageSize }),
      ...(aspectRatio === undefined ? {} : { aspectRatio }),
    },
    ...(seed === undefined ? {} : { seed }),
  };
}

/** What may go along with a request: https://ai.google.dev/gemini-api/docs/file-input-methods */
const MOST_INLINE = 100_000_000;

/** The images go along, in base64; `undefined` where they are more than may. */
async function partsOf(
  { prompt, images }: ImageRequest,
  call: MediaCall,
): Promise<readonly JsonObject[] | undefined> {
  const loaded = await Promise.all(images.map((input) => call.load(input, "image")));
  const length = loaded.reduce((sum, { bytes }) => sum + Math.ceil(bytes.length / 3) * 4, 0);
  if (length > MOST_INLINE) return undefined;
  return [
    { text: prompt },
    ...loaded.map(({ mediaType, bytes }) => ({
      inlineData: { mimeType: mediaType, data: bytes.toBase64() },
    })),
  ];
}

function readAnswer(answer: MediaHttpAnswer): MediaStep {
  const body = answer.json;
  if (!isJsonObject(body)) return { state: "refused", refusal: readRefusal(answer) };
  const metered = readUsage(body.usageMetadata);
  const feedback = body.promptFeedback;
  if (isJsonObject(feedback) && typeof feedback.blockReason === "string")
    return refused("moderation", `The prompt was blocked: ${wordOf(feedback.blockReason)}.`);
  const candidate = Array.isArray(body.candidates) ? body.candidates.find(isJsonObject) : undefined;
  const outputs = imagesIn(candidate);
  if (outputs.length > 0)
    return { state: "done", outputs, ...(metered === undefined ? {} : { usage: metered.usage }) };
  if (candidate === undefined) return { state: "refused", refusal: readRefusal(answer) };
  const reason = typeof candidate.finishReason === "string" ? candidate.finishReason : "";
  if (MODERATED.has(reason)) return refused("moderation", `No image was given: ${wordOf(reason)}.`);
  return refused("failed", `No image was made: ${wordOf(reason)}.`);
}

/** Finish reasons that say that the image may not be shown. */
const MODERATED: ReadonlySet<string> = new Set([
  "SAFETY",
  "RECITATION",
  "BLOCKLIST",
  "PROHIBITED_CONTENT",
  "SPII",
  "IMAGE_SAFETY",
  "IMAGE_PROHIBITED_CONTENT",
  "IMAGE_RECITATION",
]);

/** Parts that are thoughts may hold drafts, which were not asked for. */
function imagesIn(candidate: JsonObject | undefined): MediaOutput[] {
  const content = candidate?.content;
  const parts = isJsonObject(content) ? objectsIn(content.parts) : [];
  return parts.flatMap(({ thought, inlineData }): MediaOutput[] => {
    if (thought === true || !isJsonObject(inlineData) || typeof inlineData.data !== "string") return [];
    return [{ base64: inlineData.data }];
  });
}

function refused(reason: MediaRefusal["reason"], message: string): MediaStep {
  return { state: "refused", refusal: { reason, message } };
}

/** A word of theirs, and nothing longer. */
function wordOf(text: string): string {
  return /^[A-Z_]{1,60}$/.test(text) ? text : "no reason was given";
}
