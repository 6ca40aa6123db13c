import type { DocumentPart, Source } from "../../../core/chat.ts";
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
 * A medium as a part of a user's message. Throws a 400 for what its provider cannot reach, and for sound or
 * pictures that the model does not take.
 */
export function encodeMedia(part: MediaPart, { model, chat }: RelayTarget, losses: Losses): JsonObject {
  const { source, type, at } = part;
  refuseUnreachable(part, "openai", losses);
  switch (type) {
    case "document":
      if (source.kind === "url" && chat?.fileLinks === false)
        throw losses.refusal({ place: "turns", at, why: "file_link" });
      return encodeDocument(part);
    case "image": {
      if (source.kind === "file") return { type: "file", file: { file_id: source.id } };
      const { signature, detail } = part;
      return {
        type: "image_url",
        image_url: present({ url: urlOf(source, "image/png", signature), detail }),
      };
    }
    case "audio":
      if (!model.inputModalities.includes(type))
        throw losses.refusal({ place: "turns", at, why: "no_audio_in" });
      return encodeAudio(source);
    case "video":
      if (!model.inputModalities.includes(type))
        throw losses.refusal({ place: "turns", at, why: "no_video_in" });
      return { type: "video_url", video_url: { url: urlOf(source, "video/mp4") } };
  }
}

function encodeAudio(source: Source): JsonObject {
  if (source.kind !== "data") return { type: "audio_url", audio_url: { url: urlOf(source, "") } };
  return { type: "input_audio", input_audio: { data: source.data, format: audioFormat(source.mediaType) } };
}

/** A text is one of the message, under its name; any other file is one. */
function encodeDocument(part: DocumentPart): JsonObject {
  const { source } = part;
  if (source.kind === "file") return { type: "file", file: { file_id: source.id } };
  const text = textOfDocument(part);
  if (text !== undefined) return { type: "text", text };
  return { type: "file", file: { filename: fileNameOf(part), file_data: urlOf(source, "application/pdf") } };
}
