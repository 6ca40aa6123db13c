import { expect } from "bun:test";
import type { Json } from "../gateway/gateway.ts";
import { PATHS, RUNNING, WAITING } from "../e2e/task-station.ts";
import { describeTable } from "./spec-tables.ts";
import { eachOf, fileOf, openTaskInterface } from "./task-interface.ts";

const api = openTaskInterface();
const WAN = { model: "alibaba/wan-2.6", prompt: "Waves." };
const FAST = { model: "bytedance/seedance-2.0-fast", prompt: "Waves.", resolution: "480p" };
const SEEDANCE = { ...FAST, model: "bytedance/seedance-2.0" };
const LINK = "https://example.com/a.png";
const VIDEO = "https://example.com/a.mp4";
const AUDIO = "https://example.com/a.mp3";

const takes = (base: object, name: string, ...values: readonly unknown[]) =>
  api.takes("video", ...eachOf(base, name, values));
const refuses = (base: object, name: string, ...values: readonly unknown[]) =>
  api.refuses("video", name, ...eachOf(base, name, values));

/** What a video costs, in credits. */
const creditOf = async (body: object): Promise<number> => (await api.completed("video", body)).credit;

describeTable(
  { heading: "POST /api/v1/videos", column: "Field" },
  {
    async model() {
      const { data } = (await api.station.read("/api/v1/models")).json;
      const ids = data.filter(({ category }: Json) => category === "video").map(({ id }: Json) => id);
      expect(ids.length).toBe(3);
      await takes(WAN, "model", ...ids);
      await refuses(
        WAN,
        "model",
        undefined,
        5,
        "",
        "nobody/nothing",
        "openai/gpt-6-astra",
        "openai/gpt-image-2",
      );
    },
    async prompt() {
      await takes(WAN, "prompt", "A boat.", "海 🌊");
      await refuses(WAN, "prompt", undefined, "", 5, ["x"]);
    },
    async timeout() {
      expect((await takes(WAN, "timeout", 60, 3_600)).timeout).toBe(3_600);
      expect((await api.takes("video", WAN)).timeout).toBe(600);
      await refuses(WAN, "timeout", 59, 3_601, "600", 60.5);
    },
    async seed() {
      await takes(WAN, "seed", -1, 0, 2_147_483_647);
      await refuses(WAN, "seed", -2, 2_147_483_648, 1.5, "7");
    },
    async duration() {
      const five = await creditOf(FAST);
      expect(await creditOf({ ...FAST, duration: "5" })).toBe(five);
      expect(await creditOf({ ...FAST, duration: "10" })).toBeCloseTo(2 * five, 0);
      expect(await creditOf({ ...FAST, duration: 15 })).toBeCloseTo(3 * five, 0);
      await refuses(WAN, "duration", "6", 6, "5s", 5.5);
    },
    async shot_type() {
      await takes(WAN, "shot_type", "single", "multi");
      await refuses(WAN, "shot_type", "double", 1);
    },
    async resolution() {
      expect(await creditOf({ ...WAN, resolution: "1080p" })).toBe(7_500);
      // It makes no 480p: the nearest, at its price, and it is said.
      const { json, headers } = await api.ask("video", { ...WAN, resolution: "480p" });
      expect(json.warnings.join(" ")).toContain("resolution");
      expect(headers.get("warning")).toContain("resolution");
      expect((await api.station.until(json, "completed")).credit).toBe(5_000);
      await takes(SEEDANCE, "resolution", "480p", "720p", "1080p");
      await refuses(WAN, "resolution", "4K", 720);
    },
    async aspect_ratio() {
      await takes(WAN, "aspect_ratio", "16:9", "9:16");
      await refuses(WAN, "aspect_ratio", "1:1", "16/9", 1);
      await refuses({ ...SEEDANCE, frame_images: [LINK] }, "aspect_ratio", "9:16");
    },
    async frame_images() {
      const frames = [
        { image_url: LINK, frame_type: "first_frame" },
        { image_url: LINK, frame_type: "last_frame" },
      ];
      await takes(SEEDANCE, "frame_images", [LINK], [LINK, LINK], frames, frames.slice(0, 1));
      await refuses(
        SEEDANCE,
        "frame_images",
        LINK,
        [5],
        [LINK, LINK, LINK],
        [{ image_url: LINK, frame_type: "x" }],
      );
    },
    async negative_prompt() {
      await takes(WAN, "negative_prompt", "blur");
      const { warnings } = await takes(FAST, "negative_prompt", "blur");
      expect(warnings.join(" ")).toContain("negative_prompt");
      await refuses(WAN, "negative_prompt", 5, ["x"]);
    },
    async enable_prompt_expansion() {
      await takes(WAN, "enable_prompt_expansion", true, false);
      await refuses(WAN, "enable_prompt_expansion", "true", 1);
    },
    async input_references() {
      await takes(SEEDANCE, "input_references", [LINK], [LINK, LINK]);
      await refuses(SEEDANCE, "input_references", LINK, [5], ["file:///a.png"]);
      await refuses({ ...SEEDANCE, frame_images: [LINK] }, "input_references", [LINK]);
    },
    async reference_audios() {
      await takes({ ...SEEDANCE, input_references: [LINK] }, "reference_audios", [AUDIO]);
      await refuses(SEEDANCE, "reference_audios", AUDIO, [5]);
    },
    async reference_videos() {
      await takes(SEEDANCE, "reference_videos", [VIDEO]);
      await refuses(SEEDANCE, "reference_videos", VIDEO, [5]);
    },
  },
);

const pending = async (): Promise<Json> => (await api.ask("video", FAST, WAITING)).json;

describeTable(
  { heading: "Video task", column: "Field" },
  {
    async id() {
      const [one, other] = [await pending(), await pending()];
      expect(one.id).toMatch(/^vid_/);
      expect(one.id).not.toBe(other.id);
    },
    async status() {
      expect((await pending()).status).toBe("pending");
      const { json } = await api.ask("video", FAST, RUNNING);
      expect((await api.station.until(json, "running")).status).toBe("running");
      expect((await api.completed("video", FAST)).status).toBe("completed");
    },
    async polling_url() {
      const task = await pending();
      expect(task.polling_url).toBe(`${PATHS.video}/${task.id}`);
      expect((await api.station.read(task.polling_url)).json).toEqual(task);
    },
    async output() {
      expect(await pending()).not.toHaveProperty("output");
      const { output } = await api.completed("video", FAST);
      expect(output.urls.length).toBe(1);
      expect((await fileOf(output.urls[0])).subarray(4, 8).toHex()).toBe(Buffer.from("ftyp").toString("hex"));
    },
    async error() {
      expect(await pending()).not.toHaveProperty("error");
      const orders = { "x-sandbox": "pending_ms=0; running_ms=0; fail=moderation" };
      const { json } = await api.ask("video", FAST, orders);
      expect((await api.station.until(json, "failed")).error).toMatch(/\S/);
    },
    async credit() {
      expect(await pending()).not.toHaveProperty("credit");
      expect((await api.completed("video", FAST)).credit).toBeGreaterThan(0);
    },
  },
);
