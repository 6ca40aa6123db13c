import type { RelayProtocol } from "../protocol.ts";
import { readRefusal } from "../refusal.ts";
import { readAnswer } from "./answer.ts";
import { encodeError, ErrorSchema } from "./error-body.ts";
import { type GenerateContentRequest, readRequest } from "./request.ts";
import { openStream } from "./relay.ts";
import { unsigned } from "./unsigned.ts";
import { upstreamBody } from "./upstream-body.ts";

/** Gemini's generateContent, as a format that is relayed. */
export const generateContent: RelayProtocol = {
  id: "compat_generate_content",
  upstreamPath: (id, stream) =>
    `/v1beta/models/${id}:${stream ? "streamGenerateContent?alt=sse" : "generateContent"}`,
  credentialHeaders: (apiKey) => (apiKey === undefined ? {} : { "x-goog-api-key": apiKey }),
  readRequest,
  // A request only ever comes back to the protocol that read it.
  upstreamBody: (request, target, names) => upstreamBody(request as GenerateContentRequest, target, names),
  readAnswer,
  openStream,
  unsigned,
  readRefusal,
  encodeError,
  errorSchema: ErrorSchema,
  // Google's API has no such headers: a client learns of a limit by its 429, whose `details` say how long to wait.
  limitHeaders: () => ({}),
};
