import type { ServerEnd } from "../../translate.ts";
import { generateContent } from "../index.ts";
import type { GenerateContentRequest } from "../request.ts";
import { decodeRequest } from "./decode-request.ts";
import { encodeAnswer } from "./encode-answer.ts";
import { openEncoder } from "./encode-events.ts";

/** generateContent, as a format that other providers' models are asked in. */
export const generateContentServer: ServerEnd = {
  protocol: generateContent,
  // A request only ever comes back to the protocol that read it.
  decodeRequest: (request) => decodeRequest(request as GenerateContentRequest),
  encodeAnswer,
  openEncoder,
};
