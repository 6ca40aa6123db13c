import type { RelayProtocol } from "../protocol.ts";
import { readRefusal } from "../refusal.ts";
import { readAnswer } from "./answer.ts";
import { encodeError, ErrorSchema } from "./error-body.ts";
import { limitHeaders } from "./limit-headers.ts";
import { type MessagesRequest, readRequest } from "./request.ts";
import { openStream } from "./relay.ts";
import { unsigned } from "./unsigned.ts";
import { upstreamBody } from "./upstream-body.ts";

/** The version that is asked for: https://platform.claude.com/docs/en/api/versioning */
const VERSION = "2023-06-01";

/** Messages, as a format that is relayed. */
export const messages: RelayProtocol = {
  id: "compat_messages",
  upstreamPath: () => "/v1/messages",
  credentialHeaders: (apiKey) => ({
    "anthropic-version": VERSION,
    ...(apiKey === undefined ? {} : { "x-api-key": apiKey }),
  }),
  readRequest,
  // A request only ever comes back to the protocol that read it.
  upstreamBody: (request, target, names) => upstreamBody(request as MessagesRequest, target, names),
  readAnswer,
  openStream,
  unsigned,
  readRefusal,
  encodeError,
  errorSchema: ErrorSchema,
  limitHeaders,
};
