import { expect, test } from "bun:test";
import { imageSizeOf } from "../../src/core/media/image-size.ts";
import type { Json } from "../gateway/gateway.ts";
import { AT_ONCE, PATHS, RUNNING, WAITING } from "../e2e/task-station.ts";
import { describeTable } from "./spec-tables.ts";
import { eachOf, fileOf, openTaskInterface } from "./task-interface.ts";

const api = openTaskInterface();
const QWEN = { model: "alibaba/qwen-image-2.0", prompt: "A lighthouse." };
const GEMINI = { ...QWEN, model: "google/gemini-3-pro-image" };
const MIDJOURNEY = { ...QWEN, model: "midjourney/midjourney" };
const GPT = { ...QWEN, model: "openai/gpt-image-2" };
const LINK = "https://example.com/a.png";
const PIXEL =
  "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const EDIT = { ...QWEN, model: "openai/gpt-image-2/edit", image: [PIXEL] };

const takes = (base: object, name: string, ...values: readonly unknown[]) =>
  api.takes("image", ...eachOf(base, name, values));
const refuses = (base: object, name: string, ...values: readonly unknown[]) =>
  api.refuses("image", name, ...eachOf(base, name, values));

/** The result of a plain request. */
async function made(body: object): Promise<Json> {
  const { status, json } = await api.ask("image", body);
  expect([status, json.error?.message]).toEqual([200, undefined]);
  return json;
}

/** Width and height of the first image of a plain request. */
async function sizeOf(body: object): Promise<readonly number[]> {
  const bytes = await fileOf((await made(body)).data[0].url);
  const size = imageSizeOf(`data:image/png;base64,${bytes.toBase64()}`);
  return [size?.width ?? 0, size?.height ?? 0];
}

const SIZES = [
  "512*512",
  "768*768",
  "1024*1024",
  "1536*1536",
  "2048*2048",
  "1024*768",
  "768*1024",
  "1536*1024",
  "1024*1536",
];
const RATIOS = ["1:1", "2:3", "3:2", "3:4", "4:3", "4:5", "5:4", "9:16", "16:9", "21:9"];

describeTable(
  { heading: "POST /api/v1/images/generations", column: "Field" },
  {
    async model() {
      const { data } = (await api.station.read("/api/v1/models")).json;
      const ids = data.filter(({ category }: Json) => category === "image").map(({ id }: Json) => id);
      expect(ids.length).toBe(5);
      for (const model of ids) await api.takes("image", { ...(model === EDIT.model ? EDIT : QWEN), model });
      await refuses(
        QWEN,
        "model",
        undefined,
        5,
        "",
        "nobody/nothing",
        "openai/gpt-6-astra",
        "alibaba/wan-2.6",
      );
    },
    async prompt() {
      await takes(QWEN, "prompt", "A boat.", '海 🌊 "quoted"\n');
      await refuses(QWEN, "prompt", undefined, "", 5, ["x"]);
    },
    async async() {
      expect((await api.ask("image", { ...QWEN, size: "512*512" })).status).toBe(200);
      expect((await api.ask("image", { ...QWEN, size: "512*512", async: false })).status).toBe(200);
      const { status, json } = await api.ask("image", { ...QWEN, async: true }, WAITING);
      expect([status, json.status]).toEqual([202, "pending"]);
      await refuses(QWEN, "async", "true", 1);
    },
    async timeout() {
      expect((await takes(QWEN, "timeout", 30, 1_800)).timeout).toBe(1_800);
      expect((await api.takes("image", QWEN)).timeout).toBe(300);
      await refuses(QWEN, "timeout", 29, 1_801, "300", 30.5);
    },
    async size() {
      expect(await sizeOf(QWEN)).toEqual([2048, 2048]);
      for (const size of SIZES) expect(await sizeOf({ ...QWEN, size })).toEqual(size.split("*").map(Number));
      expect(await sizeOf({ ...QWEN, size: "1024x768" })).toEqual([1024, 768]);
      await refuses(QWEN, "size", "100*100", "2048", 2048, "2048*1024");
    },
    async n() {
      const small = { ...QWEN, size: "512*512" };
      expect((await made(small)).data.length).toBe(1);
      for (const n of [1, 2, 3, 4]) expect((await made({ ...small, n })).data.length).toBe(n);
      await refuses(QWEN, "n", 0, 5, 1.5, "2");
    },
    async seed() {
      const imageOf = async (seed?: number): Promise<string> =>
        (await fileOf((await made({ ...QWEN, size: "512*512", seed })).data[0].url)).toHex();
      expect(await imageOf(7)).toBe(await imageOf(7));
      expect(await imageOf(7)).not.toBe(await imageOf(8));
      await takes(QWEN, "seed", -1, 0, 2_147_483_647);
      await refuses(QWEN, "seed", -2, 2_147_483_648, 1.5, "7");
    },
    async image() {
      await takes(QWEN, "image", [LINK], [PIXEL], [PIXEL.slice(PIXEL.indexOf(",") + 1)]);
      await refuses(QWEN, "image", PIXEL, [5], [""], ["file:///a.png"]);
      await refuses({ ...EDIT, image: undefined }, "image", undefined, []);
    },
    async image_size() {
      expect(await sizeOf(GEMINI)).toEqual([1024, 1024]);
      expect(await sizeOf({ ...GEMINI, image_size: "2K" })).toEqual([2048, 2048]);
      await takes(GEMINI, "image_size", "1K", "2K", "4K");
      await refuses(GEMINI, "image_size", "8K", "1k", 1);
    },
    async aspect_ratio() {
      const [width = 0, height = 0] = await sizeOf({ ...GEMINI, aspect_ratio: "16:9" });
      expect(Math.abs(width / height - 16 / 9)).toBeLessThan(0.03);
      await takes(GEMINI, "aspect_ratio", ...RATIOS);
      await takes(MIDJOURNEY, "aspect_ratio", ...RATIOS);
      await refuses(GEMINI, "aspect_ratio", "1:2", "16/9", 1);
    },
    async response_format() {
      const small = { ...QWEN, size: "512*512" };
      expect(Object.keys((await made(small)).data[0])).toEqual(["url"]);
      expect(Object.keys((await made({ ...small, response_format: "url" })).data[0])).toEqual(["url"]);
      const [{ url, b64_json }] = (await made({ ...small, response_format: "b64_json" })).data;
      expect(b64_json).toBe((await fileOf(url)).toBase64());
      await refuses(QWEN, "response_format", "B64", "png", 5);
    },
    async niji() {
      await takes(MIDJOURNEY, "niji", "close", "0", "5", "6", 6);
      await refuses(MIDJOURNEY, "niji", "4", "on", true);
    },
    async sref() {
      await takes(MIDJOURNEY, "sref", LINK);
      await refuses(MIDJOURNEY, "sref", 5, "", "a style");
    },
    async chaos() {
      await takes(MIDJOURNEY, "chaos", 0, 50, 100);
      await refuses(MIDJOURNEY, "chaos", -1, 101, "5");
    },
    async weird() {
      await takes(MIDJOURNEY, "weird", 0, 1_500, 3_000);
      await refuses(MIDJOURNEY, "weird", -1, 3_001, "5");
    },
    async quality() {
      await takes(MIDJOURNEY, "quality", "0.5", "1", "2", 1);
      await takes({ ...MIDJOURNEY, version: "6.1" }, "quality", "0.25");
      await takes(GPT, "quality", "0.25", "0.5", "1", "2", "low", "medium", "high", "auto");
      await refuses(MIDJOURNEY, "quality", "3", "high");
    },
    async stylize() {
      await takes(MIDJOURNEY, "stylize", 0, 100, 1_000);
      await refuses(MIDJOURNEY, "stylize", -1, 1_001, "5");
    },
    async version() {
      await takes(MIDJOURNEY, "version", "6", "6.1", "7", 7);
      await refuses(MIDJOURNEY, "version", "5", "8", 5);
    },
    async mask() {
      await takes(EDIT, "mask", LINK);
      await refuses(EDIT, "mask", 5, "", "ftp://example.com/m.png");
      await refuses(GPT, "mask", LINK);
    },
    async background() {
      await takes(GPT, "background", "opaque", "auto");
      await refuses(GPT, "background", "transparent", "white");
    },
    async output_format() {
      const headOf = async (output_format?: string): Promise<string> =>
        (await fileOf((await made({ ...GPT, output_format })).data[0].url)).subarray(0, 12).toHex();
      expect(await headOf()).toStartWith("89504e47");
      expect(await headOf("png")).toStartWith("89504e47");
      expect(await headOf("jpeg")).toStartWith("ffd8ff");
      expect(await headOf("webp")).toMatch(/^52494646.{8}57454250$/);
      await refuses(GPT, "output_format", "gif", "jpg");
    },
  },
);

const RESULT = { ...QWEN, size: "512*512", n: 2 };

describeTable(
  { heading: "Image result (sync response)", column: "Field" },
  {
    async created() {
      const { created } = await made(RESULT);
      expect([Number.isInteger(created), Math.abs(created - Date.now() / 1000) < 60]).toEqual([true, true]);
    },
    async data() {
      const { data } = await made(RESULT);
      expect(data.length).toBe(2);
      for (const { url } of data) expect((await fileOf(url)).subarray(0, 4).toHex()).toBe("89504e47");
    },
    async usage() {
      expect(await made(RESULT)).not.toHaveProperty("usage");
      const { usage } = await made({ ...GPT, quality: "low" });
      for (const name of ["input_tokens", "output_tokens"]) expect(usage[name]).toBeGreaterThan(0);
      expect(usage.total_tokens).toBe(usage.input_tokens + usage.output_tokens);
    },
    // 0.035 USD each.
    credit: async () => expect((await made(RESULT)).credit).toBe(700),
  },
);

const pending = async (): Promise<Json> => (await api.ask("image", { ...QWEN, async: true }, WAITING)).json;
const completed = (): Promise<Json> => api.completed("image", RESULT);

describeTable(
  { heading: "Image task", column: "Field" },
  {
    async id() {
      const [one, other] = [await pending(), await pending()];
      expect(one.id).toMatch(/^img_/);
      expect(one.id).not.toBe(other.id);
    },
    object: async () => {
      for (const task of [await pending(), await completed()])
        expect(task.object).toBe("image_generation.task");
    },
    async status() {
      expect((await pending()).status).toBe("pending");
      const { json } = await api.ask("image", { ...QWEN, async: true }, RUNNING);
      expect((await api.station.until(json, "running")).status).toBe("running");
      expect((await completed()).status).toBe("completed");
    },
    async created() {
      const { created } = await pending();
      expect([Number.isInteger(created), Math.abs(created - Date.now() / 1000) < 60]).toEqual([true, true]);
    },
    timeout: async () => expect((await pending()).timeout).toBe(300),
    async polling_url() {
      const task = await pending();
      expect(task.polling_url).toBe(`${PATHS.image}/${task.id}`);
      expect((await api.station.read(task.polling_url)).json).toEqual(task);
    },
    async cancel_url() {
      const task = await pending();
      expect(task.cancel_url).toBe(`${task.polling_url}/cancel`);
      const response = await api.station.gateway.post(task.cancel_url, {});
      expect(response.status).toBe(200);
    },
    async started_at() {
      expect((await pending()).started_at).toBeNull();
      const { started_at, created } = await completed();
      expect(Number.isInteger(started_at) && started_at >= created).toBe(true);
    },
    async completed_at() {
      expect((await pending()).completed_at).toBeNull();
      const { completed_at, started_at } = await completed();
      expect(Number.isInteger(completed_at) && completed_at >= started_at).toBe(true);
    },
    async "data, usage, credit"() {
      for (const name of ["data", "usage", "credit", "result"])
        expect(await pending()).not.toHaveProperty(name);
      const task = await api.completed("image", { ...GPT, quality: "low" });
      for (const layout of [task, task.result]) {
        expect(layout.data.length).toBe(1);
        expect(layout.usage.total_tokens).toBeGreaterThan(0);
        expect(layout.credit).toBeGreaterThan(0);
      }
      expect(task.result.data).toEqual(task.data);
    },
    async error() {
      expect([(await pending()).error, (await completed()).error]).toEqual([null, null]);
      const orders = { "x-sandbox": "pending_ms=0; running_ms=0; fail=failed" };
      const { json } = await api.ask("image", { ...QWEN, async: true }, orders);
      const { error } = await api.station.until(json, "failed");
      expect(error).toEqual({ type: "generation_error", message: expect.stringMatching(/\S/) });
    },
  },
);

test("an image may take as long as images do, and the plain request waits for it", async () => {
  const { status } = await api.ask("image", { ...QWEN, size: "512*512" }, { "x-sandbox": "running_ms=2500" });
  expect(status).toBe(200);
  expect((await api.ask("image", { ...QWEN, timeout: 30, size: "512*512" }, AT_ONCE)).status).toBe(200);
});
