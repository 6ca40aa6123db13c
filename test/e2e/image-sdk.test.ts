import { afterAll, beforeAll, expect, test } from "bun:test";
import OpenAI, {
  APIError,
  APIUserAbortError,
  AuthenticationError,
  BadRequestError,
  NotFoundError,
} from "openai";
import { AT_ONCE, startTaskStation, type TaskStation, WAITING } from "./task-station.ts";

// The official SDK, unmodified: only its base address and key are set. Images are made by the sandbox.

let station: TaskStation;
let client: OpenAI;
const open = (apiKey: string, maxRetries = 0): OpenAI =>
  new OpenAI({ baseURL: `${station.gateway.url}/api/v1`, apiKey, maxRetries });
beforeAll(async () => {
  station = await startTaskStation();
  client = open(station.gateway.key);
});
afterAll(() => station.gateway.close());

const MODEL = "alibaba/qwen-image-2.0";
const ask = { model: MODEL, prompt: "A lighthouse.", size: "1024x1024" as const };
const atOnce = { headers: AT_ONCE };

test("images.generate gives images by URL, with the time and the cost", async () => {
  const result = await client.images.generate({ ...ask, n: 2 }, atOnce);
  expect(result.data?.length).toBe(2);
  expect(result.created).toBeGreaterThan(1_700_000_000);
  expect(result).toHaveProperty("credit", 700);
  expect(result._request_id).toStartWith("req_");
  for (const { url = "", b64_json } of result.data ?? []) {
    expect(b64_json).toBeUndefined();
    expect((await fetch(url)).headers.get("content-type")).toBe("image/png");
  }
});

test("images.generate gives base64 when it asks for it", async () => {
  const { data } = await client.images.generate({ ...ask, response_format: "b64_json" }, atOnce);
  expect(
    Buffer.from(data?.[0]?.b64_json ?? "", "base64")
      .subarray(1, 4)
      .toString(),
  ).toBe("PNG");
  expect(data?.[0]?.url).toStartWith("http");
});

test("images.generate tells the usage of a model that is billed by tokens", async () => {
  const body = { model: "openai/gpt-image-2", prompt: "x", size: "1024x1024", quality: "low" } as const;
  const { usage } = await client.images.generate(body, atOnce);
  expect(usage?.total_tokens).toBe((usage?.input_tokens ?? 0) + (usage?.output_tokens ?? 0));
});

test("a task is a 202 that the SDK hands out as it is, and its path can be polled and cancelled by the client", async () => {
  const body = { ...ask, async: true };
  const { data, response } = await client.images.generate(body, { headers: WAITING }).withResponse();
  expect(response.status).toBe(202);
  const { id, status } = data as unknown as { id: string; status: string };
  expect(status).toBe("pending");
  expect(await client.get(`/images/generations/${id}`)).toMatchObject({ id, status: "pending" });
  expect(await client.post(`/images/generations/${id}/cancel`)).toMatchObject({ id, status: "cancelled" });
  expect(await client.get(`/images/generations/${id}`)).toMatchObject({ id, status: "cancelled" });
});

test("errors have the SDK's own classes, with type and field", async () => {
  const wrong = client.images.generate({ ...ask, n: 9 });
  expect(await wrong.catch((error: unknown) => error)).toBeInstanceOf(BadRequestError);
  await wrong.catch(({ type, param, code }: BadRequestError) =>
    expect([type, param, code]).toEqual(["invalid_request_error", "n", "invalid_request_error"]),
  );
  expect(
    await open("sk-nobody")
      .images.generate(ask)
      .catch((error: unknown) => error),
  ).toBeInstanceOf(AuthenticationError);
  const missing = client.get("/images/generations/img_0");
  expect(await missing.catch((error: unknown) => error)).toBeInstanceOf(NotFoundError);
  const { headers } = await station.issue(0);
  const poor = open((headers.authorization ?? "").slice(7)).images.generate(ask);
  const error = await poor.catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(APIError);
  expect(error).toMatchObject({ status: 402, type: "insufficient_credits" });
});

test("a cancel that comes too late is not tried again", async () => {
  const body = { ...ask, async: true };
  const task = (await client.images.generate(body, atOnce)) as unknown as { id: string; polling_url: string };
  await station.until(task, "completed");
  const before = station.gateway.logs.length;
  const late = open(station.gateway.key, 3).post(`/images/generations/${task.id}/cancel`);
  expect(await late.catch((error: unknown) => error)).toMatchObject({ status: 409, type: "conflict_error" });
  expect(station.gateway.logs.length - before).toBe(1);
});

test("an abort stops the work, and costs nothing", async () => {
  const { accountId, headers } = await station.issue(1_000);
  const controller = new AbortController();
  const asked = open((headers.authorization ?? "").slice(7)).images.generate(ask, {
    headers: { "x-sandbox": "pending_ms=0; running_ms=3600000" },
    signal: controller.signal,
  });
  const state = async () =>
    (await station.gateway.admin("GET", `/tasks?account_id=${accountId}`)).json.data[0]?.status;
  while ((await state()) !== "running") await Bun.sleep(20);
  controller.abort();
  expect(await asked.catch((error: unknown) => error)).toBeInstanceOf(APIUserAbortError);
  while ((await state()) === "running") await Bun.sleep(20);
  expect(await state()).toBe("failed");
  const { json } = await station.gateway.admin("GET", `/accounts/${accountId}`);
  expect([json.balance, json.held]).toEqual([1_000, 0]);
});
