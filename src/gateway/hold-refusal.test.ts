import { expect, test } from "bun:test";
import { holdRefusalError } from "./hold-refusal.ts";

test("a request that credit is missing for is told how much it takes, and what would take less", () => {
  const words = (refusal: "insufficient_credits" | "budget_exceeded", amount: bigint | undefined): string =>
    holdRefusalError(refusal, { amount, less: "a shorter video" }).message;
  expect(words("insufficient_credits", 5_000_250_000n)).toBe(
    "The account has not enough free credit for the most this request can cost, 5000.25 credits. Add credit, or ask for a shorter video.",
  );
  expect(words("budget_exceeded", 1n)).toBe(
    "The budget of this key has not enough left for the most this request can cost, 0.000001 credits. Raise it, or ask for a shorter video.",
  );
  expect(words("insufficient_credits", undefined)).toBe(
    "The account has not enough free credit for the most this request can cost. Add credit, or ask for a shorter video.",
  );
});

test("a key that ended meanwhile is none", () => {
  const error = holdRefusalError("key_not_live", { amount: 1n, less: "less" });
  expect([error.status, error.type, error.code]).toEqual([401, "auth_error", "api_key_ended"]);
  expect(error.message).toContain("was revoked or expired while the request was on its way");
});
