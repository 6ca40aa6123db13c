import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Json } from "../gateway/gateway.ts";
import { type Kind, PATHS, startTaskStation, type TaskStation, WAITING } from "./task-station.ts";

// Requests for images and videos that cannot be: each is a 400 that names its field, holds nothing and makes no task.

let station: TaskStation;
let account: { readonly accountId: string; readonly headers: Readonly<Record<string, string>> };
beforeAll(async () => {
  station = await startTaskStation();
  account = await station.issue(1_000_000);
});
afterAll(() => station.gateway.close());

const MODELS = {
  qwen: ["image", "alibaba/qwen-image-2.0"],
  gemini: ["image", "google/gemini-3-pro-image"],
  midjourney: ["image", "midjourney/midjourney"],
  gpt: ["image", "openai/gpt-image-2"],
  edit: ["image", "openai/gpt-image-2/edit"],
  wan: ["video", "alibaba/wan-2.6"],
  seedance: ["video", "bytedance/seedance-2.0"],
} as const satisfies Readonly<Record<string, readonly [Kind, string]>>;
type Name = keyof typeof MODELS;

/** An image of one pixel, as a data URI. */
const PIXEL =
  "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const LINK = "https://example.com/a.png";
const LONG = "x".repeat(1_000_000);
const TOO_LARGE = "input_too_large";

async function ask(name: Name, body: object | string): Promise<Response> {
  const [kind, model] = MODELS[name];
  const more = kind === "image" ? { async: true } : {};
  const whole = typeof body === "string" ? body : { model, prompt: "A boat.", ...more, ...body };
  return station.gateway.post(PATHS[kind], whole, { headers: { ...WAITING, ...account.headers } });
}

async function accepted(name: Name, body: object): Promise<Json> {
  const response = await ask(name, body);
  const json = (await response.json()) as Json;
  expect([response.status, json.error?.message]).toEqual([202, undefined]);
  expect((await station.cancel(json.polling_url, account.headers)).status).toBe(200);
  return json;
}

/** The answer is a 400 whose `param` is the field, and nothing has become of the request. */
async function refused(
  name: Name,
  body: object | string,
  param: string | null,
  type = "invalid_request_error",
): Promise<void> {
  const tasks = await taskCount();
  const startedMs = performance.now();
  const response = await ask(name, body);
  const { error } = (await response.json()) as Json;
  expect([response.status, error?.type]).toEqual([400, type]);
  // Far below on a quiet machine.
  expect(performance.now() - startedMs).toBeLessThan(5_000);
  if (param !== null) expect(String(error.param).replace(/[.[].*$/, "")).toBe(param);
  expect(error.message).toMatch(/\S/);
  expect(error.message.length).toBeLessThan(1_000);
  expect(await taskCount()).toBe(tasks);
  const { json } = await station.gateway.admin("GET", `/accounts/${account.accountId}`);
  expect([json.balance, json.held]).toEqual([1_000_000, 0]);
}

/** The number of the account's newest task; tasks of earlier tests stay in the list. */
async function taskCount(): Promise<string> {
  const { json } = await station.gateway.admin("GET", `/tasks?account_id=${account.accountId}&limit=1`);
  return json.data[0]?.id ?? "none";
}

/** Values of one field: those that are taken, and those that are refused. */
interface Row {
  readonly row: number;
  readonly name: Name;
  readonly field: string;
  readonly good?: readonly unknown[];
  readonly bad?: readonly unknown[];
  /** What else the request has. */
  readonly with?: object;
  /** What the refusal is, where it is no `invalid_request_error`. */
  readonly type?: string;
}

const ROWS: readonly Row[] = [
  { row: 107, name: "qwen", field: "n", good: [1, 4, null], bad: [0, 5, 1.5, "2", -1, [1]] },
  { row: 108, name: "qwen", field: "timeout", good: [30, 1_800], bad: [29, 1_801, 1e9, "300", 30.5] },
  { row: 108, name: "wan", field: "timeout", good: [60, 3_600], bad: [59, 3_601, 1e9, "600"] },
  {
    row: 109,
    name: "qwen",
    field: "size",
    good: ["2048x2048", "512*512"],
    bad: ["99999*99999", "-1*1", "2048＊2048", "2048", 2048, "", "2048X2048", "512 * 512"],
  },
  { row: 109, name: "gpt", field: "size", good: ["1024x1024"], bad: ["512*512", "768x768"] },
  { row: 110, name: "gpt", field: "quality", good: ["high", 2, "0.25"], bad: ["hd", 3, "HIGH", "standard"] },
  { row: 110, name: "midjourney", field: "quality", good: [2, "0.5", 0.25], bad: ["high", 3, "4"] },
  { row: 111, name: "qwen", field: "seed", good: [-1, 0, 2_147_483_647], bad: [-2, 2_147_483_648, 1.5, "1"] },
  { row: 111, name: "wan", field: "seed", good: [-1, 0, 2_147_483_647], bad: [-2, 2_147_483_648, 1.5, "1"] },
  {
    row: 112,
    name: "wan",
    field: "duration",
    good: [5, "5", 10, "15"],
    bad: [6, "05", "5s", -5, "1e1", 5.5, "", [5]],
  },
  {
    row: 113,
    name: "seedance",
    field: "frame_images",
    good: [
      [LINK],
      [PIXEL, LINK],
      [{ image_url: LINK, frame_type: "first_frame" }],
      [
        { image_url: LINK, frame_type: "last_frame" },
        { image_url: PIXEL, frame_type: "first_frame" },
      ],
    ],
    bad: [
      Array.from({ length: 3 }, () => LINK),
      Array.from({ length: 1_000 }, () => LINK),
      [{ image_url: LINK, frame_type: "middle_frame" }],
      [
        { image_url: LINK, frame_type: "first_frame" },
        { image_url: LINK, frame_type: "first_frame" },
      ],
      LINK,
      [5],
      [{ frame_type: "first_frame" }],
      [{ image_url: 5 }],
      ["ftp://example.com/a.png"],
      ["file:///etc/passwd"],
    ],
  },
  {
    row: 115,
    name: "gemini",
    field: "aspect_ratio",
    good: ["16:9", "21:9"],
    bad: ["16/9", "1:9", 1, "16:9 "],
  },
  { row: 115, name: "wan", field: "aspect_ratio", good: ["9:16"], bad: ["16/9", "1:1", "4:3"] },
  { row: 116, name: "qwen", field: "prompt", bad: [undefined, "", 5, null, ["x"], "a\0b", "\ud800"] },
  { row: 116, name: "wan", field: "prompt", bad: [undefined, "", 5, null, "a\0b"] },
  {
    row: 116,
    name: "qwen",
    field: "prompt",
    good: ["x".repeat(800)],
    bad: ["x".repeat(801), LONG],
    type: TOO_LARGE,
  },
  {
    row: 116,
    name: "wan",
    field: "prompt",
    good: ["x".repeat(1_500)],
    bad: ["x".repeat(1_501), LONG],
    type: TOO_LARGE,
  },
  {
    row: 117,
    name: "qwen",
    field: "image",
    good: [[LINK], [PIXEL], [PIXEL, PIXEL, PIXEL]],
    bad: [
      Array.from({ length: 100 }, () => PIXEL),
      PIXEL,
      [5],
      [""],
      ["data:image/svg+xml;base64,PHN2Zy8+"],
      ["data:text/html;base64,PGI+"],
      ["file:///etc/passwd"],
      ["gopher://example.com"],
    ],
  },
  {
    row: 118,
    name: "edit",
    field: "mask",
    good: [LINK],
    bad: [5, "", "ftp://x/y.png"],
    with: { image: [LINK] },
  },
  { row: 118, name: "edit", field: "image", bad: [undefined, [], null] },
  { row: 119, name: "qwen", field: "response_format", good: ["b64_json", "url"], bad: ["B64", "b64", 1, ""] },
  { row: 120, name: "qwen", field: "async", bad: ["true", 1, "yes"] },
  { row: 121, name: "gpt", field: "background", good: ["opaque", "auto"], bad: ["transparent"] },
  {
    row: 121,
    name: "gpt",
    field: "output_format",
    good: ["jpeg", "webp", "png"],
    bad: ["gif", "jpg", "PNG"],
  },
  { row: 122, name: "midjourney", field: "chaos", good: [0, 100], bad: [101, -1, "0", 0.5] },
  { row: 122, name: "midjourney", field: "weird", good: [0, 3_000], bad: [3_001, -1, "0"] },
  { row: 122, name: "midjourney", field: "stylize", good: [0, 1_000], bad: [1_001, -1, "0"] },
  { row: 123, name: "midjourney", field: "version", good: [7, "7", "6.1", 6.1], bad: [8, "7.0", "v7", 5] },
  { row: 123, name: "midjourney", field: "niji", good: ["close", "0", 6, "5"], bad: [4, "on", true] },
  // Of another model: fine as the interface's default, refused as anything else.
  { row: 124, name: "qwen", field: "image_size", good: ["1K"], bad: ["2K", "8K"] },
  { row: 124, name: "qwen", field: "chaos", good: [0], bad: [5] },
  { row: 124, name: "qwen", field: "quality", good: ["1"], bad: ["high", "2"] },
  { row: 124, name: "gemini", field: "size", good: ["2048*2048"], bad: ["512*512"] },
  { row: 124, name: "midjourney", field: "mask", bad: [LINK] },
  { row: 124, name: "gpt", field: "image", good: [[]], bad: [[PIXEL]] },
  { row: 125, name: "wan", field: "negative_prompt", good: ["blur"], bad: [5, ["x"]] },
  { row: 125, name: "wan", field: "negative_prompt", bad: [LONG], type: TOO_LARGE },
];

for (const { row, name, field, good = [], bad = [], with: more = {}, type } of ROWS) {
  describe(`${row}: ${field} of ${MODELS[name][1]}`, () => {
    for (const value of good) {
      test(`may be ${shown(value)}`, async () => {
        await accepted(name, { ...more, [field]: value });
      });
    }
    for (const value of bad)
      test(`is refused as ${shown(value)}`, () => refused(name, { ...more, [field]: value }, field, type));
  });
}

function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? "nothing";
  return text.length > 90 ? `${text.slice(0, 60)}… (${text.length})` : text;
}

describe("114: references", () => {
  test("together with frames are refused", async () => {
    for (const name of ["wan", "seedance"] as const) {
      for (const references of ["input_references", "reference_videos"])
        await refused(name, { frame_images: [LINK], [references]: [LINK] }, null);
    }
  });
  test("and text-to-video parameters together with frames are refused, unless they say the default", async () => {
    await refused("seedance", { frame_images: [LINK], aspect_ratio: "9:16" }, "aspect_ratio");
    await accepted("seedance", { frame_images: [LINK], aspect_ratio: "16:9" });
  });
});

describe("the model", () => {
  for (const model of [undefined, 5, "", "nobody/nothing", "openai/gpt-6-astra", "alibaba/wan-2.6", null]) {
    test(`${shown(model)} makes no images: the field is named`, () => refused("qwen", { model }, "model"));
  }
  const elsewhere = {
    "nobody/nothing": ["model_not_found", "GET /api/v1/models lists"],
    "openai/gpt-6-astra": [
      "model_not_served_here",
      "It is served at /api/v1/chat/completions, /api/v1/messages, /api/v1/models/openai%2Fgpt-6-astra:generateContent and /api/v1/responses.",
    ],
    "alibaba/wan-2.6": ["model_not_served_here", "It is served at /api/v1/videos."],
  } as const;
  for (const [model, [code, says]] of Object.entries(elsewhere)) {
    test(`${model} makes no images: the answer says what it is instead`, async () => {
      const { error } = (await (await ask("qwen", { model })).json()) as Json;
      expect(error.code).toBe(code);
      expect(error.message).toContain(says);
    });
  }
  test("an image model makes no videos", () => refused("wan", { model: "alibaba/qwen-image-2.0" }, "model"));
});

describe("the body", () => {
  for (const body of [
    "",
    " ",
    "null",
    "[]",
    '"x"',
    "{",
    '{"model":"a",}',
    '{"n":NaN}',
    '{"timeout":Infinity}',
  ])
    test(`${JSON.stringify(body)} is a 400`, async () => {
      await refused("qwen", body, null);
      await refused("wan", body, null);
    });

  test("with a member that stands twice is a 400 that names it", async () => {
    await refused("qwen", '{"model":"alibaba/qwen-image-2.0","prompt":"x","n":1,"n":4}', "n");
    await refused("wan", '{"model":"alibaba/wan-2.6","prompt":"x","duration":5,"duration":15}', "duration");
  });

  test("beyond the limit is input_too_large", () =>
    refused(
      "qwen",
      { prompt: "x", image: [`data:image/png;base64,${"A".repeat(33 * 1024 * 1024)}`] },
      null,
      "input_too_large",
    ));

  test("of another content type is a 400", async () => {
    for (const kind of ["image", "video"] as const) {
      const headers = { "content-type": "text/plain", ...account.headers };
      expect((await station.gateway.post(PATHS[kind], "{}", { headers })).status).toBe(400);
    }
  });
});

test("126: a path takes the methods that it has", async () => {
  const init = { headers: account.headers };
  for (const [method, path] of [
    ["GET", PATHS.image],
    ["GET", PATHS.video],
    ["DELETE", `${PATHS.image}/img_0`],
    ["GET", `${PATHS.video}/vid_0/cancel`],
  ] as const) {
    const response = await fetch(station.gateway.url + path, { ...init, method });
    expect([response.status, ((await response.json()) as Json).error.type]).toEqual([
      405,
      "invalid_request_error",
    ]);
  }
});

describe("S12, S13: a link to a private host", () => {
  const inside = ["http://169.254.169.254/latest/", "https://[::1]/a.png", "http://localhost/a.png"];

  test("is a 400 for images and videos alike", async () => {
    for (const url of [...inside, "http://2130706433/a.png", "http://127.1/a.png"]) {
      await refused("qwen", { image: [LINK, url] }, "image");
      await refused("edit", { image: [LINK], mask: url }, "mask");
      await refused("midjourney", { sref: url }, "sref");
      await refused("wan", { frame_images: [url] }, "frame_images");
      await refused("seedance", { input_references: [url] }, "input_references");
      await refused("seedance", { reference_videos: [url] }, "reference_videos");
    }
  });

  test("is taken where the operator excepted its host", async () => {
    const other = await startTaskStation({ settings: 'outbound: { allowed_hosts: ["localhost:9000"] }' });
    try {
      await other.submit("image", { image: ["http://localhost:9000/a.png"] }, WAITING);
      const refusal = await other.post("image", { image: ["http://localhost:9001/a.png"] });
      expect([refusal.status, ((await refusal.json()) as Json).error.param]).toEqual([400, "image[0]"]);
    } finally {
      await other.gateway.close();
    }
  });
});
