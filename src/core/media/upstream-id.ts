import type { MediaRequest } from "./media.ts";

const BRACES = /\{([^{}]*)\}/g;

/**
 * What a provider calls the model for this request. Some have a name for each way to ask: from text alone, from images
 * (to edit, or frames of a video), from references. The part that differs then stands in braces in that order, as
 * `first|second|third`. Where fewer are named the last stands for the rest.
 */
export function upstreamIdFor(upstreamId: string, request: MediaRequest): string {
  return upstreamId.replace(BRACES, (_, ways: string) => {
    const names = ways.split("|");
    return names[Math.min(wayOf(request), names.length - 1)] as string;
  });
}

/** Every name by which a provider calls the model. */
export function upstreamIds(upstreamId: string): readonly string[] {
  const [found] = upstreamId.matchAll(BRACES);
  if (found === undefined) return [upstreamId];
  const [braces, ways = ""] = found;
  return ways.split("|").flatMap((way) => upstreamIds(upstreamId.replace(braces, way)));
}

function wayOf(request: MediaRequest): 0 | 1 | 2 {
  if (request.kind === "image") return request.images.length > 0 ? 1 : 0;
  if (request.firstFrame !== undefined || request.lastFrame !== undefined) return 1;
  return request.referenceImages.length > 0 || request.referenceVideos.length > 0 ? 2 : 0;
}
