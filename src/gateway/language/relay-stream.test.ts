import { expect, test } from "bun:test";
import { createFakeClock } from "../../../test/gateway/fake-clock.ts";
import { chatStream } from "../../../test/upstream/chat-bytes.ts";
import { handOver } from "../../core/handover.ts";
import { chatCompletions } from "../../protocols/chat-completions/index.ts";
import type { UpstreamAnswer } from "../../providers/upstream.ts";
import type { CallServices, PaidCall } from "./paid-call.ts";
import { openStreamAnswer } from "./relay-stream.ts";
import { DEFAULT_TIMEOUTS } from "../timeouts.ts";

/** A streamed answer whose provider has sent all of it, and what became of its call and its record. */
async function openWhole() {
  const clock = createFakeClock();
  const told: string[] = [];
  const bytes = chatStream({ words: ["Hello."] });
  const call = {
    protocol: chatCompletions,
    context: {
      model: "m",
      native: true,
      padding: [],
      secrets: [],
      requestId: "req_1",
      nowSec: 1,
      choices: 1,
      expectedInput: 1,
    },
    send: async () => ({ open: () => new Response(bytes).body?.getReader() }) as unknown as UpstreamAnswer,
    sawByte: () => {},
    abort: () => {},
    settle: async () => {
      told.push("charged");
      return 1_000_000n;
    },
  } as unknown as PaidCall;
  const answer = await openStreamAnswer({
    services: { clock, timeouts: DEFAULT_TIMEOUTS, failpoint: () => {} } as unknown as CallServices,
    call,
    protocol: chatCompletions,
    record: { requestId: "req_1", note: () => {}, finish: (status) => void told.push(`finished ${status}`) },
    body: handOver({ body: new Uint8Array(), warnings: [] }),
  });
  return { clock, told, answer };
}

test("a client that does not take the end of its stream within a minute is given up; it was charged before", async () => {
  const { clock, told, answer } = await openWhole();
  let text = "";
  let ended: unknown;
  const piping = answer.pipe({
    write: (bytes) => void (text += new TextDecoder().decode(bytes)),
    // There is room until the end is to be sent.
    flush: () => (text.includes("[DONE]") ? new Promise(() => {}) : undefined),
  });
  void piping.catch((error: unknown) => (ended = error));
  await clock.advance(0);
  await clock.advance(59_999);
  expect(text).toContain("[DONE]");
  expect([told, ended]).toEqual([["charged", "finished 200"], undefined]);
  await clock.advance(1);
  expect(ended).toEqual(new Error("The client takes nothing."));
  answer.cancel();
  expect(told).toEqual(["charged", "finished 200"]);
});
