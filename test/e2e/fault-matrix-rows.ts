import type { Json } from "../gateway/gateway.ts";
import { type Answer, jsonAnswer, sseAnswer } from "../upstream/answer.ts";
import {
  badChunkSize,
  endlessBody,
  finAt,
  garbageStatusLine,
  gzipBomb,
  longContentLength,
  manyHeaders,
  redirectTo,
  resetAt,
  truncatedGzip,
  withHeader,
  withoutLastChunk,
} from "../upstream/faults.ts";
import { BEFORE_CONTENT, goodAnswer, SPEECH, type Spoken, streamBytes, streamWith } from "./fault-matrix.ts";

/**
 * Where the next attempts are made, of a model with two credentials at its first provider and one at its second. By
 * these credentials the request is sent when all of the first provider's calls fail.
 */
export const CALLS = {
  /** What the provider may have done, or would refuse anywhere. */
  none: ["a1"],
  /** Any other way. */
  any: ["a1", "a2", "b1"],
  /** Any other way, once. */
  once: ["a1", "a2"],
  route: ["a1", "b1"],
} as const;

/** A fault in place of an answer. */
export interface Row {
  /** Of the catalogue of faults. */
  readonly id: string;
  readonly name: string;
  readonly answer: (spoken: Spoken, stream: boolean) => Answer;
  /** The status and type that the client is told where no way answers. */
  readonly want: readonly [status: number, type: string];
  readonly calls: keyof typeof CALLS;
  /** Of the first way behind it: its state, the failures in a row, and the reason of the last one. */
  readonly state: readonly [state: string, failures: number, reason: string | null];
  readonly only?: "plain" | "stream";
}

export const NEUTRAL = ["healthy", 0, null] as const;
const BROKEN = ["healthy", 1, "reset"] as const;
export const NONE_AT_ALL = ["healthy", 1, "bad_answer"] as const;
export const FAILED = ["healthy", 1, "failed"] as const;
const LIMITED = ["cooling", 0, "rate_limited"] as const;
const CLOSED = ["open", 1, "credential_refused"] as const;

const UPSTREAM = [502, "upstream_error"] as const;
const OVERLOADED = [503, "overloaded_error"] as const;

/** As OpenAI and Groq say that a request alone is more than the credential may use in a minute. */
const BEYOND_LIMIT = {
  type: "tokens",
  code: "rate_limit_exceeded",
  message: "Request too large for up in organization org-1 on tokens per min (TPM): Limit 1, Requested 30.",
};

/** What fares alike. */
type Fate = Pick<Row, "want" | "calls" | "state">;

const RESET: Fate = { want: UPSTREAM, calls: "none", state: BROKEN };
const NO_ANSWER: Fate = { want: UPSTREAM, calls: "none", state: NONE_AT_ALL };
const REFUSED: Fate = { want: [400, "invalid_request_error"], calls: "none", state: NEUTRAL };
const MODERATED: Fate = { want: [400, "content_moderation"], calls: "none", state: NEUTRAL };
const UNACCEPTED: Fate = { want: UPSTREAM, calls: "any", state: CLOSED };
const AGAIN: Fate = { want: UPSTREAM, calls: "once", state: NEUTRAL };
const RATE_LIMITED: Fate = { want: OVERLOADED, calls: "any", state: LIMITED };
const BROKE: Fate = { want: UPSTREAM, calls: "any", state: FAILED };
const BUSY: Fate = { want: OVERLOADED, calls: "any", state: FAILED };
const RESTING: Fate = { want: OVERLOADED, calls: "any", state: ["cooling", 1, "failed"] };

const refusal =
  (status: number, error: Json = { message: "no", type: "t" }, headers: [string, string][] = []) =>
  (): Answer =>
    jsonAnswer(status, { error }, { headers });

const text = (status: number, type: string, body: string): Answer => ({
  status,
  headers: [["content-type", type]],
  body,
});

/** Faults before any content, each for each way of asking. */
export const BEFORE: readonly Row[] = [
  {
    id: "U8",
    name: "reset behind the request",
    answer: (s, t) => resetAt(goodAnswer(s, t), "start"),
    ...RESET,
  },
  {
    id: "U8",
    name: "closed behind the request",
    answer: (s, t) => finAt(goodAnswer(s, t), "start"),
    ...RESET,
  },
  { id: "U8", name: "reset in the head", answer: (s, t) => resetAt(goodAnswer(s, t), "mid-head"), ...RESET },
  { id: "U11", name: "a web page", answer: () => text(200, "text/html", "<p>"), ...NO_ANSWER },
  {
    id: "U11",
    name: "a plain answer to a stream",
    answer: (s) => goodAnswer(s, false),
    ...NO_ANSWER,
    only: "stream",
  },
  {
    id: "U44",
    name: "an error of JSON to a stream",
    answer: () => jsonAnswer(200, { error: { message: "no", code: 500 } }),
    ...BROKE,
    only: "stream",
  },
  { id: "U12", name: "an empty body", answer: (s, t) => ({ ...goodAnswer(s, t), body: "" }), ...NO_ANSWER },
  {
    id: "U13",
    name: "JSON that is none",
    answer: () => text(200, "application/json", '{"choices":['),
    ...NO_ANSWER,
    only: "plain",
  },
  {
    id: "U13",
    name: "a first event that is no JSON",
    answer: (s) => streamWith(s, 0, ["{no" as Json]),
    ...NO_ANSWER,
    only: "stream",
  },
  {
    id: "U14",
    name: "shorter than its length",
    answer: (s, t) => longContentLength(goodAnswer(s, t)),
    ...RESET,
    only: "plain",
  },
  {
    id: "U15",
    name: "JSON of another shape",
    answer: () => jsonAnswer(200, { choices: "x" }),
    ...NO_ANSWER,
    only: "plain",
  },
  {
    id: "U15",
    name: "null",
    answer: () => text(200, "application/json", "null"),
    ...NO_ANSWER,
    only: "plain",
  },
  { id: "U17", name: "400", answer: refusal(400), ...REFUSED },
  { id: "U17", name: "422", answer: refusal(422), ...REFUSED },
  {
    id: "U18",
    name: "400 of moderation",
    answer: refusal(400, { message: "no", code: "content_filter" }),
    ...MODERATED,
  },
  { id: "U18", name: "451", answer: refusal(451), ...MODERATED },
  { id: "U19", name: "401", answer: refusal(401), ...UNACCEPTED },
  { id: "U19", name: "403", answer: refusal(403), ...UNACCEPTED, state: ["cooling", 0, "access_refused"] },
  {
    id: "U19",
    name: "403 of the account",
    answer: refusal(403, { message: "no", code: "account_deactivated" }),
    ...UNACCEPTED,
  },
  { id: "U19", name: "402", answer: refusal(402), ...UNACCEPTED },
  {
    id: "U19",
    name: "429 of the quota",
    answer: refusal(429, { message: "no", code: "insufficient_quota" }),
    ...UNACCEPTED,
  },
  {
    id: "U20",
    name: "404",
    answer: refusal(404),
    want: UPSTREAM,
    calls: "route",
    state: ["cooling", 0, "model_unknown"],
  },
  { id: "U21", name: "408", answer: refusal(408), ...AGAIN },
  { id: "U21", name: "425", answer: refusal(425), ...AGAIN },
  { id: "U21", name: "409", answer: refusal(409), want: UPSTREAM, calls: "none", state: NEUTRAL },
  {
    id: "U22",
    name: "413",
    answer: refusal(413),
    want: [400, "input_too_large"],
    calls: "none",
    state: NEUTRAL,
  },
  ...[413, 429].map((status): Row => ({
    id: status === 413 ? "U22" : "U23",
    name: `${status}, beyond the credential's limit`,
    answer: refusal(status, BEYOND_LIMIT, [["retry-after", "20"]]),
    want: [400, "input_too_large"],
    calls: "any",
    state: NEUTRAL,
  })),
  {
    id: "U23",
    name: "429, Retry-After: 1",
    answer: refusal(429, { message: "no" }, [["retry-after", "1"]]),
    ...RATE_LIMITED,
  },
  { id: "U23", name: "429", answer: refusal(429), ...RATE_LIMITED },
  { id: "U25", name: "500", answer: refusal(500), ...BROKE },
  {
    id: "U26",
    name: "502",
    answer: refusal(502),
    want: UPSTREAM,
    calls: "none",
    state: ["healthy", 1, "bad_gateway"],
  },
  {
    id: "U26",
    name: "504",
    answer: refusal(504),
    want: [504, "timeout_error"],
    calls: "none",
    state: ["healthy", 1, "timed_out"],
  },
  { id: "U27", name: "503", answer: refusal(503), ...BUSY },
  { id: "U27", name: "529", answer: refusal(529), ...BUSY },
  {
    id: "U28",
    name: "503, Retry-After: 999999999",
    answer: refusal(503, { message: "no" }, [["retry-after", "999999999"]]),
    ...RESTING,
  },
  ...["-1", "Wed, 21 Oct 2015 07:28:00 GMT"].map((wish): Row => ({
    id: "U28",
    name: `503, Retry-After: ${wish}`,
    answer: refusal(503, { message: "no" }, [["retry-after", wish]]),
    ...RESTING,
  })),
  {
    id: "U28",
    name: "503, Retry-After: soon",
    answer: refusal(503, { message: "no" }, [["retry-after", "soon"]]),
    ...BUSY,
  },
  ...[301, 302, 307].map((status): Row => ({
    id: "U29",
    name: `${status} to elsewhere`,
    answer: () => redirectTo("http://169.254.169.254/latest", status),
    want: UPSTREAM,
    calls: "none",
    state: ["healthy", 1, "redirected"],
  })),
  {
    id: "U31",
    name: "closed before content",
    answer: (s) => ({
      ...sseAnswer(streamBytes(s, SPEECH[s].events.slice(0, BEFORE_CONTENT[s]))),
      framing: "close",
    }),
    ...NO_ANSWER,
    only: "stream",
  },
  {
    id: "U44",
    name: "an error before content",
    answer: (s) => streamWith(s, BEFORE_CONTENT[s], [SPEECH[s].error("server_error")]),
    ...BROKE,
    only: "stream",
  },
  {
    id: "U44",
    name: "an error in a plain 200",
    answer: () => jsonAnswer(200, { error: { message: "no", code: 500 } }),
    ...NO_ANSWER,
    only: "plain",
  },
  { id: "U45", name: "10,000 headers", answer: (s, t) => manyHeaders(goodAnswer(s, t)), ...RESET },
  {
    id: "U45",
    name: "a header with a bare CR",
    answer: (s, t) => withHeader(goodAnswer(s, t), "x-a", "b\rc"),
    ...RESET,
  },
  {
    id: "U46",
    name: "a body without an end",
    answer: (s, t) => endlessBody({ ...goodAnswer(s, t), body: '{"id":"' }),
    ...NO_ANSWER,
    only: "plain",
  },
  {
    id: "U46",
    name: "a 500 whose body has no end",
    answer: () => endlessBody(refusal(500)()),
    ...BROKE,
  },
  {
    id: "U47",
    name: "a gzip that grows to 80 MB",
    answer: (s, t) => gzipBomb(goodAnswer(s, t), 80 * 1024 * 1024),
    ...NO_ANSWER,
  },
  {
    id: "U47",
    name: "a gzip that ends early",
    answer: (s, t) => truncatedGzip(goodAnswer(s, t)),
    ...RESET,
    only: "plain",
  },
  {
    id: "U48",
    name: "a size of a chunk that is none",
    answer: (s, t) => badChunkSize(goodAnswer(s, t)),
    ...RESET,
  },
  {
    id: "U48",
    name: "no last chunk",
    answer: (s, t) => withoutLastChunk(goodAnswer(s, t)),
    ...RESET,
    only: "plain",
  },
  {
    id: "U48",
    name: "a status line that is none",
    answer: (s, t) => garbageStatusLine(goodAnswer(s, t)),
    ...RESET,
  },
  {
    id: "U61",
    name: "a 400 that quotes the credential",
    answer: refusal(400, { message: "no: a1-0123456789" }),
    ...REFUSED,
  },
  {
    id: "U61",
    name: "a 500 that quotes the prompt",
    answer: refusal(500, { message: "cannot answer 'Say hello.' of sk-0123456789" }),
    ...BROKE,
  },
];
