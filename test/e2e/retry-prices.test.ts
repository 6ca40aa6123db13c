import { expect, test } from "bun:test";
import { createFakeClock } from "../gateway/fake-clock.ts";
import { type Json, startGateway } from "../gateway/gateway.ts";
import { jsonAnswer } from "../upstream/answer.ts";
import { chatAnswer } from "../upstream/chat-bytes.ts";
import { startUpstreamDouble } from "../upstream/double.ts";

test("a request that a second way serves in the next hour is charged by the hour in which it came", async () => {
  const clock = createFakeClock(Date.UTC(2026, 10, 21, 12, 59, 59));
  const first = await startUpstreamDouble();
  const second = await startUpstreamDouble();
  const prices = { input: [{ when: { utc_hours: [[13, 14]] }, price: 9 }, { price: 1 }], output: 1 };
  const provider = (url: string, id: string, more = {}) => ({
    base_url: `${url}/v1`,
    models: [{ id, upstream_id: "up", prices: { input: 1, output: 1 }, ...more }],
  });
  const gateway = await startGateway({
    clock,
    settings: JSON.stringify({
      providers: {
        first: provider(first.url, "t/model", { prices }),
        second: provider(second.url, "t/other"),
      },
      routing: {
        models: { "t/model": { routes: [{ provider: "first" }, { provider: "second", upstream_id: "up" }] } },
      },
    }),
  });
  const usage = { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 };
  first.handle(() => {
    clock.jump(2_000);
    return jsonAnswer(503, {});
  });
  second.handle(() => chatAnswer({ words: ["Hello."], usage }));
  const messages = [{ role: "user", content: "Hello." }];
  const ask = async (): Promise<Json> =>
    (await gateway.chat({ model: "t/model", messages, max_tokens: 20 })).json();
  expect((await ask()).credit).toBe(1.1);
  // One that comes in that hour is charged by it.
  expect((await ask()).credit).toBe(9.1);
  await gateway.close();
  await first.close();
  await second.close();
});
