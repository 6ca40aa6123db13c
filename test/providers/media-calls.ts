import { createFakeClock } from "../gateway/fake-clock.ts";
import { createByteBudget } from "../../src/core/byte-budget.ts";
import type { Hold } from "../../src/core/hold.ts";
import { openMediaCall } from "../../src/gateway/media/call.ts";
import { createLongTexts } from "../../src/gateway/media/long-texts.ts";
import { jsonValue } from "../../src/protocols/answer-json.ts";
import type { MediaCall, MediaHttpAnswer, MediaHttpRequest } from "../../src/providers/media.ts";
import type { MediaProvider } from "../../src/providers/provider.ts";

/** A call of an adapter whose provider answers as `respond` says; what it was sent is kept. */
export function scriptedCall(
  upstreamId: string,
  respond: (request: MediaHttpRequest) => {
    status: number;
    body?: unknown;
    headers?: Record<string, string>;
  },
): MediaCall & { readonly sent: readonly MediaHttpRequest[] } {
  const sent: MediaHttpRequest[] = [];
  return {
    upstreamId,
    model: "test/model",
    reference: "img_0.1",
    clientHeaders: {},
    signal: new AbortController().signal,
    sent,
    async send(request): Promise<MediaHttpAnswer> {
      sent.push(request);
      const { status, body, headers = {} } = respond(request);
      const bytes = new TextEncoder().encode(typeof body === "string" ? body : JSON.stringify(body ?? null));
      return { status, bytes, json: jsonValue(bytes), header: (name) => headers[name] ?? null };
    },
    load: () => Promise.reject(new Error("Nothing is loaded here.")),
  };
}

/** A call over the network, as the gateway makes it. */
export function realCall(provider: MediaProvider, upstreamId: string): MediaCall {
  return openMediaCall(
    {
      paidBy: {} as Hold,
      provider,
      upstreamId,
      model: "test/model",
      clientHeaders: {},
      load: () => Promise.reject(new Error("Nothing is loaded here.")),
      memory: createByteBudget(() => 1).open(),
      texts: createLongTexts(),
      clock: createFakeClock(),
      onAnswer: () => {},
    },
    { reference: "img_0.1", limitMs: 60_000, signal: new AbortController().signal },
  );
}
