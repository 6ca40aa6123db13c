import { describe, expect, test } from "bun:test";
import { type Json, UPSTREAM_KEY } from "../gateway/gateway.ts";
import { jsonAnswer } from "../upstream/answer.ts";
import type { Fault, WorkScript } from "../upstream/media/media-double.ts";
import {
  ask,
  type Asked,
  balanceOf,
  ended,
  gemini,
  gpt,
  isVideo,
  journey,
  openStations,
  qwen,
  seedance,
  told,
  type Vendor,
  wan,
} from "./media-vendors.ts";

// What becomes of each vendor's refusals, told in its own form. What the client is to blame for is told to the client.
// What only the operator can mend is told to the operator alone. What surely did not begin is sent again.

const stationOf = openStations(20);

/** How a refusal is told: by the type of the client's error, with an alarm for the operator, or not at all. */
type Told = "content_moderation" | "invalid_request_error" | "input_too_large" | "failure" | "alarm" | "made";

interface Refusal {
  readonly via: Vendor;
  readonly name: string;
  readonly asked: Asked;
  /** In place of the answers to the next submissions. */
  readonly faults?: readonly Fault[];
  /** How the work ends that was taken. */
  readonly fails?: WorkScript["fails"];
}

const instead = (status: number, body: unknown): Fault => ({ instead: jsonAnswer(status, body) });
const fails = (code: string, message = "No."): Pick<Refusal, "fails"> => ({ fails: { code, message } });
const faults = (...all: readonly Fault[]): Pick<Refusal, "faults"> => ({ faults: all });

const openaiSays = (status: number, code: string): Fault =>
  instead(status, { error: { message: "No.", type: "x", param: null, code } });
const googleSays = (code: number, status: string, detail: object = {}, message = "No."): Fault =>
  instead(code, { error: { code, message, status, details: [detail] } });
const dashscopeSays = (status: number, code: string): Fault =>
  instead(status, { code, message: "No.", request_id: "r" });
const arkSays = (status: number, code: string): Fault => instead(status, { error: { code, message: "No." } });
const proxySays = (code: number): Fault => instead(200, { code, description: "No." });
const falSays = (type: string): Fault => instead(422, { detail: [{ loc: [], msg: "No.", type }] });
const waveSays = (code: number, message = "No."): Fault => instead(code, { code, message });

const onGpt = { via: "openai", asked: { ...gpt, n: 1 } } as const;
const onGemini = { via: "google", asked: gemini } as const;
const onQwen = { via: "dashscope", asked: { ...qwen, n: 1 } } as const;
const onWan = { via: "dashscope", asked: wan } as const;
const onJourney = { via: "midjourney", asked: journey } as const;
const onSeedance = { via: "ark", asked: seedance } as const;
const onFal = { via: "fal", asked: { ...qwen, n: 1 } } as const;
const onWave = { via: "wavespeed", asked: { ...qwen, n: 1 } } as const;

const REFUSALS: Readonly<Record<Told, readonly Refusal[]>> = {
  content_moderation: [
    { ...onGpt, name: "moderation", ...faults(openaiSays(400, "moderation_blocked")) },
    { ...onGemini, name: "a blocked prompt", ...fails("PROMPT_SAFETY") },
    { ...onGemini, name: "a blocked image", ...fails("IMAGE_SAFETY") },
    { ...onQwen, name: "moderation", ...faults(dashscopeSays(400, "DataInspectionFailed")) },
    { ...onWan, name: "moderation", ...faults(dashscopeSays(400, "IPInfringementSuspect")) },
    { ...onWan, name: "moderation at work", ...fails("DataInspectionFailed") },
    { ...onJourney, name: "a banned word", ...faults(proxySays(24)) },
    { ...onJourney, name: "moderation at work", ...fails("", "Banned prompt detected") },
    { ...onSeedance, name: "moderation", ...faults(arkSays(400, "InputTextSensitiveContentDetected")) },
    {
      ...onSeedance,
      name: "moderation at work",
      ...fails("OutputVideoSensitiveContentDetected.PolicyViolation"),
    },
    { ...onFal, name: "moderation", ...faults(falSays("content_policy_violation")) },
    { ...onFal, name: "moderation at work", asked: wan, ...fails("content_policy_violation") },
    { ...onWave, name: "moderation", ...faults(waveSays(400, "Content policy violation")) },
    { ...onWave, name: "moderation at work", asked: wan, ...fails("", "Flagged by safety checker: NSFW") },
  ],
  invalid_request_error: [
    { ...onGpt, name: "a wrong value", ...faults(openaiSays(400, "invalid_value")) },
    { ...onGemini, name: "a wrong value", ...faults(googleSays(400, "INVALID_ARGUMENT")) },
    {
      ...onQwen,
      name: "a file that could not be inspected",
      ...faults(dashscopeSays(400, "InvalidParameter.DataInspection")),
    },
    { ...onJourney, name: "a wrong value", ...faults(proxySays(4)) },
    { ...onSeedance, name: "a wrong value", ...faults(arkSays(400, "InvalidParameter")) },
    { ...onFal, name: "an input that cannot be loaded", ...fails("image_load_error") },
    {
      ...onGpt,
      name: "a file that may not be read",
      ...faults(instead(403, { error: { message: "No.", param: "images[0].image_url", code: null } })),
    },
    {
      ...onFal,
      name: "a file that is not there",
      ...faults(instead(404, { detail: [{ loc: ["body", "image_url"], msg: "No.", type: "novel" }] })),
    },
    {
      ...onWave,
      name: "a file that is not there",
      ...faults(instead(200, { code: 1402, message: "No." })),
    },
    { ...onWave, name: "a wrong value", ...faults(waveSays(400)) },
  ],
  input_too_large: [
    { ...onGpt, name: "a prompt that is too long", ...faults(openaiSays(400, "string_above_max_length")) },
    { ...onQwen, name: "a body that is too large", ...faults(dashscopeSays(400, "BadRequest.TooLarge")) },
    { ...onFal, name: "an image that is too large", ...faults(falSays("image_too_large")) },
    { ...onWave, name: "a body that is too large", ...faults(waveSays(413)) },
  ],
  failure: [
    { ...onGemini, name: "no image", ...fails("NO_IMAGE") },
    { ...onWan, name: "a failure", ...fails("InternalError") },
    { ...onJourney, name: "a failure", ...fails("", "Timed out") },
    { ...onSeedance, name: "a failure", ...fails("InternalServiceError") },
    { ...onFal, name: "a failure", ...fails("downstream_service_error") },
    { ...onFal, name: "a server that was lost", ...fails("runner_disconnected") },
    { ...onWave, name: "a failure", ...fails("", "CUDA") },
  ],
  alarm: [
    { ...onGpt, name: "a wrong key", ...faults(openaiSays(401, "invalid_api_key")) },
    { ...onGpt, name: "no quota", ...faults(openaiSays(429, "insufficient_quota")) },
    { ...onGpt, name: "a limit on billing", ...faults(openaiSays(400, "billing_hard_limit_reached")) },
    {
      ...onGemini,
      name: "a wrong key",
      ...faults(googleSays(400, "INVALID_ARGUMENT", { reason: "API_KEY_INVALID" })),
    },
    { ...onGemini, name: "no permission", ...faults(googleSays(403, "PERMISSION_DENIED")) },
    {
      ...onGemini,
      name: "credit that is used up",
      ...faults(googleSays(429, "RESOURCE_EXHAUSTED", {}, "Your prepayment credits are depleted.")),
    },
    {
      ...onGemini,
      name: "a quota of the day",
      ...faults(
        googleSays(429, "RESOURCE_EXHAUSTED", {
          violations: [{ quotaId: "GenerateRequestsPerDayPerProjectPerModel" }],
        }),
      ),
    },
    { ...onQwen, name: "a wrong key", ...faults(dashscopeSays(401, "InvalidApiKey")) },
    { ...onQwen, name: "a bill that is overdue", ...faults(dashscopeSays(429, "PostpaidBillOverdue")) },
    { ...onWan, name: "an account in arrears", ...faults(dashscopeSays(400, "Arrearage")) },
    { ...onJourney, name: "a wrong secret", ...faults(instead(401, {})) },
    { ...onSeedance, name: "a wrong key", ...faults(arkSays(401, "AuthenticationError")) },
    { ...onSeedance, name: "a balance that is overdue", ...faults(arkSays(403, "AccountOverdueError")) },
    { ...onSeedance, name: "a model that was not opened", ...faults(arkSays(404, "ModelNotOpen")) },
    { ...onSeedance, name: "a model that is paused", ...faults(arkSays(429, "SetLimitExceeded")) },
    { ...onFal, name: "a wrong key", ...faults(instead(401, { detail: "Invalid key." })) },
    {
      ...onFal,
      name: "a balance that is exhausted",
      ...faults(instead(403, { detail: "Exhausted balance." })),
    },
    { ...onWave, name: "a wrong key", ...faults(waveSays(401)) },
    { ...onWave, name: "a balance that is exhausted", ...faults(waveSays(402)) },
  ],
  made: [
    { ...onGpt, name: "a limit", ...faults(openaiSays(429, "rate_limit_exceeded")) },
    { ...onGemini, name: "a limit", ...faults(googleSays(429, "RESOURCE_EXHAUSTED", { retryDelay: "1s" })) },
    { ...onQwen, name: "a limit", ...faults(dashscopeSays(429, "Throttling.RateQuota")) },
    {
      ...onJourney,
      name: "a full queue, and no account that is free",
      ...faults(proxySays(23), proxySays(3)),
    },
    { ...onSeedance, name: "a limit", ...faults(arkSays(429, "ModelAccountRpmRateLimitExceeded")) },
    { ...onSeedance, name: "too many tasks that wait", ...faults(arkSays(429, "QuotaExceeded")) },
    { ...onFal, name: "a limit", ...faults(instead(429, { detail: "Too many requests." })) },
    { ...onWave, name: "a limit", ...faults(waveSays(429)) },
  ],
};

/** The types of errors of an image task and of a plain request. */
const TYPES: Readonly<Record<Exclude<Told, "made">, readonly [task: string, plain: string]>> = {
  content_moderation: ["content_moderation", "content_moderation"],
  invalid_request_error: ["invalid_request_error", "invalid_request_error"],
  input_too_large: ["input_too_large", "input_too_large"],
  failure: ["generation_error", "upstream_error"],
  alarm: ["generation_error", "upstream_error"],
};

for (const kind of Object.keys(REFUSALS) as Told[])
  describe(`told as ${kind}`, () => {
    for (const refusal of REFUSALS[kind])
      test(`${refusal.via}: ${refusal.name} ${isVideo(refusal.asked) ? "(video)" : ""}`, () =>
        check(kind, refusal));
  });

async function check(kind: Told, { via, asked, faults: next = [], fails: end }: Refusal): Promise<void> {
  const { double, gateway } = stationOf(via);
  const prepare = (): void => {
    double.fault(isVideo(asked) ? "video" : "images", ...next);
    if (end !== undefined) double.script({ fails: end });
  };
  const logged = gateway.logs.length;
  const before = await balanceOf(gateway);
  prepare();
  const task = await ended(gateway, asked);
  const lines = gateway.logs.slice(logged);
  expect(before - (await balanceOf(gateway))).toBeCloseTo(task.credit ?? 0, 6);
  expect(lines.some((line) => line.operator_fault === true)).toBe(kind === "alarm");
  expect(JSON.stringify([task, lines])).not.toContain(UPSTREAM_KEY);
  if (kind === "made") {
    expect(told(task)).toStartWith("completed");
    return;
  }
  const [ofTask, plain] = TYPES[kind];
  expect(told(task)).toBe(isVideo(asked) ? "failed" : `failed ${ofTask}`);
  if (isVideo(asked)) return;
  prepare();
  const response = await ask(gateway, asked, false);
  const { error } = (await response.json()) as Json;
  expect([response.status, error.type]).toEqual([plain === "upstream_error" ? 502 : 400, plain]);
}
