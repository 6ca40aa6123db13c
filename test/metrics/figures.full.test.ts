import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { createFakeClock } from "../gateway/fake-clock.ts";
import { startGateway, type TestGateway } from "../gateway/gateway.ts";
import { type Answer, jsonAnswer, sseAnswer } from "../upstream/answer.ts";
import { chatAnswer, chatStream } from "../upstream/chat-bytes.ts";
import { afterEvent } from "../upstream/cuts.ts";
import { startUpstreamDouble, type UpstreamDouble } from "../upstream/double.ts";
import { finAt, gateAt, resetAt } from "../upstream/faults.ts";
import { createGate } from "../upstream/gate.ts";
import { describeWithPromtool, promtool } from "./promtool.ts";
import { readSamples, type Samples, scrape, those } from "./samples.ts";

// What /metrics says, against what was done, over real sockets.

const MODEL = "openai/gpt-5.6-luna";
const USAGE = {
  prompt_tokens: 11,
  completion_tokens: 4,
  total_tokens: 15,
  prompt_tokens_details: { cached_tokens: 8 },
};
const CHAT = "/api/v1/chat/completions";
const SERVED = `model="${MODEL}",provider="openai"`;
/** Micro-credits for one of what rows count, by the files of the models. */
const PRICES: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  [MODEL]: { input: 2_000, cacheRead: 200, output: 12_000 },
  "alibaba/qwen-image-2.0": { images: 350_000_000 },
};
const IMAGE = { model: "alibaba/qwen-image-2.0", prompt: "A fox.", size: "512*512" };
const body = { model: MODEL, messages: [{ role: "user", content: "Hello." }], max_completion_tokens: 64 };

let double: UpstreamDouble;
beforeAll(async () => {
  double = await startUpstreamDouble({ sleep: async () => undefined });
});
afterAll(() => double.close());
beforeEach(() => double.reset());

/** A gateway whose language models the double serves, and whose images the sandbox makes. */
const start = (more: Parameters<typeof startGateway>[0] = {}): Promise<TestGateway> =>
  startGateway({ openai: `${double.url}/v1`, environment: { SWITCHYARD_SANDBOX: "on" }, ...more });

/** The name of a histogram's count, of that of its last bucket. */
function countOf(name: string): string {
  return name
    .replace("_bucket", "_count")
    .replace(/,?le="\+Inf"/, "")
    .replace("{}", "");
}

function add(sums: Map<string, number>, name: string, amount: number): void {
  sums.set(name, (sums.get(name) ?? 0) + amount);
}

async function done(answer: Promise<Response>, status: number): Promise<void> {
  const response = await answer;
  await response.text().catch(() => "");
  expect(response.status).toBe(status);
}

const CONNECTION = {
  keepOpen: () => {},
  limitIdle: () => {},
  limitStall: () => {},
  hasRoom: () => true,
  address: () => undefined,
};

interface Row {
  readonly model: string;
  readonly provider: string;
  readonly credit: number;
  readonly usage: Readonly<Record<string, number>>;
  readonly attempts: readonly { readonly provider: string; readonly status: number | null }[];
}

describe("of a gateway with traffic", () => {
  let gateway: TestGateway;
  let text: string;
  let samples: Samples;
  let rows: readonly Row[];

  beforeAll(async () => {
    gateway = await start();
    const { url, chat, post } = gateway;
    const plain = chatAnswer({ words: ["Hello."], usage: USAGE });
    const events = chatStream({ words: ["Hel", "lo."], usage: USAGE });
    const stream = sseAnswer(events);
    const asked = (answer: Answer, more: object, status: number): Promise<void> => {
      double.enqueue(answer);
      return done(chat({ ...body, ...more }), status);
    };
    for (let i = 0; i < 3; i += 1) await asked(plain, {}, 200);
    for (let i = 0; i < 2; i += 1) await asked(stream, { stream: true }, 200);
    await asked(jsonAnswer(400, { error: { message: "no", type: "invalid_request_error" } }), {}, 400);
    await asked(resetAt(plain, "start"), {}, 502);
    await asked(
      finAt({ ...stream, framing: "close", cut: "events" }, afterEvent(events, 3)),
      { stream: true },
      200,
    );
    for (const key of ["x", "sk-no-key"])
      await done(fetch(url + CHAT, { method: "POST", headers: { authorization: `Bearer ${key}` } }), 401);
    await done(fetch(url + CHAT), 405);
    await done(fetch(`${url}/wp-login.php`), 404);
    await done(chat({ ...body, model: "openai/gpt-99" }), 400);
    await done(post("/api/v1/images/generations", IMAGE), 200);
    await gateway.settled();
    text = await scrape(gateway);
    samples = readSamples(text);
    rows = (await gateway.admin("GET", "/requests?limit=100")).json.data;
    expect(rows).toHaveLength(9);
  });
  afterAll(() => gateway.close());

  test("each request is counted once, by its endpoint, model, provider and outcome", () => {
    const counted = Object.entries(those(samples, "switchyard_requests_total"));
    const at = (endpoint: string, labels: string, outcome: string): string =>
      `{endpoint="${endpoint}",${labels},outcome="${outcome}"}`;
    const nobody = 'model="none",provider="none"';
    const image = 'model="alibaba/qwen-image-2.0",provider="sandbox"';
    expect(Object.fromEntries(counted.filter(([name]) => !name.includes("/admin/")))).toEqual({
      [at(CHAT, SERVED, "completed")]: 5,
      [at(CHAT, SERVED, "invalid_request_error")]: 1,
      [at(CHAT, SERVED, "upstream_error")]: 2,
      [at(CHAT, nobody, "auth_error")]: 2,
      [at(CHAT, nobody, "method_not_allowed")]: 1,
      [at(CHAT, nobody, "invalid_request_error")]: 1,
      [at("other", nobody, "not_found_error")]: 1,
      [at("/api/v1/images/generations", image, "completed")]: 1,
    });
    expect(samples.get("switchyard_requests_in_flight")).toBe(1);
  });

  test("a request is in one bucket of each histogram that it belongs to", () => {
    const count = (name: string): number | undefined => samples.get(`switchyard_${name}`);
    expect(count(`request_duration_seconds_count{endpoint="${CHAT}"}`)).toBe(12);
    expect(count(`overhead_seconds_count{endpoint="${CHAT}"}`)).toBe(8);
    expect(count(`time_to_first_token_seconds_count{${SERVED}}`)).toBe(3);
    for (const [name, value] of samples)
      if (name.includes('le="+Inf"')) expect(value).toBe(samples.get(countOf(name)) as number);
  });

  test("tokens, credits and attempts are those of the books, to the last digit", () => {
    const tokens = new Map<string, number>();
    const units = new Map<string, number>();
    const micro = new Map<string, number>();
    const attempts = new Map<string, number>();
    for (const { model, provider, credit, usage, attempts: made } of rows) {
      const served = `model="${model}",provider="${provider}"`;
      let sum = 0;
      for (const [field, used] of Object.entries(usage)) {
        const bucket = field === "images" ? "image" : field.replace("R", "_r");
        if (bucket === "image") add(units, `{${served},unit="image"}`, used);
        else add(tokens, `{${served},bucket="${bucket}"}`, used);
        const cost = used * (PRICES[model]?.[field] ?? Number.NaN);
        add(micro, `{${served},bucket="${bucket}"}`, cost);
        sum += cost;
      }
      expect(Math.round(credit * 1e6)).toBe(sum);
      for (const { provider: asked, status } of made)
        add(attempts, `{provider="${asked}",result="${status ?? "no_answer"}"}`, 1);
    }
    expect(those(samples, "switchyard_tokens_total")).toEqual(Object.fromEntries(tokens));
    expect(those(samples, "switchyard_units_total")).toEqual(Object.fromEntries(units));
    expect(those(samples, "switchyard_attempts_total")).toEqual(Object.fromEntries(attempts));
    const credits = Object.entries(those(samples, "switchyard_credits_total"));
    expect(Object.fromEntries(credits.map(([name, value]) => [name, Math.round(value * 1e6)]))).toEqual(
      Object.fromEntries(micro),
    );
    // Nothing above was compared with nothing.
    expect(tokens.get(`{${SERVED},bucket="cache_read"}`)).toBe(40);
    expect(attempts.get('{provider="openai",result="no_answer"}')).toBe(1);
    expect([...units.values()]).toEqual([1]);
  });

  test("a task that has ended is counted as a run, and is no longer in a state", () => {
    expect(those(samples, "switchyard_task_runs_total")).toEqual({ '{kind="image",end="completed"}': 1 });
    expect(new Set(Object.values(those(samples, "switchyard_tasks{")))).toEqual(new Set([0]));
  });

  test("nothing is left under way", () => {
    for (const name of ["open_holds", "bodies", "body_bytes"])
      expect([name, samples.get(`switchyard_${name}`)]).toEqual([name, 0]);
  });

  test("commits are counted and timed", () => {
    expect(samples.get("switchyard_store_commit_seconds_count")).toBeGreaterThan(10);
    expect(samples.get("switchyard_store_commands_total")).toBeGreaterThan(10);
    expect(samples.get("switchyard_store_failures_total")).toBe(0);
  });

  test("the process tells its memory, its time and its descriptors", () => {
    expect(samples.get("process_resident_memory_bytes")).toBeGreaterThan(1e7);
    expect(samples.get("process_cpu_seconds_total")).toBeGreaterThan(0);
    expect(samples.get("process_start_time_seconds")).toBeLessThan(Date.now() / 1_000);
    expect(Object.keys(those(samples, "switchyard_build_info"))[0]).toContain('runtime="bun ');
  });

  describeWithPromtool("by Prometheus's own parser", () => {
    test("the text is read, and its names and units are as Prometheus wants them", () => {
      expect(promtool(["check", "metrics"], text)).toBe("");
      expect(promtool(["check", "metrics"], `${text}x{ 1\n`)).not.toBe("");
    });
  });

  test("10,000 made-up models and paths add no series", async () => {
    const { app } = gateway.services;
    const namesNow = async (): Promise<string[]> => [...readSamples(await scrape(gateway)).keys()];
    const ask = async (i: number): Promise<void> => {
      const made =
        i % 2 === 0 ? { path: CHAT, model: `vendor/model-${i}` } : { path: `/path-${i}`, model: MODEL };
      const request = new Request(gateway.url + made.path, {
        method: "POST",
        headers: { authorization: `Bearer ${gateway.key}`, "content-type": "application/json" },
        body: JSON.stringify({ ...body, model: made.model }),
      });
      const { status } = await app(request, CONNECTION);
      expect(status).toBe(i % 2 === 0 ? 400 : 404);
    };
    const before = await namesNow();
    for (let i = 0; i < 10_000; i += 1) await ask(i);
    expect(await namesNow()).toEqual(before);
  }, 60_000);
});

test("of a stream that its provider begins after 3 s and ends after 4 more, the gateway's part is none of either", async () => {
  const clock = createFakeClock();
  const gateway = await start({ clock });
  const events = chatStream({ words: ["Hel", "lo."], usage: USAGE });
  const [first, last] = [createGate(), createGate()];
  double.enqueue(gateAt(gateAt(sseAnswer(events), 0, first), afterEvent(events, 3), last));
  const answered = gateway.chat({ ...body, stream: true });
  await double.waitForRequest(1);
  await clock.advance(3_000);
  first.release();
  const reader = (await answered).body?.getReader();
  await reader?.read();
  await clock.advance(4_000);
  last.release();
  while ((await reader?.read())?.done === false);
  const samples = readSamples(await scrape(gateway));
  expect(samples.get(`switchyard_time_to_first_token_seconds_sum{${SERVED}}`)).toBe(3);
  expect(samples.get(`switchyard_request_duration_seconds_sum{endpoint="${CHAT}"}`)).toBe(7);
  expect(samples.get(`switchyard_overhead_seconds_sum{endpoint="${CHAT}"}`)).toBe(0);
  expect(samples.get(`switchyard_overhead_seconds_count{endpoint="${CHAT}"}`)).toBe(1);
  await gateway.close();
});

test("while a request is under way its hold and its place are shown, and it is counted once it has ended", async () => {
  const gateway = await start();
  const gate = createGate();
  double.enqueue(gateAt(chatAnswer({ words: ["Hello."], usage: USAGE }), 0, gate));
  const answered = gateway.chat(body);
  await double.waitForRequest(1);
  const meanwhile = readSamples(await scrape(gateway));
  expect(meanwhile.get("switchyard_open_holds")).toBe(1);
  expect(meanwhile.get("switchyard_requests_in_flight")).toBe(2);
  expect(those(meanwhile, `switchyard_requests_total{endpoint="${CHAT}"`)).toEqual({});
  gate.release();
  await done(answered, 200);
  const after = readSamples(await scrape(gateway));
  expect(after.get("switchyard_open_holds")).toBe(0);
  expect(Object.values(those(after, `switchyard_requests_total{endpoint="${CHAT}"`))).toEqual([1]);
  await gateway.close();
});
