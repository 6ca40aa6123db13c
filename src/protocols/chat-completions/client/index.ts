import type { ClientEnd } from "../../translate.ts";
import { chatCompletions } from "../index.ts";
import { readWritten } from "../request.ts";
import { decodeAnswer, openDecoder } from "./decode-answer.ts";
import { encodeRequest, limits } from "./encode-request.ts";

/** The format as one that providers are called in for clients of another. */
export const chatCompletionsClient: ClientEnd = {
  protocol: chatCompletions,
  limits,
  // A server of which nothing is known may not have them, and every one has functions.
  takesCustomTools: ({ native, chat }) => native && chat?.customTools === true,
  encodeRequest,
  readWritten: (body, address) => readWritten({ ...body, ...address }),
  decodeAnswer,
  openDecoder,
};
