import { isJsonObject, type JsonObject } from "../../core/json/json-value.ts";
import type { ImageRequest } from "../../core/media/media.ts";
import { NO_USAGE } from "../../core/money/usage.ts";
import { createEach } from "../create-each.ts";
import { endedWith, isGood } from "../media-answers.ts";
import type { MediaAdapter, MediaCall, MediaOutput, MediaStep } from "../media.ts";
import { readFailure, readRefusal } from "./answers.ts";

/**
 * Seedream's images, made while the call waits: one to a call, since theirs of several is a series that may end early.
 * https://docs.byteplus.com/en/docs/ModelArk/1541523
 */
export const arkImages: MediaAdapter<ImageRequest> = {
  create: (request, call) => createEach(request, call, (one) => createOne(one, call)),
};

async function createOne(request: ImageRequest, call: MediaCall): Promise<MediaStep> {
  const answer = await call.send({
    method: "POST",
    path: "/images/generations",
    json: bodyOf(request, call),
  });
  const data = isGood(answer) && isJsonObject(answer.json) ? answer.json.data : undefined;
  if (!Array.isArray(data)) return { state: "refused", refusal: readRefusal(answer) };
  return readImages(data.filter(isJsonObject));
}

/** They have no seed, no mask and no words for quality; `1K`, `2K` and `4K` are sizes there, as pixels are. */
function bodyOf(
  { prompt, images, size, imageSize, outputFormat }: ImageRequest,
  call: MediaCall,
): JsonObject {
  return {
    model: call.upstreamId,
    prompt,
    ...(images.length === 0 ? {} : { image: images.length === 1 ? images[0] : images }),
    ...(size === undefined
      ? imageSize === undefined
        ? {}
        : { size: imageSize }
      : { size: `${size.width}x${size.height}` }),
    ...(outputFormat === undefined ? {} : { output_format: outputFormat }),
    response_format: "url",
    sequential_image_generation: "disabled",
    // Theirs is on by default.
    watermark: false,
  };
}

/** An image may fail beside others; only what was made is billed. */
function readImages(data: readonly JsonObject[]): MediaStep {
  const outputs = data.flatMap(outputOf);
  const failed = data.find(({ error }) => isJsonObject(error));
  if (outputs.length === 0 && failed !== undefined)
    return { state: "refused", refusal: endedWith(readFailure(failed)) };
  return { state: "done", outputs, usage: { ...NO_USAGE, images: outputs.length } };
}

/** An address as is asked for, or the bytes, which a reseller may give all the same. */
function outputOf({ url, b64_json: base64 }: JsonObject): MediaOutput[] {
  if (typeof url === "string") return [{ url }];
  return typeof base64 === "string" ? [{ base64 }] : [];
}
