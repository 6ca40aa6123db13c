import { serveThreadLate } from "../../runtime/worker.ts";
import type { Order, Outcome } from "./orders.ts";

serveThreadLate<null, Order, Outcome>(async () => (await import("./orders.ts")).createOrders, memoryOf);

/** The body for a provider moves back without a copy: the request has ended, and nothing here needs it. */
function memoryOf(outcome: Outcome): readonly ArrayBuffer[] {
  if (!("result" in outcome)) return [];
  const { body } = (outcome.result ?? {}) as { readonly body?: unknown };
  const pieces: readonly unknown[] = Array.isArray(body) ? body : [];
  return pieces.flatMap((piece) =>
    piece instanceof Uint8Array && piece.buffer instanceof ArrayBuffer ? [piece.buffer] : [],
  );
}
