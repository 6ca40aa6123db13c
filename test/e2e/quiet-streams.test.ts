import { afterEach, beforeEach, expect, test } from "bun:test";
import { createFakeClock, type FakeClock } from "../gateway/fake-clock.ts";
import { FORMAT_CLIENTS, type FormatClient, jsonEvents, streamedBody } from "../gateway/format-clients.ts";
import { startGateway, type TestGateway } from "../gateway/gateway.ts";
import { sseAnswer } from "../upstream/answer.ts";
import { chatStream } from "../upstream/chat-bytes.ts";
import { startUpstreamDouble, type UpstreamDouble } from "../upstream/double.ts";
import { gateAt } from "../upstream/faults.ts";
import { createGate } from "../upstream/gate.ts";

// Clients of every format whose provider is quiet for a while, by a clock that only the test moves.

const MODEL = "local/m";
const STREAM = chatStream({ words: ["Hello", " there."] });

let clock: FakeClock;
let double: UpstreamDouble;
let gateway: TestGateway;

beforeEach(async () => {
  clock = createFakeClock();
  double = await startUpstreamDouble();
  const models = [{ id: MODEL, upstream_id: "m", prices: { input: 1, output: 5 } }];
  const settings = JSON.stringify({ providers: { local: { base_url: `${double.url}/v1`, models } } });
  gateway = await startGateway({ clock, settings });
});
afterEach(async () => {
  await gateway.close();
  await double.close();
});

for (const [format, client] of Object.entries<FormatClient>(FORMAT_CLIENTS))
  test(`a stream of ${format} whose provider is quiet gets a sign of life each 15 seconds, then all of its answer`, async () => {
    const gate = createGate();
    double.handle(() => gateAt(sseAnswer(STREAM), "start", gate));
    const asking = gateway.post(client.path(MODEL), streamedBody(client, MODEL));
    await double.waitForRequest(1);
    await clock.advance(15_000);
    const response = await asking;
    expect(response.status).toBe(200);
    const reader = response.body?.getReader();
    let text = "";
    for (let signs = 0; signs < 3; signs += 1) {
      const reading = reader?.read();
      // The gateway looks each 5 s.
      await clock.advance(20_000);
      text += new TextDecoder().decode((await reading)?.value);
      expect(client.isWhole(jsonEvents(text))).toBe(false);
    }
    gate.release();
    for (let read = await reader?.read(); read?.done === false; read = await reader?.read())
      text += new TextDecoder().decode(read.value);
    const events = jsonEvents(text);
    expect([client.textOf(events), client.isWhole(events)]).toEqual(["Hello there.", true]);
  });
