import { isDataUri } from "../../../core/data-uri.ts";
import type { MediaRequest } from "../../../core/media.ts";
import { leadsOutside } from "../../fetch/target.ts";
import { notTaken } from "./model.ts";

/**
 * Refuses links that lead to private hosts: no provider could follow them, and we must not. Nothing is asked for here, so
 * a name that has such an address is found out when it is fetched. Throws a 400 that names the field.
 */
export function checkLinks(request: MediaRequest, allowedHosts: readonly string[]): void {
  for (const [path, input] of inputsOf(request)) {
    if (input === undefined || isDataUri(input) || leadsOutside(input, allowedHosts)) continue;
    throw notTaken(`${path} must lead to a public host, written plainly.`, path);
  }
}

/** What a request brings, each beside the path of the field that it came by. */
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
