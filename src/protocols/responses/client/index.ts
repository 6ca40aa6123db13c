import type { ClientEnd } from "../../translate.ts";
import { responses } from "../index.ts";
import { readWritten } from "../request.ts";
import { takesAllTools } from "../target.ts";
import { decodeAnswer, openDecoder } from "./decode-answer.ts";
import { encodeRequest, limits } from "./encode-request.ts";

/** The format as one that providers are called in for clients of another. */
export const responsesClient: ClientEnd = {
  protocol: responses,
  limits,
  hasNoStops: true,
  canSearch: () => true,
  takesCustomTools: takesAllTools,
  encodeRequest,
  readWritten: (body, address, carrier) => readWritten({ ...body, ...address }, carrier),
  decodeAnswer,
  openDecoder,
};
