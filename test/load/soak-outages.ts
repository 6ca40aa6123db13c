import type { Json } from "../gateway/gateway.ts";
import type { LoadGateway } from "./load-gateway.ts";
import { MOODY } from "./provider.ts";

/** Outages of a provider, one after the other, while requests come. */
export interface Outages {
  /** Its calls fail now. */
  readonly isBad: boolean;
  /** How many it has had, each of which opened its breaker and closed it again. */
  readonly count: number;
  /** Begins none any more; resolves once its breaker is closed. */
  stop(): Promise<void>;
}

export interface OutageParts {
  readonly gateway: LoadGateway;
  /** How long the provider is well between two, and how long an outage lasts at the least. */
  readonly wellMs: number;
  readonly badMs: number;
  /** One request that goes to the provider first. */
  readonly ask: () => Promise<void>;
}

/**
 * Has the provider of `MOODY` fail and come back, again and again. An outage ends once its breaker has opened, and the
 * next begins once that has closed, however long either takes.
 */
export function startOutages({ gateway, wellMs, badMs, ask }: OutageParts): Outages {
  const { admin, provider } = gateway;
  let [isOver, isBad, count] = [false, false, 0];
  const comesTo = async (wanted: string): Promise<void> => {
    for (;;) {
      const { data } = await admin("GET", `/routes?provider=moody&model=${encodeURIComponent(MOODY)}`);
      if (data.every(({ state }: Json) => state === wanted)) return;
      // Where nobody asks any more, its breaker has no call to close by.
      if (isOver) await ask();
      await Bun.sleep(50);
    }
  };
  const pause = async (ms: number): Promise<void> => {
    for (const until = performance.now() + ms; !isOver && performance.now() < until;) await Bun.sleep(50);
  };
  const running = (async () => {
    while (!isOver) {
      await pause(wellMs);
      if (isOver && count > 0) break;
      isBad = true;
      await provider.setBad(true);
      await comesTo("open");
      await pause(badMs);
      await provider.setBad(false);
      isBad = false;
      await comesTo("healthy");
      count += 1;
    }
  })();
  return {
    get isBad() {
      return isBad;
    },
    get count() {
      return count;
    },
    async stop() {
      isOver = true;
      await running;
    },
  };
}
