import { expect } from "bun:test";
import { createFakeClock } from "../gateway/fake-clock.ts";
import type { Json } from "../gateway/gateway.ts";
import {
  AT_ONCE,
  type Kind,
  passTime,
  PATHS,
  RUNNING,
  SMALL,
  startTaskStation,
  WAITING,
} from "../e2e/task-station.ts";
import { describeTable } from "./spec-tables.ts";
import { eachOf, openTaskInterface, type TaskReply } from "./task-interface.ts";

const api = openTaskInterface();
const KINDS: readonly Kind[] = ["image", "video"];

async function eachKind(check: (kind: Kind) => Promise<void>): Promise<void> {
  for (const kind of KINDS) await check(kind);
}

const submit = (kind: Kind, headers: Readonly<Record<string, string>>) =>
  api.station.submit(kind, {}, headers);

describeTable(
  { heading: "States and transitions", column: "Status" },
  {
    pending: () =>
      eachKind(async (kind) => {
        const { status, started_at } = await submit(kind, WAITING);
        expect([status, started_at]).toEqual(["pending", null]);
      }),
    running: () =>
      eachKind(async (kind) => {
        const task = await api.station.until(await submit(kind, RUNNING), "running");
        expect(task.started_at).toBeGreaterThanOrEqual(task.created);
      }),
    async in_progress() {
      // It is shown as running.
      const seen = new Set<string>();
      const task = await submit("video", { "x-sandbox": "pending_ms=0; running_ms=300" });
      for (let status = ""; status !== "completed";) {
        status = (await api.station.read(task.polling_url)).json.status;
        seen.add(status);
      }
      expect(seen.has("running")).toBe(true);
      expect(seen.has("in_progress")).toBe(false);
    },
    completed: () =>
      eachKind(async (kind) => {
        const task = await api.station.until(await submit(kind, AT_ONCE), "completed");
        expect((kind === "image" ? task.data : task.output.urls).length).toBe(1);
        expect(task.credit).toBeGreaterThan(0);
      }),
    failed: () =>
      eachKind(async (kind) => {
        const orders = { "x-sandbox": "pending_ms=0; running_ms=0; fail=failed" };
        const { error } = await api.station.until(await submit(kind, orders), "failed");
        expect(kind === "image" ? error.message : error).toMatch(/\S/);
      }),
    cancelled: () =>
      eachKind(async (kind) => {
        const task = await submit(kind, WAITING);
        await api.station.cancel(task.polling_url);
        expect((await api.station.read(task.polling_url)).json.status).toBe("cancelled");
      }),
  },
);

describeTable(
  { heading: "States and transitions", column: "From" },
  {
    async "(none) POST /api/v1/images/generations with async=true"() {
      const { status, json } = await api.ask("image", SMALL.image, WAITING);
      expect([status, json.status, json.object]).toEqual([202, "pending", "image_generation.task"]);
    },
    async "(none) POST /api/v1/videos"() {
      const { status, json } = await api.ask("video", SMALL.video, WAITING);
      expect([status, json.status, json.polling_url]).toEqual([202, "pending", `${PATHS.video}/${json.id}`]);
    },
    "pending cancel call on the task": () =>
      eachKind(async (kind) => {
        const { id, polling_url } = await submit(kind, WAITING);
        const response = await api.station.cancel(polling_url);
        const object = kind === "image" ? { object: "image_generation.task" } : {};
        expect([response.status, await response.json()]).toEqual([
          200,
          { id, ...object, status: "cancelled" },
        ]);
      }),
    "running (task already started) cancel call on the task": () =>
      eachKind(async (kind) => {
        const task = await api.station.until(await submit(kind, RUNNING), "running");
        expect((await api.station.cancel(task.polling_url)).status).toBe(409);
        expect((await api.station.read(task.polling_url)).json).toEqual(task);
      }),
  },
);

function expectError({ status, json, headers }: TaskReply, wanted: number, type: string, code = type): void {
  expect([status, json.error?.type]).toEqual([wanted, type]);
  expect(json.error.message).toMatch(/\S/);
  expect([json.error.code, "param" in json.error]).toEqual([code, true]);
  expect(headers.get("x-request-id")).toStartWith("req_");
}

const withKey = (key: string) => ({ authorization: `Bearer ${key}` });

describeTable(
  { heading: "Errors", column: "HTTP status" },
  {
    "400 invalid_request_error": () =>
      eachKind(async (kind) =>
        expectError(await api.ask(kind, { ...SMALL[kind], prompt: 5 }), 400, "invalid_request_error"),
      ),
    async "400 content_moderation"() {
      const orders = { "x-sandbox": "pending_ms=0; running_ms=0; fail=moderation" };
      const reply = await api.ask("image", { ...SMALL.image, async: false }, orders);
      expectError(reply, 400, "content_moderation");
    },
    "400 input_too_large": () =>
      eachKind(async (kind) => {
        const padding = "x".repeat(33 * 1024 * 1024);
        expectError(await api.ask(kind, { ...SMALL[kind], padding }), 400, "input_too_large");
      }),
    "401 auth_error": () =>
      eachKind(async (kind) => {
        for (const [key, code] of [
          ["sk-nobody", "api_key_malformed"],
          ["", "api_key_missing"],
        ] as const)
          expectError(await api.ask(kind, SMALL[kind], withKey(key)), 401, "auth_error", code);
      }),
    "402 insufficient_credits": () =>
      eachKind(async (kind) => {
        const { headers } = await api.station.issue(0);
        expectError(await api.ask(kind, SMALL[kind], headers), 402, "insufficient_credits");
      }),
    async "429 rate_limit_error"() {
      const { headers } = await api.station.issue(100_000, { requests_per_minute: 1 });
      const orders = { ...WAITING, ...headers };
      const { status, json } = await api.ask("image", SMALL.image, orders);
      expect(status).toBe(202);
      const refused = await api.ask("image", SMALL.image, orders);
      expectError(refused, 429, "rate_limit_error");
      expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
      // Creating videos lists no 429; reads and cancels have no limit.
      const video = await api.ask("video", SMALL.video, orders);
      expectError(video, 503, "overloaded_error");
      expect(Number(video.headers.get("retry-after"))).toBeGreaterThan(0);
      expect((await api.station.read(json.polling_url, headers)).status).toBe(200);
      expect((await api.station.cancel(json.polling_url, headers)).status).toBe(200);
    },
    "404 (body not described)": () =>
      eachKind(async (kind) => {
        const { status, json } = await api.station.read(`${PATHS[kind]}/nothing`);
        expect([status, json.error.type]).toEqual([404, "not_found_error"]);
        const response = await api.station.cancel(`${PATHS[kind]}/nothing`);
        expect([response.status, await response.json()]).toEqual([404, json]);
      }),
    "409 (body not described)": () =>
      eachKind(async (kind) => {
        const task = await api.station.until(await submit(kind, RUNNING), "running");
        const response = await api.station.cancel(task.polling_url);
        const json = (await response.json()) as Json;
        expectError({ status: response.status, headers: response.headers, json }, 409, "conflict_error");
        expect(response.headers.get("x-should-retry")).toBe("false");
      }),
  },
);

const QWEN = { model: "alibaba/qwen-image-2.0", prompt: "A boat." };
const MIDJOURNEY = { ...QWEN, model: "midjourney/midjourney" };
const WAN = { model: "alibaba/wan-2.6", prompt: "A boat." };

/** The values at the ends of a range are taken, and those beyond are refused. */
async function within(
  kind: Kind,
  base: object,
  name: string,
  { good, bad }: { readonly good: readonly unknown[]; readonly bad: readonly unknown[] },
): Promise<void> {
  await api.takes(kind, ...eachOf(base, name, good));
  await api.refuses(kind, name, ...eachOf(base, name, bad));
}

/** Asks after a task so often, at once and on a key with a limit that any limit on reads would be. */
async function pollsFreely(kind: Kind): Promise<void> {
  const { headers } = await api.station.issue(100_000, { requests_per_minute: 1, concurrency: 1 });
  const task = await api.station.submit(kind, {}, { ...WAITING, ...headers });
  for (let i = 0; i < 10; i += 1)
    expect((await api.station.read(task.polling_url, headers)).status).toBe(200);
}

describeTable(
  { heading: "Limits", column: "Limit" },
  {
    "images per request n": () => within("image", QWEN, "n", { good: [1, 4], bad: [0, 5] }),
    async "image async timeout"() {
      await within("image", QWEN, "timeout", { good: [30, 1_800], bad: [29, 1_801] });
      expect((await api.takes("image", QWEN)).timeout).toBe(300);
    },
    async "video timeout"() {
      await within("video", WAN, "timeout", { good: [60, 3_600], bad: [59, 3_601] });
      expect((await api.takes("video", WAN)).timeout).toBe(600);
    },
    "video seed": () => within("video", WAN, "seed", { good: [-1, 2_147_483_647], bad: [-2, 2_147_483_648] }),
    "video duration": () =>
      within("video", WAN, "duration", { good: ["5", "10", "15", 5], bad: ["4", "6", "20", 0] }),
    async "chaos / weird / stylize"() {
      await within("image", MIDJOURNEY, "chaos", { good: [0, 100], bad: [-1, 101] });
      await within("image", MIDJOURNEY, "weird", { good: [0, 3_000], bad: [-1, 3_001] });
      await within("image", MIDJOURNEY, "stylize", { good: [0, 1_000], bad: [-1, 1_001] });
    },
    "image poll interval (recommended)": () => pollsFreely("image"),
    "video poll interval (recommended)": () => pollsFreely("video"),
    async "typical image generation time"() {
      const clock = createFakeClock();
      const station = await startTaskStation({ clock });
      const orders = { "x-sandbox": "pending_ms=0; running_ms=180000" };
      let answered: Response | undefined;
      void station.post("image", { async: false }, orders).then((response) => (answered = response));
      const passed = await passTime(clock, 250, () => answered !== undefined);
      expect(answered?.status).toBe(200);
      expect(passed).toBeGreaterThanOrEqual(180);
      await station.gateway.close();
    },
    // 0.035 USD an image.
    "credit conversion": async () => {
      const { json } = await api.ask("image", { ...SMALL.image, async: false });
      expect(json.credit).toBe((35 * 10_000) / 1_000);
    },
  },
  ["temperature", "top_p"],
);

async function listed(category: Kind): Promise<string[]> {
  const { json } = await api.station.read("/api/v1/models");
  return json.data.filter((model: Json) => model.category === category).map(({ id }: Json) => id);
}

describeTable(
  { heading: "What the service does", column: "Endpoint" },
  {
    "image generations": async () => expect(await listed("image")).toHaveLength(5),
    videos: async () => expect(await listed("video")).toHaveLength(3),
  },
  ["chat completions", "messages", "generateContent"],
);
