import { MOST_CONTENT_STOPS } from "../../../catalog/parameter-tables/generate-content.ts";
import { givesImages } from "../../../catalog/parameter-tables/parameter.ts";
import type { ClientEnd } from "../../translate.ts";
import { decodeAnswer, openDecoder } from "./decode-answer.ts";
import { encodeRequest, mostCandidates, UNTAKEN } from "./encode-request.ts";
import { effortsOf } from "./encode-thinking.ts";
import { canSearch } from "./encode-tools.ts";
import { generateContent } from "../index.ts";
import { readWritten } from "../request.ts";

/** The format as one that providers are called in for clients of another. */
export const generateContentClient: ClientEnd = {
  protocol: generateContent,
  limits: (model) => ({
    untaken: [
      "parallelToolCalls",
      ...UNTAKEN,
      "allowedTools",
      ...(givesImages(model) ? [] : (["image"] as const)),
    ],
    mostChoices: mostCandidates(model),
    mostStops: MOST_CONTENT_STOPS,
    efforts: effortsOf(model),
  }),
  canSearch,
  encodeRequest,
  readWritten,
  decodeAnswer,
  openDecoder,
};
