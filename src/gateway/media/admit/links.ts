import { isDataUri } from "../../../core/media/data-uri.ts";
import type { MediaRequest } from "../../../core/media/media.ts";
import { leadsOutside } from "../../fetch/target.ts";
import { notTaken } from "./model.ts";

/**
 * Refuses links to private hosts: no provider could follow them, and we must not. It resolves no names, so a name with
 * a private address is refused when it is fetched. Throws a 400 that names the field.
 */
export function checkLinks(request: MediaRequest, allowedHosts: readonly string[]): void {
  for (const [path, input] of inputsOf(request)) {
    if (input === undefined || isDataUri(input) || leadsOutside(input, allowedHosts)) continue;
    throw notTaken(`${path} must lead to a public host, written plainly.`, path);
  }
}

/** The media of a request, each with the path of its field. */
function inputsOf(request: MediaRequest): readonly (readonly [string, string | undefined])[] {
  if (request.kind === "image")
    return [...listed("image", request.images), ["mask", request.mask], ["sref", request.midjourney?.sref]];
  return [
    ["frame_images", request.firstFrame],
    ["frame_images", request.lastFrame],
    ...listed("input_references", request.referenceImages),
    ...listed("reference_videos", request.referenceVideos),
    ...listed("reference_audios", request.referenceAudios),
  ];
}

function listed(name: string, inputs: readonly string[]): readonly (readonly [string, string])[] {
  return inputs.map((input, i) => [`${name}[${i}]`, input] as const);
}
