import { type JsonObject, present } from "../../../core/json/json-value.ts";
import type { Losses } from "../../losses.ts";
import type { RelayTarget } from "../../protocol.ts";
import {
  audioFormat,
  fileNameOf,
  type MediaPart,
  refuseUnreachable,
  textOfDocument,
  urlOf,
} from "../../told-media.ts";

/**
 * A medium as a part of a message or an output. Throws a 400 for what its provider cannot reach, and for sound or pictures
 * that the model does not take.
 */
export function encodeMedia(part: MediaPart, { model }: RelayTarget, losses: Losses): JsonObject {
  const { source, type, at } = part;
  refuseUnreachable(part, "openai", losses);
  switch (type) {
    case "image": {
      const { detail = "auto" } = part;
      if (source.kind === "file") return { type: "input_image", file_id: source.id, detail };
      return { type: "input_image", image_url: urlOf(source, "image/png"), detail };
    }
    case "document": {
      if (source.kind === "file") return { type: "input_file", file_id: source.id };
      const text = textOfDocument(part);
      if (text !== undefined) return { type: "input_text", text };
      if (source.kind === "url") return present({ type: "input_file", file_url: source.url });
      return {
        type: "input_file",
        filename: fileNameOf(part),
        file_data: urlOf(source, "application/pdf"),
      };
    }
    case "audio": {
      if (source.kind !== "data" || !model.inputModalities.includes(type))
        throw losses.refusal({ place: "turns", at, why: "no_audio_in" });
      const format = audioFormat(source.mediaType);
      return { type: "input_audio", input_audio: { data: source.data, format } };
    }
    case "video":
      throw losses.refusal({ place: "turns", at, why: "no_video_in" });
  }
}
