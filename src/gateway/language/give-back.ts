import { toGatewayError } from "../../core/errors.ts";
import type { Admission } from "./admit.ts";
import type { CallParts } from "./paid-call.ts";

/** The result of `open`; a hold whose request cannot be sent after all is given back. */
export async function orGiveBack<Opened>(
  { services: { ledger, clock }, hold, heldAtMs }: CallParts,
  { provider, admittedAtMs }: Pick<Admission, "provider" | "admittedAtMs">,
  open: () => Promise<Opened>,
): Promise<Opened> {
  try {
    return await open();
  } catch (error) {
    const timeline = { provider: provider.id, admittedAtMs, heldAtMs, firstByteAtMs: null };
    await ledger.void(hold, {
      outcome: toGatewayError(error).kind,
      timeline: { ...timeline, endedAtMs: clock.nowMs(), attempts: [] },
    });
    throw error;
  }
}
