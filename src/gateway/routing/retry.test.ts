import { describe, expect, test } from "bun:test";
import { ANSWER_CONTEXT } from "../../../test/protocols/answer-context.ts";
import { GatewayError } from "../../core/errors.ts";
import type { AnswerContext } from "../../protocols/protocol.ts";
import { readErrorObject, readRefusal } from "../../protocols/refusal.ts";
import { NotSent } from "../../providers/sending.ts";
import { type Answered, readFailure, retryOf, type RetryTerms } from "./retry.ts";
import { UNSAFE_RETRIES, type UnsafeRetry } from "./settings.ts";

const CONTEXT: AnswerContext = { ...ANSWER_CONTEXT };

const most = { bytes: (count: number) => new Uint8Array(count).fill(255) };
const least = { bytes: (count: number) => new Uint8Array(count) };
const SAFE: RetryTerms = { unsafeRetries: new Set(), retries: 0, random: most };

const refusal = (
  status: number,
  body: unknown = {},
  retryAfter: string | null = null,
  context = CONTEXT,
): GatewayError =>
  readRefusal({ status, body: new TextEncoder().encode(JSON.stringify(body)), retryAfter }, context);
const unanswered = (code?: string): GatewayError =>
  new GatewayError("upstream_error", "The provider could not be reached.", {
    cause: Object.assign(new Error("x"), code === undefined ? {} : { code }),
  });
const late = new GatewayError("timeout_error", "The provider did not answer in time.");
const said = (error: object): GatewayError => readErrorObject(error, CONTEXT);

const STREAM: Answered = { status: 200, stream: true };
const PLAIN: Answered = { status: 200, stream: false };
const at = (status: number): Answered => ({ status, stream: false });

interface Row {
  readonly name: string;
  readonly error: unknown;
  readonly answer?: Answered;
  readonly reason: string;
  readonly where: string;
  /** Absent: the way is not blamed. */
  readonly blame?: "credential" | "route";
  readonly more?: object;
}

const BLAMED = { blame: "credential", where: "anywhere" } as const;
const NOBODY = { reason: "not_theirs", where: "nowhere" } as const;

/** As OpenAI says it. */
const TOO_LARGE = {
  type: "tokens",
  code: "rate_limit_exceeded",
  message:
    "Request too large for gpt-5.6 in organization org-1 on tokens per min (TPM): Limit 1, Requested 30.",
};

const ROWS: readonly Row[] = [
  ...["ENOTFOUND", "ConnectionRefused", "EHOSTUNREACH"].map((code) => ({
    name: `no connection: ${code}`,
    error: unanswered(code),
    reason: "not_sent",
    ...BLAMED,
  })),
  {
    name: "no connection in its time",
    error: new GatewayError("timeout_error", "x", { cause: new NotSent() }),
    reason: "send_timed_out",
    where: "other_route",
    blame: "credential",
  },
  {
    name: "a certificate that cannot be trusted",
    error: unanswered("DEPTH_ZERO_SELF_SIGNED_CERT"),
    reason: "untrusted",
    where: "other_route",
    blame: "credential",
  },
  {
    name: "a redirect",
    error: new GatewayError("upstream_error", "A redirect.", { operatorFault: true }),
    answer: at(302),
    reason: "redirected",
    where: "nowhere",
    blame: "credential",
    more: { status: 302 },
  },
  ...[401, 402].map((status) => ({
    name: `${status}`,
    error: refusal(status),
    answer: at(status),
    reason: "credential_refused",
    where: "other_credential",
    blame: "credential" as const,
    more: { status, opens: true },
  })),
  {
    name: "403",
    error: refusal(403),
    answer: at(403),
    reason: "access_refused",
    where: "other_credential",
    blame: "credential",
    more: { status: 403, cools: true },
  },
  {
    name: "a model that is not known to this credential",
    error: refusal(403, { error: { code: "model_not_found" } }),
    answer: at(403),
    reason: "access_refused",
    where: "other_credential",
    blame: "credential",
    more: { status: 403, cools: true },
  },
  {
    name: "a key of a suspended account, as a 403",
    error: refusal(403, {
      error: { status: "PERMISSION_DENIED", details: [{ reason: "CONSUMER_SUSPENDED" }] },
    }),
    answer: at(403),
    reason: "credential_refused",
    where: "other_credential",
    blame: "credential",
    more: { status: 403, opens: true },
  },
  ...[403, 404].map((status) => ({
    name: `${status} to a request that names a stored file`,
    error: refusal(status, {}, null, { ...CONTEXT, namesStored: true }),
    answer: at(status),
    ...NOBODY,
  })),
  {
    name: "a quota that is used up, as a 429",
    error: refusal(429, { error: { code: "insufficient_quota" } }),
    answer: at(429),
    reason: "credential_refused",
    where: "other_credential",
    blame: "credential",
    more: { status: 429, opens: true },
  },
  {
    name: "404",
    error: refusal(404),
    answer: at(404),
    reason: "model_unknown",
    where: "other_route",
    blame: "route",
    more: { status: 404 },
  },
  {
    name: "a model that is gone, as a 400",
    error: refusal(400, { error: { code: "model_decommissioned" } }),
    answer: at(400),
    reason: "model_unknown",
    where: "other_route",
    blame: "route",
    more: { status: 400 },
  },
  ...[408, 425].map((status) => ({
    name: `${status}`,
    error: refusal(status),
    answer: at(status),
    reason: "try_again",
    where: "anywhere",
  })),
  {
    name: "429",
    error: refusal(429),
    answer: at(429),
    reason: "rate_limited",
    ...BLAMED,
    more: { status: 429, cools: true },
  },
  {
    name: "429 with Retry-After",
    error: refusal(429, {}, "3"),
    answer: at(429),
    reason: "rate_limited",
    ...BLAMED,
    more: { status: 429, cools: true, retryAfterMs: 3_000 },
  },
  ...[500, 503, 521, 523, 525, 526, 529].map((status) => ({
    name: `${status}`,
    error: refusal(status),
    answer: at(status),
    reason: "failed",
    ...BLAMED,
    more: { status },
  })),
  {
    name: "503 whose body broke off",
    error: unanswered("ECONNRESET"),
    answer: at(503),
    reason: "failed",
    ...BLAMED,
    more: { status: 503 },
  },
  ...[
    [{ type: "overloaded_error" }, {}],
    [{ type: "api_error" }, {}],
    [{ message: "x", code: 502 }, { status: 502 }],
    [{ message: "x", code: 504 }, { status: 504 }],
  ].map(([error = {}, more = {}]) => ({
    name: `an error event before content: ${JSON.stringify(error)}`,
    error: said(error),
    answer: STREAM,
    reason: "failed",
    ...BLAMED,
    more,
  })),
  {
    name: "an error event before content that limits the rate",
    error: said({ type: "rate_limit_error" }),
    answer: STREAM,
    reason: "rate_limited",
    ...BLAMED,
    more: { status: 429, cools: true },
  },
  { name: "400", error: refusal(400), answer: at(400), ...NOBODY },
  { name: "413", error: refusal(413), answer: at(413), ...NOBODY },
  { name: "422", error: refusal(422), answer: at(422), ...NOBODY },
  { name: "409", error: refusal(409), answer: at(409), ...NOBODY },
  {
    name: "moderation, as a 403",
    error: refusal(403, { error: { code: "content_filter" } }),
    answer: at(403),
    ...NOBODY,
  },
  {
    name: "moderation, as an error event",
    error: said({ code: "content_filter" }),
    answer: STREAM,
    ...NOBODY,
  },
  ...[
    ...[413, 429].map(
      (status) => [`a ${status}`, refusal(status, { error: TOO_LARGE }, "20"), at(status)] as const,
    ),
    ["an error event", said(TOO_LARGE), STREAM] as const,
  ].map(([how, error, answer]) => ({
    name: `a request that alone is more than the credential may use in a minute: ${how}`,
    error,
    answer,
    reason: "beyond_limit",
    where: "other_credential",
  })),
  {
    name: "a limit that quotes such a sentence",
    error: refusal(429, { error: { ...TOO_LARGE, message: `Rate limit reached. ${TOO_LARGE.message}` } }),
    answer: at(429),
    reason: "rate_limited",
    ...BLAMED,
    more: { status: 429, cools: true },
  },
  { name: "a refusal by the gateway itself", error: new GatewayError("overloaded_error", "x"), ...NOBODY },
  { name: "what is no refusal at all", error: new TypeError("x"), answer: PLAIN, ...NOBODY },
];

/** Failures after which the provider may have done the work, each with what allows their retry. */
const UNSAFE: readonly (Omit<Row, "where" | "blame"> & { readonly by: UnsafeRetry })[] = [
  { name: "a reset after sending", error: unanswered("ECONNRESET"), reason: "reset", by: "reset" },
  { name: "a failure that nobody can explain", error: unanswered(), reason: "reset", by: "reset" },
  {
    name: "an answer that broke off",
    error: unanswered("ECONNRESET"),
    answer: PLAIN,
    reason: "reset",
    by: "reset",
  },
  {
    name: "502",
    error: refusal(502),
    answer: at(502),
    reason: "bad_gateway",
    by: 502,
    more: { status: 502 },
  },
  ...[520, 522, 527, 530].map((status) => ({
    name: `${status}`,
    error: refusal(status),
    answer: at(status),
    reason: "bad_gateway",
    by: 502 as const,
    more: { status },
  })),
  ...[504, 524].map((status) => ({
    name: `${status}`,
    error: refusal(status),
    answer: at(status),
    reason: "timed_out",
    by: 504 as const,
    more: { status },
  })),
  { name: "the gateway's time limit before an answer", error: late, reason: "timed_out", by: 504 },
  {
    name: "the gateway's time limit within one",
    error: late,
    answer: STREAM,
    reason: "timed_out",
    by: 504,
  },
  {
    name: "a 200 that is no answer",
    error: new GatewayError("upstream_error", "No model answer."),
    answer: PLAIN,
    reason: "bad_answer",
    by: "bad_answer",
  },
  {
    name: "an answer that is too large",
    error: new GatewayError("upstream_error", "The provider's answer is too large."),
    answer: PLAIN,
    reason: "bad_answer",
    by: "bad_answer",
  },
  {
    name: "a failure within a plain 200",
    error: said({ message: "x", code: 500 }),
    answer: PLAIN,
    reason: "bad_answer",
    by: "bad_answer",
    more: { status: 500 },
  },
  {
    name: "a limit of the rate within a plain 200",
    error: said({ message: "x", code: 429 }),
    answer: PLAIN,
    reason: "rate_limited",
    by: "bad_answer",
    more: { status: 429, cools: true },
  },
];

describe("where the next attempt may be made, and who is to blame", () => {
  const everything = new Set(UNSAFE_RETRIES);
  for (const { name, error, answer, reason, where, blame, more } of ROWS)
    test(`${name}: ${where}`, () => {
      const result = blame === undefined ? { kind: "neutral" } : { kind: "failed", blame, reason, ...more };
      for (const unsafeRetries of [SAFE.unsafeRetries, everything])
        expect(retryOf(readFailure(error, answer), { ...SAFE, unsafeRetries })).toMatchObject({
          reason,
          where,
          passes: where === "anywhere" || reason === "send_timed_out",
          result,
        });
    });

  for (const { name, error, answer, reason, by, more } of UNSAFE)
    test(`${name}: nowhere, unless the operator allows ${by}`, () => {
      const failure = readFailure(error, answer);
      const result = { kind: "failed", blame: "credential", reason, ...more } as const;
      const others = new Set(UNSAFE_RETRIES.filter((allowed) => allowed !== by));
      expect(retryOf(failure, { ...SAFE, unsafeRetries: others })).toEqual({
        reason: reason as never,
        where: "nowhere",
        passes: true,
        result,
      });
      expect(retryOf(failure, { ...SAFE, unsafeRetries: new Set([by]) })).toMatchObject({
        where: "anywhere",
        result,
      });
    });

  test("a balance that is used up, within a plain 200: nowhere, unless the operator allows bad_answer", () => {
    const failure = readFailure(
      said({ message: "x", type: "base_resp", code: "base_resp:1008", status: 402 }),
      PLAIN,
    );
    const allowed = new Set(["bad_answer"] as const);
    for (const [unsafeRetries, where] of [
      [SAFE.unsafeRetries, "nowhere"],
      [allowed, "other_credential"],
    ] as const)
      expect(retryOf(failure, { ...SAFE, unsafeRetries })).toMatchObject({
        reason: "credential_refused",
        where,
        result: { blame: "credential", opens: true },
      });
  });

  test("408 and 425 are retried once", () => {
    for (const status of [408, 425])
      expect(retryOf(readFailure(refusal(status), at(status)), { ...SAFE, retries: 1 }).where).toBe(
        "nowhere",
      );
  });
});

describe("how long the same way is left alone", () => {
  const waits = (error: GatewayError, status: number, terms: Partial<RetryTerms> = {}): unknown[] =>
    [0, 1, 2, 3, 4, 5, 60].map(
      (retries) => retryOf(readFailure(error, at(status)), { ...SAFE, ...terms, retries }).waitMs,
    );

  test("up to 100 ms at first, twice as long each time, at most 2 s: anything below that", () => {
    expect(waits(refusal(500), 500)).toEqual([100, 200, 400, 800, 1_600, 2_000, 2_000]);
    expect(waits(refusal(500), 500, { random: least })).toEqual([0, 0, 0, 0, 0, 0, 0]);
  });

  test("as long as the provider asks, up to 5 s; beyond that it is not tried again", () => {
    expect(waits(refusal(503, {}, "2"), 503, { random: least })).toEqual(Array(7).fill(2_000));
    expect(waits(refusal(429, {}, "5"), 429)).toEqual(Array(7).fill(5_000));
    expect(waits(refusal(429, {}, "6"), 429)).toEqual(Array(7).fill(undefined));
  });

  test("for good, where another way is needed", () => {
    for (const status of [401, 404]) expect(waits(refusal(status), status)).toEqual(Array(7).fill(undefined));
  });
});
