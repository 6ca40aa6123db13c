import type { ServerEnd } from "../../translate.ts";
import { messages } from "../index.ts";
import type { MessagesRequest } from "../request.ts";
import { decodeRequest } from "./decode-request.ts";
import { encodeAnswer } from "./encode-answer.ts";
import { openEncoder } from "./encode-events.ts";

/** Messages, as a format that other providers' models are asked in. */
export const messagesServer: ServerEnd = {
  protocol: messages,
  // A request only ever comes back to the protocol that read it.
  decodeRequest: (request) => decodeRequest(request as MessagesRequest),
  encodeAnswer,
  openEncoder,
};
