import { expect } from "bun:test";
import { FORMAT_CLIENTS, type FormatClient, jsonEvents, streamedBody } from "../gateway/format-clients.ts";
import type { Json } from "../gateway/gateway.ts";
import type { LoadGateway } from "./load-gateway.ts";
import { planText, type Plan } from "./plan.ts";
import { MODEL, MOODY } from "./provider.ts";

/** What the soak has asked for so far, and what went wrong. */
export interface SoakTally {
  readonly asked: Record<string, number>;
  left: number;
  broken: number;
  /** Of these, calls of a provider amid an outage that were to go well. */
  outages: number;
  /** What clients that stay were told of their charges. */
  credit: number;
  readonly wrong: string[];
}

/** Who asks. */
export interface SoakClient {
  readonly gateway: LoadGateway;
  readonly tally: SoakTally;
  /** The account of clients that stay, so that its charges are all told. */
  readonly stays: string;
  /** That of clients that leave. */
  readonly leaves: string;
  /** The provider of `MOODY` is amid an outage. */
  isBad(): boolean;
  random(): number;
}

const LEAVING = 0.1;
const FAULTY = 0.02;
const FAULTS = ["500", "reset", "cut"] as const;
const IMAGE = { model: "alibaba/qwen-image-2.0", prompt: "A fox", size: "512*512" };
const VIDEO = { model: "bytedance/seedance-2.0-fast", prompt: "A fox", duration: 5, resolution: "480p" };

/** How many of the requests go to a provider that has outages. */
const TO_MOODY = 0.25;

/** One request of those that language models are asked for: any format, streamed or plain, of either model. */
export async function askLanguage(client: SoakClient): Promise<void> {
  return askModel(client, client.random() < TO_MOODY ? MOODY : MODEL);
}

/** One request of that model. */
export async function askModel(client: SoakClient, model: string): Promise<void> {
  const { random, tally, gateway } = client;
  const names = Object.keys(FORMAT_CLIENTS) as (keyof typeof FORMAT_CLIENTS)[];
  const name = names[Math.floor(random() * names.length)] ?? "chat_completions";
  const isPlain = name === "chat_completions" && random() < 0.5;
  const fault = random() < FAULTY ? FAULTS[Math.floor(random() * FAULTS.length)] : undefined;
  const plan: Partial<Plan> = {
    words: 1 + Math.floor(random() * 20),
    everyMs: Math.floor(random() * 20),
    ...(fault === undefined ? {} : { fault }),
  };
  const format: FormatClient = FORMAT_CLIENTS[name];
  const body = withText(streamedBody(format, model), planText(plan));
  if (isPlain) body.stream = false;
  const what = isPlain ? "plain" : name;
  tally.asked[what] = (tally.asked[what] ?? 0) + 1;
  if (random() < LEAVING) return leaveWithin(client, format.path(model), body, random() * 200);
  const wasBad = client.isBad();
  const response = await post(gateway, client.stays, format.path(model), body);
  const text = await response.text();
  const events: Json[] = isPlain || response.status !== 200 ? [JSON.parse(text)] : jsonEvents(text);
  tally.credit += Number(events.map(creditIn).findLast((said) => said !== undefined) ?? 0);
  const isWhole = response.status === 200 && (isPlain || format.isWhole(events));
  const isBroken = response.status >= 500 || (!isPlain && format.hasFailed(events));
  // The other route serves it, unless more had to be tried again at once than the budget of retries has saved.
  const isAmidOutage = model === MOODY && (wasBad || client.isBad());
  if (isBroken) tally.broken += 1;
  if (isBroken && isAmidOutage && fault === undefined) tally.outages += 1;
  // A plain answer is not cut.
  const mayBreak = isAmidOutage || (fault !== undefined && !(isPlain && fault === "cut"));
  if (isWhole === isBroken || (isBroken && !mayBreak))
    tally.wrong.push(`${what} of ${model}, ${JSON.stringify(plan)}: ${response.status} ${text.slice(-300)}`);
}

/** An image, by a request that waits; or a video, which is asked after. */
export async function askMedia(client: SoakClient): Promise<void> {
  const { random, tally, gateway } = client;
  const isImage = random() < 0.5;
  const what = isImage ? "image" : "video";
  tally.asked[what] = (tally.asked[what] ?? 0) + 1;
  const path = isImage ? "/api/v1/images/generations" : "/api/v1/videos";
  if (random() < LEAVING) return leaveWithin(client, path, isImage ? IMAGE : VIDEO, random() * 3_000);
  const response = await post(gateway, client.stays, path, isImage ? IMAGE : VIDEO);
  let task = (await response.json()) as Json;
  while (["pending", "running"].includes(task.status)) {
    await Bun.sleep(100);
    const headers = { authorization: `Bearer ${client.stays}` };
    task = await (await fetch(`${gateway.url}${path}/${task.id}`, { headers })).json();
  }
  tally.credit += Number(creditIn(task) ?? 0);
  if (!response.ok || (task.status ?? "completed") !== "completed")
    tally.wrong.push(`${what}: ${response.status} ${JSON.stringify(task).slice(0, 300)}`);
}

/** What reads cost nothing for. */
export async function askReads({ gateway, stays, tally }: SoakClient): Promise<void> {
  tally.asked.reads = (tally.asked.reads ?? 0) + 1;
  for (const path of ["/api/v1/models", "/healthz", "/readyz", "/llms.txt"]) {
    const { status } = await fetch(`${gateway.url}${path}`, {
      headers: { authorization: `Bearer ${stays}` },
    });
    expect([path, status]).toEqual([path, 200]);
  }
}

async function leaveWithin({ gateway, tally, leaves }: SoakClient, path: string, body: Json, ms: number) {
  tally.left += 1;
  const signal = AbortSignal.timeout(Math.ceil(ms));
  await post(gateway, leaves, path, body, signal)
    .then((response) => response.text())
    .catch(() => undefined);
}

function post({ url }: LoadGateway, key: string, path: string, body: Json, signal?: AbortSignal) {
  return fetch(`${url}${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify(body),
    ...(signal === undefined ? {} : { signal }),
  });
}

/** The body with that text in place of the user's. */
function withText(body: Json, text: string): Json {
  return JSON.parse(JSON.stringify(body).replace("Say hello.", text));
}

const creditIn = (event: Json): unknown =>
  event.credit ?? event.response?.credit ?? event.usageMetadata?.credit ?? event.usage?.credit;
