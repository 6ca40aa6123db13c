import { isJsonObject, type JsonObject } from "../../core/json/json-value.ts";
import type { ImageRequest } from "../../core/media/media.ts";
import { NO_USAGE } from "../../core/money/usage.ts";
import type { MediaAdapter, MediaOutput, MediaStep } from "../media.ts";
import { isGood, objectAt, textAt } from "../media-answers.ts";
import { readFailure, readRefusal } from "./answers.ts";

/**
 * Qwen's images, made while the call waits:
 * https://www.alibabacloud.com/help/en/model-studio/qwen-image-api
 */
export const dashscopeImages: MediaAdapter<ImageRequest> = {
  async create(request, { upstreamId, send }): Promise<MediaStep> {
    const answer = await send({
      method: "POST",
      path: "/services/aigc/multimodal-generation/generation",
      json: imageBody(upstreamId, request),
    });
    if (!isGood(answer)) return { state: "refused", refusal: readRefusal(answer) };
    const output = objectAt(answer.json, "output");
    if (output.task_status === "FAILED") return { state: "refused", refusal: readFailure(output) };
    if (!Array.isArray(output.choices)) return { state: "refused", refusal: readRefusal(answer) };
    const images = objectAt(answer.json, "usage").image_count;
    return {
      state: "done",
      outputs: imagesIn(output.choices),
      ...(typeof images === "number" ? { usage: { ...NO_USAGE, images } } : {}),
    };
  },
};

function imageBody(model: string, { prompt, n, size, seed, images }: ImageRequest): JsonObject {
  return {
    model,
    input: {
      messages: [{ role: "user", content: [...images.map((image) => ({ image })), { text: prompt }] }],
    },
    parameters: {
      ...(size === undefined ? {} : { size: `${size.width}*${size.height}` }),
      n,
      // Theirs is on by default: it would draw something else than was asked for.
      prompt_extend: false,
      watermark: false,
      ...(seed === undefined ? {} : { seed }),
    },
  };
}

/** Several images are several choices, or several parts of one. */
function imagesIn(choices: readonly unknown[]): MediaOutput[] {
  return choices
    .flatMap((choice) => objectAt(choice, "message").content)
    .flatMap((part) => (isJsonObject(part) ? (textAt(part, "image") ?? []) : []))
    .map((url) => ({ url }));
}
