import type { ServerEnd } from "../../translate.ts";
import { responses } from "../index.ts";
import type { ResponsesRequest } from "../request.ts";
import { decodeRequest } from "./decode-request.ts";
import { encodeAnswer } from "./encode-answer.ts";
import { openEncoder } from "./encode-events.ts";

/** Responses, as a format that other providers' models are asked in. */
export const responsesServer: ServerEnd = {
  protocol: responses,
  // A request only ever comes back to the protocol that read it.
  decodeRequest: (request) => decodeRequest(request as ResponsesRequest),
  encodeAnswer,
  openEncoder,
};
