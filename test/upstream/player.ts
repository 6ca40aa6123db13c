import type { Socket } from "node:net";
import { setImmediate } from "node:timers/promises";
import type { EndKind } from "./answer.ts";
import type { Step } from "./wire.ts";

/** Waits some milliseconds, or less when the signal aborts: tests bring their own clock. */
export type Sleep = (ms: number, signal: AbortSignal) => Promise<void>;

/** What a player needs to know of the connection it plays on. */
export interface Stage {
  readonly socket: Socket;
  /** Aborted when the client is gone: nothing more is written then. */
  readonly gone: AbortSignal;
  readonly sleep: Sleep;
  /** Told after each write that the kernel took; `bodyBytes` is the count so far. */
  wrote(bytes: number, bodyBytes: number): void;
}

/** How a play ended: at the answer's own end, or because the client had gone. */
export type Played = { readonly how: EndKind; readonly finished: boolean } | "client-gone";

/** Plays the steps in order, each write handed to the kernel before the next step. The end is not carried out. */
export async function play(steps: readonly Step[], stage: Stage): Promise<Played> {
  let bodyBytes = 0;
  for (const step of steps) {
    if (stage.gone.aborted) return "client-gone";
    if (step.kind === "end") return { how: step.how, finished: step.finished };
    if (step.kind === "pause") await stage.sleep(step.ms, stage.gone);
    if (step.kind === "gate") await step.gate.pass(stage.gone);
    if (step.kind === "repeat") {
      await repeat(step.bytes, step.pauseMs, bodyBytes, stage);
      return "client-gone";
    }
    if (step.kind === "write") {
      if (!(await write(stage.socket, step.bytes))) return "client-gone";
      bodyBytes = step.bodyBytes;
      stage.wrote(step.bytes.length, bodyBytes);
    }
  }
  return "client-gone";
}

async function repeat(bytes: Uint8Array, pauseMs: number, bodyBytes: number, stage: Stage): Promise<void> {
  while (!stage.gone.aborted) {
    if (!(await write(stage.socket, bytes))) return;
    stage.wrote(bytes.length, bodyBytes);
    if (pauseMs > 0) await stage.sleep(pauseMs, stage.gone);
    // A test's clock may not wait at all; the client's own events must still get their turn.
    await setImmediate();
  }
}

/** True when the kernel has the bytes; false when the socket died first. */
function write(socket: Socket, bytes: Uint8Array): Promise<boolean> {
  if (socket.destroyed) return Promise.resolve(false);
  return new Promise((resolve) => {
    socket.write(bytes, (error) => resolve(error === null || error === undefined));
  });
}

/** The clock of the wall: the sleep of a double to which no other was given. */
export const realSleep: Sleep = (ms, signal) =>
  new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const stop = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", stop);
      resolve();
    };
    const timer = setTimeout(stop, ms);
    signal.addEventListener("abort", stop, { once: true });
  });
