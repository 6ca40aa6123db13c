import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { imageSizeOf } from "../../src/core/media/image-size.ts";
import { createFakeClock } from "../gateway/fake-clock.ts";
import type { Json } from "../gateway/gateway.ts";
import { AT_ONCE, passTime, RUNNING, startTaskStation, type TaskStation, WAITING } from "./task-station.ts";

// Images over a real socket, made by the sandbox.

let station: TaskStation;
beforeAll(async () => {
  station = await startTaskStation();
});
afterAll(() => station.gateway.close());

const PLAIN = { async: false };

async function fileOf(url: string): Promise<{ readonly type: string | null; readonly bytes: Uint8Array }> {
  const response = await fetch(url);
  expect(response.status).toBe(200);
  return { type: response.headers.get("content-type"), bytes: await response.bytes() };
}

function sizeOf(bytes: Uint8Array): unknown {
  return imageSizeOf(`data:image/png;base64,${bytes.toBase64()}`);
}

describe("a plain request", () => {
  test("is answered with its images, which can be had, and says who made them", async () => {
    const response = await station.post("image", { ...PLAIN, n: 2 });
    const json = (await response.json()) as Json;
    expect([response.status, Object.keys(json).toSorted()]).toEqual([200, ["created", "credit", "data"]]);
    expect(response.headers.get("content-type")).toBe("application/json");
    expect(response.headers.get("x-switchyard-provider")).toBe("sandbox");
    expect(response.headers.get("warning")).toBeNull();
    expect(Math.abs(json.created - Date.now() / 1000)).toBeLessThan(60);
    expect(json.data.length).toBe(2);
    for (const image of json.data) {
      expect(Object.keys(image)).toEqual(["url"]);
      const { type, bytes } = await fileOf(image.url);
      expect([type, sizeOf(bytes)]).toEqual(["image/png", { width: 512, height: 512 }]);
    }
  });

  test("has the image in base64 when that is asked for by name, and the URL all the same", async () => {
    const response = await station.post("image", { ...PLAIN, response_format: "b64_json" });
    const [image] = ((await response.json()) as Json).data;
    const { bytes } = await fileOf(image.url);
    expect(image.b64_json).toBe(bytes.toBase64());
    const without = await station.post("image", { ...PLAIN, response_format: "url" });
    expect(Object.keys(((await without.json()) as Json).data[0])).toEqual(["url"]);
  });

  test("tells tokens on a model that is billed by them", async () => {
    const body = { ...PLAIN, model: "openai/gpt-image-2", size: "1024*1024", quality: "low" };
    const json = (await (await station.post("image", body)).json()) as Json;
    const { input_tokens, output_tokens, total_tokens } = json.usage;
    expect(input_tokens).toBeGreaterThan(0);
    expect(output_tokens).toBeGreaterThan(0);
    expect(total_tokens).toBe(input_tokens + output_tokens);
  });

  const failures = [
    ["moderation", 400, "content_moderation"],
    ["failed", 502, "upstream_error"],
  ] as const;
  for (const [order, status, type] of failures) {
    test(`that the sandbox is told to answer with ${order} is ${status} ${type} and costs nothing`, async () => {
      const { headers, accountId } = await station.issue(10_000);
      const response = await station.post("image", PLAIN, {
        ...headers,
        "x-sandbox": `pending_ms=0; running_ms=0; fail=${order}`,
      });
      const json = (await response.json()) as Json;
      expect([response.status, json.error?.type]).toEqual([status, type]);
      expect(response.headers.get("retry-after")).toBeNull();
      expect(json.error.message).toMatch(/\S/);
      const { json: account } = await station.gateway.admin("GET", `/accounts/${accountId}`);
      expect([account.balance, account.held]).toEqual([10_000, 0]);
    });
  }

  test("that is cancelled by the id of its task is 409, and not to be tried again", async () => {
    const { headers, accountId } = await station.issue(10_000);
    const waits = station.post("image", PLAIN, { ...WAITING, ...headers });
    const [task] = await listed(`/tasks?account_id=${accountId}&status=pending`);
    expect((await station.cancel(`/api/v1/images/generations/${task.id}`, headers)).status).toBe(200);
    const cancelled = await waits;
    expect([cancelled.status, ((await cancelled.json()) as Json).error.type]).toEqual([
      409,
      "conflict_error",
    ]);
    expect(cancelled.headers.get("x-should-retry")).toBe("false");
    const { json } = await station.gateway.admin("GET", `/accounts/${accountId}`);
    expect([json.balance, json.held]).toEqual([10_000, 0]);
  });

  for (const [order, status, type, retryAfter] of [
    ["overloaded", 503, "overloaded_error", "10"],
    ["timeout", 504, "timeout_error", null],
  ] as const) {
    test(`whose provider is ${order} until its time is over is ${status} ${type}, and costs nothing`, async () => {
      const clock = createFakeClock();
      const late = await startTaskStation({ clock });
      try {
        let answered: Response | undefined;
        const orders = { "x-sandbox": `pending_ms=0; fail=${order}` };
        void late.post("image", { ...PLAIN, timeout: 30 }, orders).then((response) => (answered = response));
        await passTime(clock, 60, () => answered !== undefined);
        const json = (await answered?.json()) as Json;
        expect([answered?.status, json.error.type]).toEqual([status, type]);
        expect(answered?.headers.get("retry-after")).toBe(retryAfter);
        const { balance, held } = await late.gateway.account();
        expect([balance, held]).toEqual([1_000_000, 0]);
      } finally {
        await late.gateway.close();
      }
    });
  }

  test("whose client goes ends its task, and frees what was held", async () => {
    const { headers, accountId } = await station.issue(10_000);
    for (const orders of [WAITING, RUNNING]) {
      const client = new AbortController();
      const body = { model: "alibaba/qwen-image-2.0", prompt: "x" };
      const init = { headers: { ...headers, ...orders }, signal: client.signal };
      const asked = station.gateway.post("/api/v1/images/generations", body, init);
      const tasks = `/tasks?account_id=${accountId}&limit=1&status=`;
      const state = orders === WAITING ? "pending" : "running";
      const [task] = await listed(`${tasks}${state}`);
      client.abort();
      await asked.catch(() => undefined);
      const ended = await listed(
        `/tasks?id=${task.id}&status=${state === "pending" ? "cancelled" : "failed"}`,
      );
      expect(ended.length).toBe(1);
    }
    const { json: account } = await station.gateway.admin("GET", `/accounts/${accountId}`);
    expect([account.balance, account.held]).toEqual([10_000, 0]);
  });
});

/** A list of the admin interface, once it has something. */
async function listed(path: string): Promise<Json[]> {
  const deadline = Date.now() + 10_000;
  for (;;) {
    const { json } = await station.gateway.admin("GET", path);
    if (json.data.length > 0) return json.data;
    if (Date.now() > deadline) throw new Error(`${path} lists nothing.`);
    await Bun.sleep(20);
  }
}

describe("a task", () => {
  test("is pending at first, with where to ask for it and to cancel it", async () => {
    const response = await station.post("image", {}, WAITING);
    const task = (await response.json()) as Json;
    expect(response.status).toBe(202);
    expect(response.headers.get("x-switchyard-provider")).toBe("sandbox");
    expect(task).toEqual({
      id: expect.stringMatching(/^img_[0-9a-f]{32}$/),
      object: "image_generation.task",
      status: "pending",
      created: expect.any(Number),
      timeout: 300,
      polling_url: `/api/v1/images/generations/${task.id}`,
      cancel_url: `/api/v1/images/generations/${task.id}/cancel`,
      started_at: null,
      completed_at: null,
      warnings: [],
      error: null,
    });
    expect((await station.read(task.polling_url)).json).toEqual(task);
    await station.cancel(task.polling_url);
  });

  test("is pending, running and completed in this order, and its result stands in both layouts", async () => {
    const task = await station.submit("image", { n: 2 }, { "x-sandbox": "pending_ms=300; running_ms=300" });
    const running = await station.until(task, "running");
    expect([running.completed_at, running.started_at >= task.created]).toEqual([null, true]);
    const done = await station.until(task, "completed");
    expect(done.completed_at).toBeGreaterThanOrEqual(done.started_at);
    expect(done.data.length).toBe(2);
    const { created, ...result } = done.result;
    expect(created).toBeGreaterThanOrEqual(task.created);
    expect(result).toEqual({ data: done.data, credit: done.credit });
    expect(done.error).toBeNull();
    for (const { url } of done.data) await fileOf(url);
  });

  test("has base64 at every read where that was asked for by name", async () => {
    const task = await station.submit("image", { response_format: "b64_json" });
    const done = await station.until(task, "completed");
    const { bytes } = await fileOf(done.data[0].url);
    expect(done.data[0].b64_json).toBe(bytes.toBase64());
    expect(done.result.data[0].b64_json).toBe(done.data[0].b64_json);
    const other = await station.until(await station.submit("image"), "completed");
    expect(other.data[0]).not.toHaveProperty("b64_json");
  });

  test("that fails says why in an object, costs nothing, and has no result", async () => {
    const task = await station.submit(
      "image",
      {},
      { "x-sandbox": "pending_ms=0; running_ms=0; fail=moderation" },
    );
    const failed = await station.until(task, "failed");
    expect(failed.error).toEqual({ type: "content_moderation", message: expect.stringMatching(/\S/) });
    for (const name of ["data", "result", "credit", "usage"]) expect(failed).not.toHaveProperty(name);
    expect(failed.completed_at).not.toBeNull();
  });
});

test("every model makes an image", async () => {
  const small =
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
  const bodies: readonly (readonly [model: string, images: number, more?: object])[] = [
    ["alibaba/qwen-image-2.0", 1],
    ["google/gemini-3-pro-image", 1],
    ["midjourney/midjourney", 4],
    ["openai/gpt-image-2", 1],
    ["openai/gpt-image-2/edit", 1, { image: [small] }],
  ];
  for (const [model, images, more = {}] of bodies) {
    const body = { model, prompt: "A lighthouse.", ...more };
    const response = await station.gateway.post("/api/v1/images/generations", body, { headers: AT_ONCE });
    const json = (await response.json()) as Json;
    expect([model, response.status, json.data?.length]).toEqual([model, 200, images]);
    expect(json.credit).toBeGreaterThan(0);
  }
});
