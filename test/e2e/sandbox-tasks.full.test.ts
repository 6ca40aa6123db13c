import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { imageSizeOf } from "../../src/core/media/image-size.ts";
import type { Json } from "../gateway/gateway.ts";
import { PATHS, startTaskStation, type TaskStation } from "./task-station.ts";

// Images and videos of the sandbox through the whole gateway: its own pace, and what can be ordered of it.

let station: TaskStation;
beforeAll(async () => {
  station = await startTaskStation();
});
afterAll(() => station.gateway.close());

const ordered = (orders: string): Record<string, string> => ({ "x-sandbox": orders });

const newest = async (): Promise<string> =>
  (await station.gateway.admin("GET", "/tasks?limit=1")).json.data[0]?.id ?? "none";

for (const kind of ["image", "video"] as const)
  test(`a task (${kind}) of which nothing is ordered can be seen in each of its states`, async () => {
    const task = await station.submit(kind, {}, {});
    expect((await station.read(task.polling_url)).json.status).toBe("pending");
    const running = await station.until(task, "running");
    const done = await station.until(running, "completed");
    const { json } = await station.gateway.admin("GET", `/tasks?limit=1`);
    const [row] = json.data as readonly Json[];
    expect(row.id).toBe(done.id);
    const [created, started, completed] = [row.created_at, row.started_at, row.ended_at] as number[];
    expect(started! - created!).toBeGreaterThanOrEqual(1);
    expect(completed! - started!).toBeGreaterThanOrEqual(2);
  });

describe("an order that makes no sense is a 400 that names the header, and makes no task", () => {
  const cases = [
    ["image", "tokens=5"],
    ["image", "fail=reset_mid_stream"],
    ["image", "images=2"],
    ["video", "fail=rate_limit"],
    ["video", "fail=partial"],
    ["video", "speed=1"],
  ] as const;
  for (const [kind, orders] of cases)
    test(`${orders} of ${kind}s`, async () => {
      const before = await newest();
      const response = await station.post(kind, {}, ordered(orders));
      const { error } = (await response.json()) as Json;
      expect([response.status, error.type, error.param]).toEqual([400, "invalid_request_error", "x-sandbox"]);
      expect(response.headers.get("x-switchyard-provider")).toBe("sandbox");
      expect(await newest()).toBe(before);
    });

  test("what makes sense of tasks makes none of text", async () => {
    for (const orders of [
      "running_ms=5",
      "pending_ms=5",
      "fail=failed",
      "fail=partial",
      "fail=vanish",
      "images=1",
    ]) {
      const response = await station.gateway.chat(
        { model: "openai/gpt-5.6-luna", messages: [{ role: "user", content: "hi" }] },
        { headers: ordered(orders) },
      );
      expect(response.status).toBe(400);
    }
  });
});

test("fail=rate_limit is a 429 of images that says when to come again, and makes no task", async () => {
  const before = await newest();
  const response = await station.post("image", {}, ordered("fail=rate_limit"));
  expect([response.status, ((await response.json()) as Json).error.type]).toEqual([429, "rate_limit_error"]);
  expect(response.headers.get("retry-after")).toBe("1");
  expect(await newest()).toBe(before);
});

test("fail=partial brings fewer images, and charges for those", async () => {
  for (const [orders, delivered] of [
    ["fail=partial", 2],
    ["fail=partial; images=1", 1],
  ] as const) {
    const task = await station.submit("image", { n: 3 }, ordered(`pending_ms=0; running_ms=0; ${orders}`));
    const done = await station.until(task, "completed", "failed");
    expect([done.status, done.data.length, done.credit]).toEqual(["completed", delivered, 350 * delivered]);
  }
});

test("an edited image of gpt-image is of the asked size and format, whatever was given", async () => {
  const image = await fetch((await madeOf({ model: "google/gemini-3-pro-image", aspect_ratio: "21:9" })).url);
  const given = `data:image/png;base64,${(await image.bytes()).toBase64()}`;
  expect(imageSizeOf(given)).toEqual({ width: 1584, height: 672 });
  const { url } = await madeOf({
    model: "openai/gpt-image-2/edit",
    image: [given, "https://images.example/b.png"],
    size: "1536*1024",
    output_format: "webp",
  });
  const response = await fetch(url);
  expect(response.headers.get("content-type")).toBe("image/webp");
  const edited = `data:image/webp;base64,${(await response.bytes()).toBase64()}`;
  expect(imageSizeOf(edited)).toEqual({ width: 1536, height: 1024 });
});

async function madeOf(body: object): Promise<{ readonly url: string }> {
  const request = { prompt: "A red fox.", ...body };
  const response = await station.gateway.post(PATHS.image, request, {
    headers: ordered("pending_ms=0; running_ms=0"),
  });
  const json = (await response.json()) as Json;
  expect([response.status, json.error?.message]).toEqual([200, undefined]);
  return json.data[0];
}
