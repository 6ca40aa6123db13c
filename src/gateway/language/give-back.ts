import { toGatewayError } from "../../core/errors.ts";
import type { Admission } from "./admit.ts";
import type { CallParts } from "./paid-call.ts";

/** Gives back the hold of a request that cannot be sent after all. Rejects with `error` then: why that is. */
export async function giveBack(
  { services: { ledger, clock }, hold, heldAtMs }: CallParts,
  { provider, admittedAtMs }: Pick<Admission, "provider" | "admittedAtMs">,
  error: unknown,
): Promise<never> {
  const timeline = { provider: provider.id, admittedAtMs, heldAtMs, firstByteAtMs: null };
  await ledger.void(hold, {
    outcome: toGatewayError(error).kind,
    timeline: { ...timeline, endedAtMs: clock.nowMs(), attempts: [] },
  });
  throw error;
}
