import type { ClientEnd } from "../../translate.ts";
import { decodeAnswer, openDecoder } from "./decode-events.ts";
import { encodeRequest, ONE_ANSWER, UNTAKEN } from "./encode-request.ts";
import { effortsOf } from "./encode-thinking.ts";
import { canSearch } from "./encode-tools.ts";
import { messages } from "../index.ts";
import { readWritten } from "../request.ts";

/** The format as one that providers are called in for clients of another. */
export const messagesClient: ClientEnd = {
  protocol: messages,
  limits: (model) => ({
    untaken: [...UNTAKEN, "allowedTools", "logprobs"],
    mostChoices: ONE_ANSWER,
    efforts: [...(model.thinking?.canBeOff === false ? [] : (["none"] as const)), ...effortsOf(model)],
  }),
  canSearch,
  encodeRequest,
  readWritten: (body, address) => readWritten({ ...body, ...address }),
  decodeAnswer,
  openDecoder,
};
