import { isJsonObject, type JsonObject } from "../../core/json/json-value.ts";
import type { ImageRequest } from "../../core/media/media.ts";
import { NO_USAGE, type Usage } from "../../core/money/usage.ts";
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
 * OpenAI's images: made at once, while the call waits; there is nothing to ask after and nothing to stop.
 * https://platform.openai.com/docs/api-reference/images
 */
export const openaiImages: MediaAdapter<ImageRequest> = {
  async create(request, call) {
    const edits = request.images.length > 0;
    const answer = await call.send({
      method: "POST",
      path: edits ? "/images/edits" : "/images/generations",
      json: { ...bodyOf(request, call), ...(edits ? referencesOf(request) : {}) },
    });
    if (!isGood(answer)) return { state: "refused", refusal: readRefusal(answer) };
    const body = isJsonObject(answer.json) ? answer.json : {};
    return Array.isArray(body.data)
      ? readImages(body.data, body.usage)
      : { state: "refused", refusal: readRefusal(answer) };
  },
};

/** `response_format` and `seed` are refused by these models; what a model does not take is absent from the request. */
function bodyOf(
  { prompt, n, size, quality, background, outputFormat }: ImageRequest,
  call: MediaCall,
): JsonObject {
  return {
    model: call.upstreamId,
    prompt,
    n,
    ...(size === undefined ? {} : { size: `${size.width}x${size.height}` }),
    ...(quality === undefined ? {} : { quality }),
    ...(background === undefined ? {} : { background }),
    ...(outputFormat === undefined ? {} : { output_format: outputFormat }),
  };
}

function referencesOf({ images, mask }: ImageRequest): JsonObject {
  return {
    images: images.map((url) => ({ image_url: url })),
    ...(mask === undefined ? {} : { mask: { image_url: mask } }),
  };
}

/** https://platform.openai.com/docs/guides/error-codes */
const CODES: CodeTable = [
  ["moderation", /^(moderation_blocked|content_policy_violation)$/],
  ["input_too_large", /^(string_above_max_length|request_too_large|image_too_large|file_too_large)$/],
  [
    "operator_fault",
    /^(insufficient_quota|billing_\w+|invalid_api_key|model_not_found|account_deactivated|unsupported_country_region_territory)$/,
  ],
];

/** Of prompts that are refused without a code, and of files that are too large: the only sentences that are read. */
const SENTENCES: CodeTable = [
  ["moderation", /^your request was rejected (as a result of|by) (our|the) safety system/i],
  ["input_too_large", /^[^.]{0,80}\b(file|image|mask)\b[^.]{0,80}\btoo large\b/i],
];

function readRefusal(answer: MediaHttpAnswer): MediaRefusal {
  const error = objectAt(answer.json, "error");
  const message = textAt(error, "message") ?? "";
  const words = [textAt(error, "code"), textAt(error, "type")];
  const code = words.find((word) => reasonIn(CODES, word) !== undefined) ?? words.find(Boolean);
  const isRefused = answer.status === 400 || answer.status === 403;
  const reason = reasonIn(CODES, code) ?? (isRefused ? reasonIn(SENTENCES, message) : undefined);
  const param = textAt(error, "param");
  return refusalOf(answer, {
    ...(code === undefined ? {} : { code: code.slice(0, 100) }),
    message,
    reason,
    isOfInput: param !== undefined && param !== "model",
  });
}

function readImages(data: readonly unknown[], counted: unknown): MediaStep {
  const usage = readUsage(counted);
  const outputs = data.filter(isJsonObject).flatMap(readImage);
  return { state: "done", outputs, ...(usage === undefined ? {} : { usage }) };
}

function readImage({ b64_json: base64, url }: JsonObject): MediaOutput[] {
  if (typeof base64 === "string") return [{ base64 }];
  return typeof url === "string" ? [{ url }] : [];
}

/** Details are left out by some answers: what an image model puts out is then images. */
function readUsage(usage: unknown): Usage | undefined {
  if (!isJsonObject(usage)) return undefined;
  const input = countOf(usage.input_tokens);
  const output = countOf(usage.output_tokens);
  if (input === undefined || output === undefined) return undefined;
  const imageInput = Math.min(input, countOf(detail(usage.input_tokens_details, "image_tokens")) ?? 0);
  const cacheRead = Math.min(
    input - imageInput,
    countOf(detail(usage.input_tokens_details, "cached_tokens")) ?? 0,
  );
  const text = Math.min(output, countOf(detail(usage.output_tokens_details, "text_tokens")) ?? 0);
  return {
    ...NO_USAGE,
    input: input - imageInput - cacheRead,
    cacheRead,
    imageInput,
    output: text,
    imageOutput: output - text,
  };
}

function detail(details: unknown, name: string): unknown {
  return isJsonObject(details) ? details[name] : undefined;
}

function countOf(value: unknown): number | undefined {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}
