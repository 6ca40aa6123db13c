import { afterEach, beforeEach, expect, test } from "bun:test";
import { createFakeClock, type FakeClock } from "../gateway/fake-clock.ts";
import { FORMAT_CLIENTS, type FormatClient, jsonEvents, streamedBody } from "../gateway/format-clients.ts";
import { type Json, startGateway, type TestGateway } from "../gateway/gateway.ts";
import { sseAnswer } from "../upstream/answer.ts";
import { chatStream } from "../upstream/chat-bytes.ts";
import { startUpstreamDouble, type UpstreamDouble } from "../upstream/double.ts";
import { endlessBody, gateAt } from "../upstream/faults.ts";
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

test("a provider that sends events without content and without end is cut off at 32 MiB: a 502, free, and its failure", async () => {
  const empty = `data: ${JSON.stringify({ id: "c", choices: [{ index: 0, delta: {} }], pad: "x".repeat(100_000) })}\n\n`;
  double.handle(() => endlessBody(sseAnswer(empty), new TextEncoder().encode(empty)));
  const before = await gateway.account();
  const response = await gateway.post(
    "/api/v1/chat/completions",
    streamedBody(FORMAT_CLIENTS.chat_completions, MODEL),
  );
  const { error }: Json = await response.json();
  expect([response.status, error]).toEqual([
    502,
    expect.objectContaining({
      type: "upstream_error",
      message: "The provider sent 32 MiB without any content.",
    }),
  ]);
  await gateway.settled();
  expect(await gateway.account()).toEqual(before);
  const { json: rows } = await gateway.admin("GET", "/requests?limit=1");
  expect([rows.data[0].outcome, rows.data[0].credit]).toEqual(["upstream_error", 0]);
  const { json: routes } = await gateway.admin("GET", "/routes");
  expect([routes.data[0].failures, routes.data[0].last_failure.reason]).toEqual([1, "bad_answer"]);
  // The provider is not read any further.
  await double.waitForOpenSockets(0);
});
