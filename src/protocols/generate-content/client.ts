import type { ClientEnd } from "../translate.ts";
import { limits } from "./chat-limits.ts";
import { decodeAnswer, openDecoder } from "./decode-answer.ts";
import { encodeRequest } from "./encode-request.ts";
import { generateContent } from "./index.ts";
import { readWritten } from "./request.ts";

/** The format as one that providers are called in for clients of another. */
export const generateContentClient: ClientEnd = {
  protocol: generateContent,
  limits,
  encodeRequest,
  readWritten,
  decodeAnswer,
  openDecoder,
};
