import { afterAll, beforeAll, expect, test } from "bun:test";
import { startTaskStation, type TaskStation, WAITING } from "./task-station.ts";

// Videos over a real socket, made by the sandbox.

let station: TaskStation;
beforeAll(async () => {
  station = await startTaskStation();
});
afterAll(() => station.gateway.close());

test("a video is pending at first, with where to ask for it and to cancel it", async () => {
  const response = await station.post("video", {}, WAITING);
  const task: unknown = await response.json();
  expect(response.status).toBe(202);
  expect(response.headers.get("x-switchyard-provider")).toBe("sandbox");
  const { id } = task as { id: string };
  expect(task).toEqual({
    id: expect.stringMatching(/^vid_[0-9a-f]{32}$/),
    status: "pending",
    created: expect.any(Number),
    timeout: 600,
    polling_url: `/api/v1/videos/${id}`,
    cancel_url: `/api/v1/videos/${id}/cancel`,
    started_at: null,
    completed_at: null,
    warnings: [],
  });
  expect((await station.read(`/api/v1/videos/${id}`)).json).toEqual(task);
  await station.cancel(`/api/v1/videos/${id}`);
});

test("it runs and completes with a URL of a video and its cost", async () => {
  const task = await station.submit("video", {}, { "x-sandbox": "pending_ms=200; running_ms=300" });
  expect((await station.until(task, "running")).status).toBe("running");
  const done = await station.until(task, "completed");
  expect(done.output.urls.length).toBe(1);
  expect(done.credit).toBeGreaterThan(0);
  expect(done).not.toHaveProperty("error");
  const video = await fetch(done.output.urls[0]);
  expect([video.status, video.headers.get("content-type")]).toEqual([200, "video/mp4"]);
  expect(Buffer.from((await video.bytes()).subarray(4, 8)).toString()).toBe("ftyp");
});

test("one that fails says why in a sentence, and costs nothing", async () => {
  const orders = { "x-sandbox": "pending_ms=0; running_ms=0; fail=moderation" };
  const failed = await station.until(await station.submit("video", {}, orders), "failed");
  expect(failed.error).toMatch(/\S/);
  for (const name of ["output", "credit"]) expect(failed).not.toHaveProperty(name);
});

test("every model makes a video", async () => {
  for (const model of ["alibaba/wan-2.6", "bytedance/seedance-2.0", "bytedance/seedance-2.0-fast"]) {
    const done = await station.until(
      await station.submit("video", { model, resolution: "720p" }),
      "completed",
    );
    expect([model, done.output.urls.length]).toEqual([model, 1]);
  }
});
