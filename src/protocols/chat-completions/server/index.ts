import type { ServerEnd } from "../../translate.ts";
import { decodeRequest } from "./decode-request.ts";
import { encodeAnswer } from "./encode-answer.ts";
import { openEncoder } from "./encode-events.ts";
import { chatCompletions } from "../index.ts";
import type { ChatRequest } from "../request.ts";

/** Chat completions, as a format that other providers' models are asked in. */
export const chatCompletionsServer: ServerEnd = {
  protocol: chatCompletions,
  // A request only ever comes back to the protocol that read it.
  decodeRequest: (request) => decodeRequest(request as ChatRequest),
  encodeAnswer,
  openEncoder,
};
