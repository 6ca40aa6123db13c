import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { isJsonObject, type JsonObject } from "../../../src/core/json/json-value.ts";
import { DOUBLES, type Vendor, VENDORS } from "./doubles.ts";
import type { MediaDouble } from "./media-double.ts";

// A double that takes anything shows nothing: each refuses, in its vendor's form, what its vendor would.

const KEY = "sk-strict-1";
const doubles = new Map<Vendor, MediaDouble>();
beforeAll(async () => {
  for (const vendor of VENDORS) doubles.set(vendor, await DOUBLES[vendor](KEY));
});
afterAll(async () => {
  for (const double of doubles.values()) await double.close();
});

interface Good {
  readonly via: Vendor;
  /** Below the origin. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: JsonObject;
  /** Fields without which it is refused. */
  readonly needs: readonly string[];
  /** The status of a request without a credential, and of one that is wrong: all of them are not 200. */
  readonly locked: number;
  readonly wrong: number;
}

const bearer = { authorization: `Bearer ${KEY}` };
const LINK = "https://a.example/a.png";

const GOOD: readonly Good[] = [
  {
    via: "openai",
    path: "/v1/images/generations",
    headers: bearer,
    body: { model: "gpt-image-2", prompt: "x", n: 1, size: "1024x1024", quality: "low", background: "auto" },
    needs: ["model", "prompt"],
    locked: 401,
    wrong: 400,
  },
  {
    via: "openai",
    path: "/v1/images/edits",
    headers: bearer,
    body: { model: "gpt-image-2", prompt: "x", images: [{ image_url: LINK }], mask: { image_url: LINK } },
    needs: ["model", "prompt", "images"],
    locked: 401,
    wrong: 400,
  },
  {
    via: "google",
    path: "/v1beta/models/gemini-3-pro-image:generateContent",
    headers: { "x-goog-api-key": KEY },
    body: {
      contents: [{ role: "user", parts: [{ text: "x" }] }],
      generationConfig: { responseModalities: ["IMAGE"], imageConfig: { imageSize: "1K" } },
    },
    needs: ["contents"],
    locked: 400,
    wrong: 400,
  },
  {
    via: "dashscope",
    path: "/api/v1/services/aigc/multimodal-generation/generation",
    headers: bearer,
    body: {
      model: "qwen-image-2.0",
      input: { messages: [{ role: "user", content: [{ text: "x" }] }] },
      parameters: { n: 1, size: "512*512" },
    },
    needs: ["model", "input"],
    locked: 401,
    wrong: 400,
  },
  {
    via: "dashscope",
    path: "/api/v1/services/aigc/video-generation/video-synthesis",
    headers: { ...bearer, "x-dashscope-async": "enable" },
    body: { model: "wan2.6-t2v", input: { prompt: "x" }, parameters: { size: "1280*720", duration: 5 } },
    needs: ["model", "input", "parameters"],
    locked: 401,
    wrong: 400,
  },
  {
    via: "ark",
    path: "/api/v3/contents/generations/tasks",
    headers: bearer,
    body: {
      model: "dreamina-seedance-2-0-260128",
      content: [{ type: "text", text: "x" }],
      ratio: "16:9",
      resolution: "720p",
      duration: 5,
      seed: 7,
      watermark: false,
    },
    needs: ["model", "content"],
    locked: 401,
    wrong: 400,
  },
  {
    via: "ark",
    path: "/api/v3/images/generations",
    headers: bearer,
    body: { model: "seedream-5-0-260128", prompt: "x", size: "2048x2048", image: LINK, watermark: false },
    needs: ["model", "prompt"],
    locked: 401,
    wrong: 400,
  },
  {
    via: "midjourney",
    path: "/proxy/mj/submit/imagine",
    headers: { "mj-api-secret": KEY },
    body: { botType: "MID_JOURNEY", prompt: "x --v 7 --s 100", state: "img_1.1" },
    needs: ["botType", "prompt"],
    locked: 401,
    // Its own word is a number in a good answer.
    wrong: 200,
  },
  {
    via: "fal",
    path: "/fal-ai/qwen-image-2/text-to-image",
    headers: { authorization: `Key ${KEY}` },
    body: { prompt: "x", num_images: 1, image_size: { width: 512, height: 512 }, seed: 1 },
    needs: ["prompt"],
    locked: 401,
    wrong: 422,
  },
  {
    via: "wavespeed",
    path: "/api/v3/wavespeed-ai/qwen-image-2.0/text-to-image",
    headers: bearer,
    body: { prompt: "x", size: "512*512", seed: -1 },
    needs: ["prompt"],
    locked: 401,
    wrong: 400,
  },
];

describe("each double takes a good request, and nothing that is", () => {
  for (const good of GOOD) {
    const { via, path, headers, body, needs, locked, wrong } = good;
    const rows: readonly (readonly [name: string, headers: object, body: unknown, status: number])[] = [
      ["without a credential", {}, body, locked],
      ["with another credential", changed(headers, (value) => value.replace(KEY, "sk-other")), body, locked],
      ["with a field that nobody knows", headers, { ...body, novel: 1 }, wrong],
      ["not JSON", headers, "{", wrong],
      ...Object.keys(body).map(
        (name) => [`wrong in ${name}`, headers, { ...body, [name]: { novel: [] } }, wrong] as const,
      ),
      ...needs.map((name) => [`without ${name}`, headers, { ...body, [name]: undefined }, wrong] as const),
    ];
    test(`${via} at ${path}: ${rows.map(([name]) => name).join(", ")}`, async () => {
      const double = doubles.get(via);
      if (double === undefined) throw new Error(`${via} was not started.`);
      double.reset();
      expect(await post(double, path, headers, body)).toBe(200);
      expect(double.accepted).toHaveLength(1);
      for (const [name, sent, wrongBody, status] of rows)
        expect([name, await post(double, path, sent, wrongBody)]).toEqual([name, status]);
      expect([via, double.accepted.length]).toEqual([via, 1]);
    });
  }
});

function changed(headers: Good["headers"], change: (value: string) => string): object {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, change(value)]));
}

/** The status of the answer. */
async function post(double: MediaDouble, path: string, headers: object, body: unknown): Promise<number> {
  const { origin } = new URL(double.baseUrl);
  const response = await fetch(origin + path, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: isJsonObject(body) ? JSON.stringify(body) : String(body),
  });
  await response.arrayBuffer();
  return response.status;
}
