import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Json } from "../gateway/gateway.ts";
import { ajv, expectDescribed as expectDescribedBy } from "./described.ts";
import {
  AT_ONCE,
  type Kind,
  PATHS,
  RUNNING,
  startTaskStation,
  type TaskStation,
  WAITING,
} from "./task-station.ts";

// Every answer about tasks is as /openapi.json describes it, and has nothing that is not described.

let station: TaskStation;
let description: Json;
beforeAll(async () => {
  station = await startTaskStation();
  description = (await station.read("/openapi.json")).json;
});
afterAll(() => station.gateway.close());

function expectDescribed(method: string, path: string, status: number, body: Json): void {
  expectDescribedBy(description, [method, path, status], body);
}

const PLAIN = { async: false, n: 2, response_format: "b64_json" };

for (const kind of ["image", "video"] as const satisfies readonly Kind[]) {
  const path = PATHS[kind];
  describe(`answers of ${path}`, () => {
    for (const [state, orders] of [
      ["pending", WAITING],
      ["running", RUNNING],
      ["completed", AT_ONCE],
      ["failed", { "x-sandbox": "pending_ms=0; running_ms=0; fail=failed" }],
    ] as const) {
      test(`of a task that is ${state}`, async () => {
        const task = await station.submit(kind, { unknown_field: 1 }, orders);
        expectDescribed("post", path, 202, task);
        expect(task.warnings.length).toBe(1);
        expectDescribed("get", `${path}/{id}`, 200, await station.until(task, state));
        if (state === "pending") return;
        const response = await station.cancel(task.polling_url);
        expectDescribed("post", `${path}/{id}/cancel`, 409, await response.json());
      });
    }

    test("of a cancelled task, of a cancel, and of ids that are none", async () => {
      const task = await station.submit(kind, {}, WAITING);
      const response = await station.cancel(task.polling_url);
      expectDescribed("post", `${path}/{id}/cancel`, 200, await response.json());
      expectDescribed("get", `${path}/{id}`, 200, (await station.read(task.polling_url)).json);
      expectDescribed("get", `${path}/{id}`, 404, (await station.read(`${path}/none`)).json);
    });

    test("of refused requests", async () => {
      for (const [status, body, headers] of [
        [400, { prompt: 5 }, {}],
        [401, {}, { authorization: "Bearer sk-nobody" }],
        [402, {}, (await station.issue(0)).headers],
      ] as const) {
        const response = await station.post(kind, body, headers);
        expect(response.status).toBe(status);
        expectDescribed("post", path, status, await response.json());
      }
    });

    test("say in headers who made it and what was left out", async () => {
      const response = await station.post(kind, { unknown_field: 1 }, WAITING);
      const { polling_url, warnings } = (await response.json()) as Json;
      expect(response.headers.get("warning")).toBe(`299 switchyard "${warnings[0]}"`);
      expect(response.headers.get("x-switchyard-provider")).toBe("sandbox");
      const headers = { authorization: `Bearer ${station.gateway.key}` };
      const read = await fetch(station.gateway.url + polling_url, { headers });
      expect(read.headers.get("x-switchyard-provider")).toBe("sandbox");
      expect(read.headers.get("cache-control")).toBe("no-store");
    });
  });
}

test("of plain requests for images", async () => {
  for (const body of [PLAIN, { ...PLAIN, model: "openai/gpt-image-2", size: "1024*1024", quality: "low" }]) {
    const response = await station.post("image", { ...body, unknown_field: 1 });
    expect([response.status, response.headers.get("warning")]).toEqual([
      200,
      expect.stringContaining("unknown_field"),
    ]);
    expectDescribed("post", PATHS.image, 200, await response.json());
  }
});

test("the requests that are taken are as described too, and the log tells what became of them without what was asked", async () => {
  for (const kind of ["image", "video"] as const) {
    const { schema } = description.paths[PATHS[kind]].post.requestBody.content["application/json"];
    const validate = ajv.compile(schema);
    const body = { model: "a/b", prompt: "A secret.", ...(kind === "image" ? { n: 2 } : { duration: "10" }) };
    expect([validate(body), validate({ ...body, prompt: 5 })]).toEqual([true, false]);
  }
  const before = station.gateway.logs.length;
  const response = await station.post("image", { ...PLAIN, prompt: "A secret." });
  expect(response.status).toBe(200);
  const lines = station.gateway.logs.slice(before);
  const line = lines.find(({ message, path }) => message === "request" && path === PATHS.image);
  const { task = "" } = line ?? {};
  expect(task).toMatch(/^img_/);
  expect(line).toMatchObject({
    request_id: response.headers.get("x-request-id") ?? "",
    model: "alibaba/qwen-image-2.0",
    outcome: "completed",
    credit: "700",
    status: 200,
  });
  expect(JSON.stringify(lines)).not.toContain("secret");
  expect((await station.read(`${PATHS.image}/${task}`)).status).toBe(200);
  expect(station.gateway.logs.at(-1)).toMatchObject({ path: `${PATHS.image}/${task}`, task });
});

describe("a request that is taken is as it is described, in whatever spelling:", () => {
  const asked: readonly [Kind, Json][] = [
    ["image", { model: "alibaba/qwen-image-2.0", size: "512x512" }],
    ["image", { model: "alibaba/qwen-image-2.0", size: "512*512", n: 1, seed: -1 }],
    ["image", { model: "midjourney/midjourney", version: 6.1, niji: 5, quality: 0.5 }],
    ["image", { model: "midjourney/midjourney", version: "7", niji: "close", quality: "2" }],
    ["image", { model: "openai/gpt-image-2", quality: "low", size: "1024x1024" }],
    ["video", { model: "alibaba/wan-2.6", duration: 5 }],
    ["video", { model: "alibaba/wan-2.6", duration: "5", frame_images: ["https://example.com/a.png"] }],
    [
      "video",
      {
        model: "alibaba/wan-2.6",
        frame_images: [{ image_url: "https://example.com/a.png", frame_type: "first_frame" }],
      },
    ],
  ];
  const bodyOf = (kind: Kind): Json =>
    description.paths[PATHS[kind]].post.requestBody.content["application/json"].schema;

  for (const [kind, { model, ...fields }] of asked)
    test(`${model} with ${JSON.stringify(fields)}`, async () => {
      const body = { model, prompt: "A lighthouse", async: true, ...fields };
      const { async: _, ...ofVideo } = body;
      const sent = kind === "image" ? body : ofVideo;
      const headers = { authorization: `Bearer ${station.gateway.key}`, ...WAITING };
      expect((await station.gateway.post(PATHS[kind], sent, { headers })).status).toBe(202);
      const validate = ajv.compile(bodyOf(kind));
      expect([validate(sent), validate.errors]).toEqual([true, null]);
    });

  test("and one in none is not", () => {
    const fields: readonly [Kind, object][] = [
      ["video", { duration: 6 }],
      ["video", { duration: "05" }],
      ["image", { size: "512×512" }],
      ["image", { version: 5 }],
      ["image", { quality: 3 }],
    ];
    for (const [kind, wrong] of fields)
      expect(ajv.validate(bodyOf(kind), { model: "m", prompt: "p", ...wrong })).toBe(false);
  });
});
