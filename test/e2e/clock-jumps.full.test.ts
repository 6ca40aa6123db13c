import { afterEach, beforeEach, expect, test } from "bun:test";
import { sseAnswer } from "../upstream/answer.ts";
import { chatAnswer, chatStream } from "../upstream/chat-bytes.ts";
import { afterEvent } from "../upstream/cuts.ts";
import { startUpstreamDouble, type UpstreamDouble } from "../upstream/double.ts";
import { gateAt } from "../upstream/faults.ts";
import { createGate } from "../upstream/gate.ts";
import { createFakeClock, type FakeClock } from "../gateway/fake-clock.ts";
import { startGateway, streamEvents, type TestGateway } from "../gateway/gateway.ts";

// The machine's time is set forward, or back, in the midst of everything: nothing ends by it. Tasks on both stores are
// in src/tasks/scheduler-deadlines.engines.test.ts.

const DAY_MS = 86_400_000;
const USAGE = { prompt_tokens: 11, completion_tokens: 4, total_tokens: 15 };
const body = {
  model: "openai/gpt-5.6-luna",
  messages: [{ role: "user", content: "Say hello." }],
  max_tokens: 64,
};

let clock: FakeClock;
let double: UpstreamDouble;
let gateway: TestGateway;

beforeEach(async () => {
  clock = createFakeClock();
  double = await startUpstreamDouble();
  gateway = await startGateway({
    openai: `${double.url}/v1`,
    clock,
    environment: { SWITCHYARD_SANDBOX: "on" },
  });
});
afterEach(async () => {
  await gateway.close();
  await double.close();
});

/** The time is set, and then everything that looks at it does: watches, the sweeper, the audit of each hour. */
async function jump(ms: number): Promise<void> {
  clock.jump(ms);
  for (let i = 0; i < 5; i += 1) await clock.advance(6_000);
}

for (const ms of [DAY_MS, -DAY_MS]) {
  const way = ms > 0 ? "forward" : "back";

  test(`set ${way} in mid-stream: the stream goes on to its end, and is charged in full`, async () => {
    const events = chatStream({ words: ["Hel", "lo."], usage: USAGE });
    const gate = createGate();
    double.handle(() => gateAt(sseAnswer(events), afterEvent(events, 2), gate));
    const response = await gateway.chat({ ...body, stream: true });
    await jump(ms);
    expect((await gateway.account()).held).toBeGreaterThan(0);
    gate.release();
    const sent = streamEvents(await response.text());
    expect(sent.at(-1)).toBe("[DONE]");
    expect(JSON.stringify(sent)).toContain("lo.");
    await gateway.settled();
    expect((await gateway.account()).balance).toBe(999_999.93);
  });

  test(`set ${way} before a plain answer: it comes, and is charged in full`, async () => {
    const gate = createGate();
    double.handle(() => gateAt(chatAnswer({ words: ["Hello."], usage: USAGE }), "start", gate));
    const response = gateway.chat(body);
    await double.waitForRequest(1);
    await jump(ms);
    gate.release();
    expect((await response).status).toBe(200);
    await gateway.settled();
    expect((await gateway.account()).balance).toBe(999_999.93);
  });

  test(`set ${way}: an image that waits and one that is made by the sandbox are completed in their own time`, async () => {
    const order = (orders: string): Promise<Response> =>
      gateway.post(
        "/api/v1/images/generations",
        { model: "alibaba/qwen-image-2.0", prompt: "A fox", size: "512*512", async: true },
        { headers: { "x-sandbox": orders } },
      );
    const ids: string[] = [];
    for (const orders of ["pending_ms=0; running_ms=60000", "pending_ms=60000; running_ms=1000"])
      ids.push(((await (await order(orders)).json()) as { id: string }).id);
    const states = async (): Promise<string[]> => {
      const answers = ids.map((id) =>
        fetch(`${gateway.url}/api/v1/images/generations/${id}`, {
          headers: { authorization: `Bearer ${gateway.key}` },
        }),
      );
      const tasks = await Promise.all(answers.map(async (answer) => (await answer).json()));
      return tasks.map((task) => (task as { status: string }).status);
    };
    while ((await states())[0] !== "running") await clock.advance(100);
    await jump(ms);
    expect(await states()).toEqual(["running", "pending"]);
    // Both are due within two minutes; drawing takes its own time, in which theirs must not run out.
    for (let at = 0; (await states()).some((state) => state === "running" || state === "pending");) {
      const step = at < 120_000 ? 500 : 10;
      await clock.advance(step);
      at += step;
    }
    expect(await states()).toEqual(["completed", "completed"]);
    const { json } = await gateway.admin("GET", "/audit?full=true");
    expect(json.ok).toBe(true);
  });
}
