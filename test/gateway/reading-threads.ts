import type { Order } from "../../src/gateway/reading/orders.ts";

// The threads that read bodies, as a test in the same process sees and ends them.

/** What the gateways of a test have their threads do. */
export interface WatchedThreads {
  /** The orders of requests that have stayed on a thread: they were read, and neither taken nor let go of. */
  left(): readonly number[];
  /** Every order so far, in turn. */
  readonly orders: readonly Order["do"][];
  /** The next order of that kind is the last that its thread is given: it ends without an answer. */
  endAt(kind: Order["do"]): void;
  /** From now on orders do not reach the threads, until what it gives is called. */
  holdBack(): () => void;
  /** Ends the watch. */
  restore(): void;
}

/** Watches every thread that starts from now on. */
export function watchThreads(): WatchedThreads {
  const { Worker: Plain } = globalThis;
  const orders: Order["do"][] = [];
  const left = new Set<number>();
  let last: Order["do"] | undefined;
  let heldBack: (() => void)[] | undefined;

  class Watched extends Plain {
    readonly #own = new Set<number>();
    readonly #asked: (number | undefined)[] = [];
    constructor(file: string) {
      super(file);
      if (!file.endsWith("reading-thread.ts")) return;
      this.addEventListener("message", ({ data }: MessageEvent<object>) => {
        const id = this.#asked.shift();
        if (id === undefined || !("result" in data)) return;
        left.add(id);
        this.#own.add(id);
      });
      this.addEventListener("close", () => this.#own.forEach((id) => left.delete(id)));
    }
    override postMessage(message: unknown, moved?: object): void {
      const send = (): void => super.postMessage(message, moved as ArrayBuffer[]);
      if (heldBack === undefined) send();
      else heldBack.push(send);
      const order = message as Order | null;
      if (order === null || typeof order.do !== "string") return;
      orders.push(order.do);
      this.#asked.push(order.do === "read" ? order.id : undefined);
      if (order.do === "take" || order.do === "release") left.delete(order.id);
      if (order.do !== last) return;
      last = undefined;
      this.terminate();
    }
  }
  globalThis.Worker = Watched as typeof Worker;
  return {
    orders,
    left: () => [...left],
    endAt: (kind) => void (last = kind),
    holdBack() {
      heldBack = [];
      return () => {
        const sends = heldBack ?? [];
        heldBack = undefined;
        for (const send of sends) send();
      };
    },
    restore() {
      globalThis.Worker = Plain;
    },
  };
}
