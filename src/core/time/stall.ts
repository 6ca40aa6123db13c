import type { Clock } from "./clock.ts";

/** Resolves once there is room, at once where there is; rejects when that takes longer than `ms`. */
export async function roomWithin(
  room: Promise<unknown> | undefined,
  clock: Clock,
  ms: number,
): Promise<void> {
  if (room === undefined) return;
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = clock.setTimer(ms, () => reject(new Error("The client takes nothing.")));
  try {
    await Promise.race([room, late]);
  } finally {
    timer.cancel();
  }
}
