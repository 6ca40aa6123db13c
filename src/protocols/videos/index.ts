import type { VideoFields } from "../../catalog/parameter-tables/videos.ts";
import { present } from "../../core/json/json-value.ts";
import { type InputKind, readInput } from "../media-inputs.ts";
import { type MediaBody, readMediaBody } from "../media-request.ts";
import type { WireRequest } from "../protocol.ts";
import { invalid, readRequestJson, refuseTwiceWithin } from "../request-json.ts";
import { VIDEO_FORM } from "./schema.ts";

type MediaLists = "input_references" | "reference_audios" | "reference_videos";

/** A request for a video as it was given: frames have found their place, and a list that was not given is empty. */
export interface VideoBody
  extends Omit<VideoFields, "frame_images" | MediaLists>, Readonly<Record<MediaLists, readonly string[]>> {
  readonly firstFrame?: string;
  readonly lastFrame?: string;
}

/**
 * Reads a request for a video. Its fields are those of the interface, in the spelling that the interface lists, and its
 * media are links or data URIs. Throws a 400 that names the field at fault.
 */
export function readVideoBody(wire: Pick<WireRequest, "body" | "asked">): MediaBody<VideoBody> {
  const json = readRequestJson(wire);
  refuseTwiceWithin(json, "frame_images", 2);
  const { fields, warnings } = readMediaBody(json, VIDEO_FORM);
  const { frame_images, input_references, reference_audios, reference_videos, ...others } = fields;
  return {
    fields: {
      ...others,
      ...readFrames(frame_images ?? []),
      input_references: readList("input_references", input_references, "image"),
      reference_audios: readList("reference_audios", reference_audios, "audio"),
      reference_videos: readList("reference_videos", reference_videos, "video"),
    },
    warnings,
  };
}

function readList(name: string, list: readonly string[] = [], kind: InputKind): readonly string[] {
  return list.map((item, i) => readInput(item, kind, `${name}[${i}]`));
}

/** Frames that name their place take it; the others take what is left, the first frame first. */
function readFrames(
  list: NonNullable<VideoFields["frame_images"]>,
): Pick<VideoBody, "firstFrame" | "lastFrame"> {
  const placed: { first_frame?: string; last_frame?: string } = {};
  const others: string[] = [];
  list.forEach((item, i) => {
    const path = `frame_images[${i}]`;
    if (typeof item === "string") return others.push(readInput(item, "image", path));
    const url = readInput(item.image_url, "image", `${path}.image_url`);
    const place = item.frame_type;
    if (place === undefined) return others.push(url);
    if (placed[place] !== undefined)
      throw invalid(`frame_images has two of ${place}: send one.`, `${path}.frame_type`);
    placed[place] = url;
  });
  const firstFrame = placed.first_frame ?? others.shift();
  const lastFrame = placed.last_frame ?? others.shift();
  if (lastFrame !== undefined && firstFrame === undefined)
    throw invalid("frame_images has a last frame without a first one.", "frame_images");
  return present({ firstFrame, lastFrame });
}
