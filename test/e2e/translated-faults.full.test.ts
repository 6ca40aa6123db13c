import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { createFakeClock, type FakeClock } from "../gateway/fake-clock.ts";
import { type Json, startGateway, streamEvents, type TestGateway, UPSTREAM_KEY } from "../gateway/gateway.ts";
import { jsonAnswer, sseAnswer } from "../upstream/answer.ts";
import { startUpstreamDouble, type UpstreamDouble } from "../upstream/double.ts";
import { eventEnds } from "../upstream/cuts.ts";
import { gateAt } from "../upstream/faults.ts";
import { createGate } from "../upstream/gate.ts";
import { geminiChunks } from "../upstream/gemini-bytes.ts";
import { messageStream } from "../upstream/messages-bytes.ts";
import { sse } from "../upstream/sse-bytes.ts";

// What a client of chat completions is told, and what it is charged, when a provider of another format fails it.

let double: UpstreamDouble;
let clock: FakeClock;
let gateway: TestGateway;

const provider = (protocol: string, model: string): Json => ({
  protocol,
  base_url: double.url,
  api_key: UPSTREAM_KEY,
  dialect: "native",
  models: [{ id: model, upstream_id: "m", max_output: 8_000, prices: { input: 1, output: 5 } }],
});

beforeAll(async () => {
  double = await startUpstreamDouble({ sleep: async () => undefined });
  clock = createFakeClock();
  const providers = {
    one: provider("messages", "a/claude"),
    two: provider("generate_content", "a/gemini"),
  };
  gateway = await startGateway({ settings: JSON.stringify({ providers }), clock });
});
afterAll(async () => {
  await gateway.close();
  await double.close();
});
beforeEach(() => double.reset());

const streams = [
  { model: "a/claude", bytes: messageStream({ blocks: [{ type: "text", text: "Hello there, you." }] }) },
  { model: "a/gemini", bytes: sse(geminiChunks()) },
];

const ask = (model: string, init?: RequestInit): Promise<Response> =>
  gateway.chat({ model, stream: true, messages: [{ role: "user", content: "Say hello." }] }, init);

async function charged(before: number): Promise<number> {
  await gateway.settled();
  return before - (await gateway.account()).balance;
}

for (const { model, bytes } of streams) {
  describe(model, () => {
    test("a refusal behind keep-alives is told inside the stream in the client's format, and free", async () => {
      const { balance } = await gateway.account();
      const gate = createGate();
      double.handle(() => gateAt(jsonAnswer(500, { error: { message: UPSTREAM_KEY } }), "start", gate));
      const waiting = ask(model);
      await double.waitForRequest(1);
      await clock.advance(15_000);
      const response = await waiting;
      expect(response.status).toBe(200);
      gate.release();
      const text = await response.text();
      expect(text).toContain(": keep-alive\n\n");
      expect(text).not.toContain(UPSTREAM_KEY);
      const all = streamEvents(text);
      expect(all.at(-1)).toBe("[DONE]");
      expect(all.at(-2).error.type).toBe("upstream_error");
      expect(all.flatMap(({ choices }: Json) => choices ?? []).at(-1).finish_reason).toBe("error");
      expect(await charged(balance)).toBe(0);
    });

    test("a stream that ends after any event but the last says so, and is charged for what it brought", async () => {
      const ends = eventEnds(bytes);
      for (const end of ends) {
        const { balance } = await gateway.account();
        double.handle(() => sseAnswer(bytes.subarray(0, end)));
        const response = await ask(model);
        const text = await response.text();
        const all = response.status === 200 ? streamEvents(text) : [];
        const said = all.flatMap(({ choices }: Json) => choices ?? []);
        const reasons = said.flatMap(({ finish_reason: reason }: Json) => reason ?? []);
        const cost = await charged(balance);
        if (response.status !== 200) expect([response.status, cost]).toEqual([502, 0]);
        else {
          expect(cost).toBeGreaterThan(0);
          expect(all.findLast(({ credit }: Json) => credit !== undefined).credit).toBeCloseTo(cost, 6);
          expect(reasons).toHaveLength(1);
          expect(reasons[0] === "stop").toBe(all.every((event: Json) => event.error === undefined));
          if (end === ends[0]) expect(reasons).toEqual(["error"]);
        }
        if (end === ends.at(-1)) expect(reasons).toEqual(["stop"]);
      }
    });
  });
}
