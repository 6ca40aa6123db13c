import { isJsonObject, type JsonObject } from "../../core/json-value.ts";
import type { ImageRequest } from "../../core/media.ts";
import { NO_USAGE, type Usage } from "../../core/usage.ts";
import type { MediaAdapter, MediaCall, MediaOutput, MediaStep } from "../media.ts";
import { refusalOf } from "../media-refusal.ts";

/**
 * OpenAI's pictures: made at once, while the call waits; there is nothing to ask after and nothing to stop.
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
    if (answer.status !== 200) return { state: "refused", refusal: refusalOf(answer, call) };
    return readImages(answer.json);
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

function readImages(body: unknown): MediaStep {
  const data = isJsonObject(body) && Array.isArray(body.data) ? body.data.filter(isJsonObject) : [];
  const usage = isJsonObject(body) ? readUsage(body.usage) : undefined;
  const outputs = data.flatMap(readImage);
  return { state: "done", outputs, ...(usage === undefined ? {} : { usage }) };
}

function readImage({ b64_json: base64, url }: JsonObject): MediaOutput[] {
  if (typeof base64 === "string") {
    try {
      return [{ bytes: Uint8Array.fromBase64(base64) }];
    } catch {
      return [];
    }
  }
  return typeof url === "string" ? [{ url }] : [];
}

/** Details are left out by some answers: what comes out of a model of pictures is then pictures. */
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
