import { addUsage, type Usage } from "../core/usage.ts";
import type { MediaCall, MediaDone, MediaStep } from "./media.ts";

/**
 * Several pictures of a provider that makes one to a call: as many calls at once, and what they came to together. Rejects
 * as a single call does where nobody knows what became of one and nothing was made.
 */
export async function createEach(
  n: number,
  call: MediaCall,
  createOne: (place: number) => Promise<MediaStep>,
): Promise<MediaStep> {
  const ends = await Promise.allSettled(Array.from({ length: n }, (_, place) => createOne(place)));
  call.signal.throwIfAborted();
  return together(ends);
}

/** What the calls came to together: what was made, or the refusal that says most where nothing was. Rejects as they do. */
function together(ends: readonly PromiseSettledResult<MediaStep>[]): MediaStep {
  const steps = ends.flatMap((end) => (end.status === "fulfilled" ? [end.value] : []));
  const done = steps.filter((step): step is MediaDone => step.state === "done");
  // Those that were refused as busy may have cost nothing, but those beside them were made: what there is, is given.
  if (done.length === 0) return refusedTogether(steps, ends);
  const usages = done.map(({ usage }) => usage).filter((usage): usage is Usage => usage !== undefined);
  return {
    state: "done",
    outputs: done.flatMap(({ outputs }) => outputs),
    ...(usages.length < done.length ? {} : { usage: usages.reduce(addUsage) }),
  };
}

/** Only what surely did not begin in any of the calls is busy. */
function refusedTogether(
  steps: readonly MediaStep[],
  ends: readonly PromiseSettledResult<MediaStep>[],
): MediaStep {
  const known = steps.find(
    (step) => step.state === "refused" && step.refusal.reason !== "busy" && step.refusal.reason !== "unclear",
  );
  if (known !== undefined) return known;
  const broken = ends.find((end) => end.status === "rejected");
  if (broken !== undefined) throw broken.reason;
  const unclear = steps.find((step) => step.state === "refused" && step.refusal.reason === "unclear");
  return unclear ?? steps[0] ?? { state: "refused", refusal: { reason: "failed", message: "" } };
}
