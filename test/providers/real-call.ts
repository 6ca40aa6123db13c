import { createFakeClock } from "../gateway/fake-clock.ts";
import { createByteBudget } from "../../src/core/bytes/byte-budget.ts";
import type { Hold } from "../../src/core/money/hold.ts";
import { openMediaCall } from "../../src/gateway/media/job/call.ts";
import { createLongTexts } from "../../src/gateway/media/job/long-texts.ts";
import type { LoadedMedia, MediaCall } from "../../src/providers/media.ts";
import type { MediaProvider } from "../../src/providers/provider.ts";

/** A call over the network, as the gateway makes it. What it loads is `loaded`. */
export function realCall(provider: MediaProvider, upstreamId: string, loaded?: LoadedMedia): MediaCall {
  return openMediaCall(
    {
      paidBy: {} as Hold,
      provider,
      upstreamId,
      model: "test/model",
      clientHeaders: {},
      load: async () => {
        if (loaded === undefined) throw new Error("Nothing is loaded here.");
        return loaded;
      },
      memory: createByteBudget(() => 1).open(),
      texts: createLongTexts(),
      limits: { clock: createFakeClock(), connectMs: 5_000, writeMs: 60_000 },
      onAnswer: () => {},
      onBreak: () => {},
      onBegun: () => {},
    },
    { reference: "img_0.1", limitMs: 60_000, signal: new AbortController().signal },
  );
}
