import type { Clock } from "../../core/clock.ts";
import { encodePng } from "./picture.ts";
import type { MediaProvider } from "../provider.ts";
import { SANDBOX } from "./name.ts";
import { ORDERS_HEADER } from "./orders.ts";

/** The sandbox's maker of pictures and films: within this process, and after a while of its own clock. */
export function createSandboxMedia(clock: Clock): MediaProvider {
  return {
    id: SANDBOX,
    baseUrl: "http://sandbox.invalid",
    headers: {},
    secrets: [],
    clientHeaders: [ORDERS_HEADER],
    answerHeaders: { "x-switchyard-provider": SANDBOX },
    adapters: {
      image: {
        async create() {
          return { state: "working", job: `sandbox.${clock.nowMs() + 2_000}`, pollAfterMs: 500 };
        },
        async poll(job, { n, size = { width: 256, height: 256 } }) {
          if (clock.nowMs() < Number(job.split(".")[1])) return { state: "working", job, pollAfterMs: 500 };
          const picture = encodePng(size.width, size.height, [
            [200, 40, 40],
            [40, 40, 200],
          ]);
          return { state: "done", outputs: Array.from({ length: n }, () => ({ bytes: picture })) };
        },
      },
    },
  };
}
