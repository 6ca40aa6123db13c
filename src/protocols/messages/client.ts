import type { ClientEnd } from "../translate.ts";
import { limits } from "./chat-limits.ts";
import { decodeAnswer, openDecoder } from "./decode-events.ts";
import { encodeRequest } from "./encode-request.ts";
import { messages } from "./index.ts";
import { readWritten } from "./request.ts";

/** The format as one that providers are called in for clients of another. */
export const messagesClient: ClientEnd = {
  protocol: messages,
  limits,
  encodeRequest,
  readWritten: (body, address) => readWritten({ ...body, ...address }),
  decodeAnswer,
  openDecoder,
};
