import { MOST_CONTENT_STOPS } from "../../catalog/parameter-tables/generate-content.ts";
import type { ClientEnd } from "../translate.ts";
import { decodeAnswer, openDecoder } from "./decode-answer.ts";
import { encodeRequest, makesImages, mostCandidates } from "./encode-request.ts";
import { effortsOf } from "./encode-thinking.ts";
import { generateContent } from "./index.ts";
import { readWritten } from "./request.ts";

/** The format as one that providers are called in for clients of another. */
export const generateContentClient: ClientEnd = {
  protocol: generateContent,
  limits: (model) => ({
    untaken: ["parallelToolCalls", "seed", "user", ...(makesImages(model) ? [] : (["image"] as const))],
    mostChoices: mostCandidates(model),
    mostStops: MOST_CONTENT_STOPS,
    efforts: effortsOf(model),
  }),
  encodeRequest,
  readWritten,
  decodeAnswer,
  openDecoder,
};
