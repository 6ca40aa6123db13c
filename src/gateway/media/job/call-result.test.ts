import { describe, expect, test } from "bun:test";
import { refused, unknownJob, working } from "../../../../test/gateway/scripted-maker.ts";
import { GatewayError } from "../../../core/errors.ts";
import type { MediaStep } from "../../../providers/media.ts";
import { resultOfError, resultOfStep } from "./call-result.ts";

const RANDOM = { bytes: (count: number) => new Uint8Array(count) };
const failed = (members: object): object => ({ kind: "failed", blame: "credential", ...members });

describe("an attempt's answer says of its route", () => {
  const rows: readonly (readonly [string, MediaStep, number, object])[] = [
    ["that it is well: taken", working(), 200, { kind: "ok" }],
    ["that it is well: made", { state: "done", outputs: [] }, 200, { kind: "ok" }],
    ...(["moderation", "invalid_request", "input_too_large", "failed"] as const).map(
      (reason) => [`nothing: ${reason}`, refused(reason), 400, { kind: "neutral" }] as const,
    ),
    [
      "that the credential is limited",
      refused("busy"),
      429,
      failed({ reason: "rate_limited", status: 429, cools: true }),
    ],
    [
      "the same by a good status, and for how long",
      refused("busy", { retryAfterMs: 90_000 }),
      200,
      failed({ reason: "rate_limited", status: 429, cools: true, retryAfterMs: 60_000 }),
    ],
    ["that the server is out of order", refused("busy"), 503, failed({ reason: "failed", status: 503 })],
    [
      "that the credential is not accepted",
      refused("operator_fault"),
      401,
      failed({ reason: "credential_refused", status: 401, opens: true }),
    ],
    [
      "that the model is not open to the credential, which may serve others",
      refused("operator_fault"),
      403,
      failed({ reason: "credential_refused", status: 403, cools: true, retryAfterMs: 60_000 }),
    ],
    [
      "that the model is not known",
      refused("operator_fault"),
      404,
      { kind: "failed", blame: "route", reason: "model_unknown", status: 404 },
    ],
    [
      "that it leads elsewhere",
      refused("operator_fault"),
      307,
      failed({ reason: "redirected", status: 307 }),
    ],
    ["that its server failed", refused("unclear"), 500, failed({ reason: "failed", status: 500 })],
    ["that its edge failed", refused("unclear"), 502, failed({ reason: "bad_gateway", status: 502 })],
    ["nothing: a conflict", refused("unclear"), 409, { kind: "neutral" }],
    ["that it makes no sense", refused("unclear"), 200, failed({ reason: "bad_answer" })],
    ["that it makes no sense: no job", unknownJob, 200, failed({ reason: "bad_answer" })],
  ];
  for (const [name, step, status, want] of rows)
    test(name, () => expect(resultOfStep(step, status, RANDOM)).toEqual(want as never));
});

describe("an attempt without an answer says of its route", () => {
  const broken = (code: string): GatewayError =>
    new GatewayError("upstream_error", "It broke.", { cause: Object.assign(new Error("no"), { code }) });
  const rows: readonly (readonly [string, Error, object])[] = [
    ["that nobody is there", broken("ECONNREFUSED"), failed({ reason: "not_sent" })],
    ["that it broke", broken("ECONNRESET"), failed({ reason: "reset" })],
    ["that it cannot show who it is", broken("CERT_HAS_EXPIRED"), failed({ reason: "untrusted" })],
    ["that it is silent", new GatewayError("timeout_error", "No."), failed({ reason: "timed_out" })],
    ["nothing: an input is too large", new GatewayError("input_too_large", "No."), { kind: "neutral" }],
    ["nothing: a mistake of ours", new Error("x"), { kind: "neutral" }],
  ];
  for (const [name, error, want] of rows)
    test(name, () => expect(resultOfError(error, RANDOM)).toEqual(want as never));
});
