import { afterAll, afterEach, expect, test } from "bun:test";
import type { Json } from "../gateway/gateway.ts";
import { LONG } from "../runs.ts";
import { openRawClient, type RawClient } from "../upstream/raw-client.ts";
import { chatRequest, type LoadGateway, type LoadOptions, openLoad } from "./load-gateway.ts";
import { planText } from "./plan.ts";
import { runOpenLoop } from "./open-loop.ts";
import { MODEL } from "./provider.ts";
import { repeat } from "./repeat.ts";
import { createLoadTable, kib, mib, spread } from "./table.ts";

// Many requests and connections of one process. Counts and refusals are asserted; times and memory are printed.

const table = createLoadTable();
afterAll(() => table.print());

let gateway: LoadGateway;
const open = async (options?: LoadOptions): Promise<LoadGateway> => (gateway = await openLoad(options));
const clients: RawClient[] = [];
afterEach(async () => {
  for (const client of clients.splice(0)) client.close();
  await gateway.close();
});

const seconds = (sinceMs: number): string => `${((performance.now() - sinceMs) / 1_000).toFixed(1)} s`;
const bearer = (key: string): Record<string, string> => ({ authorization: `Bearer ${key}` });

async function connect(url: string, count: number, atOnce = 200): Promise<RawClient[]> {
  const opened: RawClient[] = [];
  while (opened.length < count) {
    const some = Array.from({ length: Math.min(atOnce, count - opened.length) }, () => openRawClient(url));
    opened.push(...(await Promise.all(some)));
  }
  clients.push(...opened);
  return opened;
}

const READS = LONG ? 30_000 : 2_000;

test(`${READS} reads of a task, and as many of the list of models, whole and by its tag, are each answered`, async () => {
  const { url, key } = await open({ environment: { SWITCHYARD_SANDBOX: "on" } });
  const body = JSON.stringify({ model: "bytedance/seedance-2.0", prompt: "A fox", duration: 5 });
  const headers = { ...bearer(key), "content-type": "application/json" };
  const task = (await (
    await fetch(`${url}/api/v1/videos`, { method: "POST", headers, body })
  ).json()) as Json;
  // Until it has ended it is written to.
  for (let status = ""; !["completed", "failed"].includes(status); await Bun.sleep(100))
    status = (
      (await (await fetch(`${url}/api/v1/videos/${task.id}`, { headers: bearer(key) })).json()) as Json
    ).status;
  const commands = await gateway.metric("switchyard_store_commands_total");
  const polled = `${url}/api/v1/videos/${task.id}`;
  const polls = await repeat(polled, { headers: bearer(key) }, { count: READS, atOnce: 32 });
  expect(polls.statuses).toEqual({ 200: READS });
  const rate = ({ answers, seconds: took, times }: typeof polls): string =>
    `${(answers / took).toFixed(0)}/s, ${spread(times)}`;
  const written = (await gateway.metric("switchyard_store_commands_total")) - commands;
  // The process renews its lease meanwhile.
  expect(written).toBeLessThan(READS / 100);
  const size = `${READS}, 32 at once`;
  table.add("L5 polls of a task", size, `${rate(polls)}; ${written} writes`, "1,500/s, p99 50 ms, no writes");

  const list = `${url}/api/v1/models`;
  const lists = await repeat(list, { headers: bearer(key) }, { count: READS, atOnce: 32 });
  expect(lists.statuses).toEqual({ 200: READS });
  table.add("L6 list of models", size, rate(lists), "3,000/s");
  const etag = (await fetch(list, { headers: bearer(key) })).headers.get("etag") ?? "";
  const known = { ...bearer(key), "if-none-match": etag };
  const same = await repeat(list, { headers: known }, { count: READS, atOnce: 32 });
  expect(same.statuses).toEqual({ 304: READS });
  table.add("L6 the same with its ETag", size, rate(same), "3,000/s");
}, 300_000);

const CAP = 50;
const LATENCY_MS = 200;
/** Three loads beyond capacity take five minutes. */
const LOAD_MS = LONG ? 100_000 : 2_000;

test("beyond what it may have under way each request is served or told at once to come again, and afterwards all are served", async () => {
  const { url, key, chat, provider } = await open({ environment: { CONNECTIONS_PER_ADDRESS: String(CAP) } });
  const content = planText({ words: 5, everyMs: LATENCY_MS });
  const request = { headers: bearer(key), json: chatRequest(content) };
  let all = 0;
  /** Asks so many times a second, and gives how many were served in each, and how long refusals took. */
  const load = async (perSecond: number) => {
    const plan = { url: `${url}/api/v1/chat/completions`, request, perSecond, ms: LOAD_MS };
    const { asked, served, seconds, refusals, wrong } = await runOpenLoop(plan);
    expect(wrong).toEqual([]);
    expect(served + refusals.length).toBe(asked);
    all += served;
    return { served: served / seconds, refusals };
  };
  const capacity = (CAP * 1_000) / LATENCY_MS;
  const peak = await load(capacity * 0.9);
  for (const times of [2, 5, 10]) {
    const { served, refusals } = await load(capacity * times);
    expect(refusals.length).toBeGreaterThan(0);
    const share = ((100 * served) / peak.served).toFixed(0);
    table.add(
      `L7 ${times} × over capacity`,
      `${capacity * times}/s at ${capacity}/s`,
      `${served.toFixed(0)}/s served (${share} % of ${peak.served.toFixed(0)}), ${refusals.length} × 503 in ${spread(refusals)}`,
      "85 % of the peak, 503 in 50 ms",
    );
  }
  // A refused request does not reach the provider, and no served one is lost or made twice.
  const { most, requests, finished } = await provider.counts();
  expect([requests, finished]).toEqual([all, all]);
  expect(most).toBeLessThanOrEqual(CAP);
  const since = performance.now();
  const statuses = await Promise.all(Array.from({ length: CAP }, async () => (await chat(content)).status));
  expect(statuses).toEqual(Array(CAP).fill(200));
  table.add("L7 afterwards", `${CAP} at once`, `all served in ${seconds(since)}`, "as before within 10 s");
  expect(await gateway.audit()).toMatchObject({ ok: true });
}, 900_000);

const SLOW = LONG ? 2_000 : 20;

test(`${SLOW} clients each that are slow with head, body or answer keep nobody from being served, and lose their connections`, async () => {
  const { url, key, chat } = await open();
  const head = `POST /api/v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\n`;
  const startedAt = performance.now();
  const heads = await connect(url, SLOW);
  const bodies = await connect(url, SLOW);
  const readers = await connect(url, SLOW);
  const since = { heads: "", bodies: "" };
  const ended = [
    Promise.all(heads.map((client) => client.ended())).then(() => (since.heads = seconds(startedAt))),
    Promise.all(bodies.map((client) => client.ended())).then(() => (since.bodies = seconds(startedAt))),
  ];
  let isOver = false;
  for (const client of heads) client.send("POST /api/v1/chat/completions HTTP/1.1\r\nx: ");
  for (const client of bodies)
    client.send(`${head}content-type: application/json\r\ncontent-length: 1000\r\n\r\n{`);
  for (const client of readers) {
    client.pause();
    client.send(`GET /api/v1/models HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\n\r\n`);
  }
  const drip = async (): Promise<void> => {
    for (; !isOver; await Bun.sleep(1_000)) for (const client of [...heads, ...bodies]) client.send("x");
  };
  const times: number[] = [];
  const good = async (): Promise<void> => {
    for (; !isOver; await Bun.sleep(50)) {
      const askedAt = performance.now();
      expect((await chat()).status).toBe(200);
      times.push(performance.now() - askedAt);
    }
  };
  const working = Promise.all([drip(), good(), good()]);
  await Promise.all(ended);
  isOver = true;
  await working;
  table.add(
    "L12 slow clients",
    `3 × ${SLOW}`,
    `heads ended by ${since.heads}, bodies by ${since.bodies}; ${times.length} others served in ${spread(times)}`,
    "heads 12 s, bodies 35 s, 95 % of the others served",
  );
}, 180_000);

const KEPT = LONG ? 10_000 : 500;
const KEPT_KIB = 15;

test(`${KEPT} idle connections that are kept take next to nothing, and others are served`, async () => {
  const { url, key, chat, rss, descriptors } = await open();
  await (await chat()).arrayBuffer();
  const [openBefore, before] = [descriptors(), rss()];
  const idle = await connect(url, KEPT);
  for (const client of idle) client.send("GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n");
  await Promise.all(idle.map((client) => client.waitFor('{"status":"ok"}')));
  const each = (rss() - before) / KEPT;
  expect((await chat()).status).toBe(200);
  let figures = `${kib(each)} each`;
  if (LONG) {
    const startedAt = performance.now();
    await Promise.all(idle.map((client) => client.ended()));
    figures += `; all ended by the gateway after ${seconds(startedAt)}`;
  }
  for (const client of idle) client.close();
  while (descriptors() > openBefore + 8) await Bun.sleep(50);
  expect((await fetch(`${url}/api/v1/models`, { headers: bearer(key) })).status).toBe(200);
  table.add("L13 idle connections", String(KEPT), figures, `${KEPT_KIB} KiB each`);
  // Of fewer the allocator's steps are most.
  if (LONG) expect(each / 1_024).toBeLessThan(KEPT_KIB);
}, 400_000);

const FLOOD = LONG ? 15_000 : 600;
const FLOOD_PER_SECOND = LONG ? 5_000 : 600;

test(`${FLOOD} connections without a byte leave others served, and are ended`, async () => {
  const { url, chat, descriptors } = await open();
  await (await chat()).arrayBuffer();
  const openBefore = descriptors();
  const startedAt = performance.now();
  const opening: Promise<RawClient>[] = [];
  for (; opening.length < FLOOD; await Bun.sleep(5))
    while (opening.length < Math.min(FLOOD, ((performance.now() - startedAt) / 1_000) * FLOOD_PER_SECOND))
      opening.push(openRawClient(url));
  const times: number[] = [];
  for (let i = 0; i < 20; i += 1) {
    const askedAt = performance.now();
    const response = await chat();
    // In the reserve of descriptors it is refused, and told when to come again.
    expect(response.status === 200 || response.headers.has("retry-after")).toBe(true);
    times.push(performance.now() - askedAt);
  }
  const most = descriptors();
  const settled = await Promise.allSettled(opening);
  const opened = settled.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
  clients.push(...opened);
  await Promise.all(opened.map((client) => client.ended()));
  while (descriptors() > openBefore + 8) await Bun.sleep(50);
  expect((await chat()).status).toBe(200);
  table.add(
    "L14 connections without a byte",
    `${FLOOD} at ${FLOOD_PER_SECOND}/s`,
    `${most} descriptors at the most; others in ${spread(times)}; all ended after ${seconds(startedAt)}`,
    "others served or told to come again",
  );
}, 120_000);

const BODIES = LONG ? 200 : 12;
const BODY_BYTES = LONG ? 20_000_000 : 5_000_000;
const BODIES_MIB = LONG ? 640 : 100;

test(`of ${BODIES} requests of ${BODY_BYTES / 1e6} MB at once as many are taken as memory is set for, and the others are a 503`, async () => {
  const { url, key, provider, rss } = await open({ settings: { memory: { bodies_mib: BODIES_MIB } } });
  const content = `${planText({ words: 1, everyMs: 500 })}data:image/png;base64,${"A".repeat(BODY_BYTES)}`;
  const body = JSON.stringify({ model: MODEL, max_tokens: 64, messages: [{ role: "user", content }] });
  const bytes = Buffer.from(
    `POST /api/v1/chat/completions HTTP/1.1\r\nhost: x\r\nconnection: close\r\nauthorization: Bearer ${key}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  );
  const before = rss();
  let most = 0;
  const looking = setInterval(() => (most = Math.max(most, rss())), 50);
  const startedAt = performance.now();
  const asking = await connect(url, BODIES);
  for (const client of asking) client.send(bytes);
  const answers = await Promise.all(asking.map((client) => client.waitFor("\r\n\r\n{")));
  clearInterval(looking);
  const served = answers.filter((answer) => answer.startsWith("HTTP/1.1 200")).length;
  const refused = answers.filter((answer) => /^HTTP\/1.1 503[^]*\r\nretry-after: [1-5]\r\n/i.test(answer));
  expect(served).toBeGreaterThan(0);
  expect(served + refused.length).toBe(BODIES);
  expect((await provider.counts()).requests).toBe(served);
  table.add(
    "L15 large bodies at once",
    `${BODIES} × ${BODY_BYTES / 1e6} MB`,
    `${served} served, ${refused.length} × 503 in ${seconds(startedAt)}; ${mib(most - before)} more at the most`,
    `${BODIES_MIB} MiB of bodies, the others 503`,
  );
  expect((most - before) / 2 ** 20).toBeLessThan(BODIES_MIB);
  expect(await gateway.audit()).toMatchObject({ ok: true });
}, 180_000);
