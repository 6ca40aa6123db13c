import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { createFastClock } from "../gateway/fast-clock.ts";
import { type Json, startGateway, type TestGateway, UPSTREAM_KEY } from "../gateway/gateway.ts";
import { type Answer, jsonAnswer } from "../upstream/answer.ts";
import {
  badChunkSize,
  finAt,
  garbageStatusLine,
  hugeHeader,
  interimStorm,
  longContentLength,
  manyHeaders,
  redirectTo,
  resetAt,
  stallAt,
  truncatedGzip,
} from "../upstream/faults.ts";
import { startDashscopeDouble } from "../upstream/media/dashscope-double.ts";
import type { Fault, MediaDouble, Stage, WorkScript } from "../upstream/media/media-double.ts";

// Each fault of a provider of images and videos (U1 to U57), over real sockets, on time that runs fast. The tests check
// what becomes of a task, what its client is told and charged, and how often its provider took it.

let double: MediaDouble;
/** Where time runs so fast that waits are short and a busy machine still answers within every limit. */
let gateway: TestGateway;
/** Where it runs faster, for deadlines. */
let faster: TestGateway;

beforeAll(async () => {
  double = await startDashscopeDouble(UPSTREAM_KEY);
  const start = (times: number): Promise<TestGateway> =>
    startGateway({
      clock: createFastClock(times),
      environment: { DASHSCOPE_API_KEY: UPSTREAM_KEY, DASHSCOPE_BASE_URL: double.baseUrl },
      // A lease that runs out as fast as time does would be lost on a busy machine.
      settings: `outbound: { allowed_hosts: ["${new URL(double.files.url).host}"] }\ntasks: { lease_seconds: 3600 }`,
    });
  [gateway, faster] = await Promise.all([start(20), start(30)]);
});
afterAll(async () => {
  for (const each of [gateway, faster]) {
    const { json } = await each.admin("GET", "/audit");
    expect(json.checks.filter((check: Json) => !check.ok)).toEqual([]);
    await each.close();
  }
  await double.close();
});
afterEach(() => {
  // The credential goes to its own server alone.
  expect(double.files.requests.filter((request) => request.header("authorization") !== undefined)).toEqual(
    [],
  );
  expect(double.upstream.brokenRequests).toEqual([]);
  double.reset();
});

const PATHS = { images: "/api/v1/images/generations", video: "/api/v1/videos" } as const;
const BODIES = {
  images: { model: "alibaba/qwen-image-2.0", prompt: "A lighthouse.", size: "512*512", async: true },
  video: { model: "alibaba/wan-2.6", prompt: "Waves." },
} as const;
type Kind = keyof typeof PATHS;

/** The task of a request, once it has ended. */
async function ended(kind: Kind, more: object = {}, at = gateway): Promise<Json> {
  const response = await at.post(PATHS[kind], { ...BODIES[kind], ...more });
  const task = (await response.json()) as Json;
  expect([response.status, task.error?.message]).toEqual([202, undefined]);
  const until = performance.now() + 30_000;
  for (;;) {
    const read = await fetch(at.url + task.polling_url, { headers: { authorization: `Bearer ${at.key}` } });
    const json = (await read.json()) as Json;
    if (["completed", "failed", "cancelled"].includes(json.status)) return json;
    if (performance.now() > until) throw new Error(`The task is still ${json.status}.`);
    await Bun.sleep(10);
  }
}

/** `completed <files> <credit>`, or `failed <type>` as far as the kind tells it. */
function told(kind: Kind, task: Json): string {
  if (task.status !== "completed") {
    expect(task.credit).toBeUndefined();
    return kind === "images" ? `failed ${task.error.type}` : "failed";
  }
  return `completed ${(kind === "images" ? task.data : task.output.urls).length} ${task.credit}`;
}

async function balance(at: TestGateway): Promise<number> {
  await at.settled();
  return (await at.account()).balance;
}

interface Row {
  readonly name: string;
  readonly faults?: readonly (Fault | undefined)[];
  readonly script?: WorkScript;
  /** Made of an image; of a video what differs. */
  readonly want: string;
  /** How often the provider took it. */
  readonly taken: number;
  readonly more?: object;
  /** An error line with `operator_fault`. */
  readonly alarm?: true;
}

const after = (change: (answer: Answer) => Answer): Fault => ({ after: change });
const instead = (answer: Answer): Fault => ({ instead: answer });
const refusal = (status: number, code: string, headers: readonly [string, string][] = []): Fault =>
  instead(jsonAnswer(status, { code, message: `${code}: no`, request_id: "double" }, { headers }));
const html = (answer: Answer): Answer => ({
  ...answer,
  headers: [["content-type", "text/html"]],
  body: "<html>",
});

const MADE = "completed 1 350";

/** What a sending can meet. Of videos the same is wanted but for the price. */
const SENDING: readonly Row[] = [
  {
    name: "U7, U8: a reset before the answer: nobody knows, so it is sent once more",
    faults: [after((answer) => resetAt(answer, "start"))],
    want: MADE,
    taken: 2,
  },
  {
    name: "U8: resets twice: it is not sent a third time",
    faults: [after((answer) => resetAt(answer, "start")), after((answer) => resetAt(answer, "mid-head"))],
    want: "failed generation_error",
    taken: 2,
  },
  {
    name: "U10: interim answers, very many",
    faults: [after((answer) => interimStorm(answer))],
    want: MADE,
    taken: 1,
  },
  { name: "U11: a good status of HTML", faults: [after(html)], want: MADE, taken: 2 },
  {
    name: "U12: an empty answer",
    faults: [after((answer) => ({ ...answer, body: "" }))],
    want: MADE,
    taken: 2,
  },
  {
    name: "U13: garbage",
    faults: [after((answer) => ({ ...answer, body: '{"output":' }))],
    want: MADE,
    taken: 2,
  },
  { name: "U14: less than its length", faults: [after(longContentLength)], want: MADE, taken: 2 },
  {
    name: "U15: another shape",
    faults: [after(() => jsonAnswer(200, { output: null }))],
    want: MADE,
    taken: 2,
  },
  {
    name: "U16: fields that nobody knows",
    faults: [after((answer) => ({ ...answer, body: `{"novel":1,${String(answer.body).slice(1)}` }))],
    want: MADE,
    taken: 1,
  },
  {
    name: "U17: refused as invalid",
    faults: [refusal(400, "InvalidParameter")],
    want: "failed invalid_request_error",
    taken: 0,
  },
  {
    name: "U18: refused by moderation",
    faults: [refusal(400, "DataInspectionFailed")],
    want: "failed content_moderation",
    taken: 0,
  },
  {
    name: "U19: the gateway's key is refused with 401",
    faults: [refusal(401, "InvalidApiKey")],
    want: "failed generation_error",
    taken: 0,
    alarm: true,
  },
  {
    name: "U19: the gateway's key is refused with 403",
    faults: [refusal(403, "AccessDenied")],
    want: "failed generation_error",
    taken: 0,
    alarm: true,
  },
  {
    name: "U19: the operator has not paid",
    faults: [refusal(400, "Arrearage")],
    want: "failed generation_error",
    taken: 0,
    alarm: true,
  },
  {
    name: "U20: the model is gone",
    faults: [refusal(404, "ModelNotFound")],
    want: "failed generation_error",
    taken: 0,
    alarm: true,
  },
  { name: "U21: a conflict", faults: [refusal(409, "Conflict")], want: MADE, taken: 1 },
  { name: "U22: too large", faults: [refusal(413, "TooLarge")], want: "failed input_too_large", taken: 0 },
  {
    name: "U23: limited by its provider for a second",
    faults: [refusal(429, "Throttling", [["retry-after", "1"]])],
    want: MADE,
    taken: 1,
  },
  {
    name: "U24: limited again and again",
    faults: Array.from({ length: 3 }, () => refusal(429, "Throttling.RateQuota")),
    want: MADE,
    taken: 1,
  },
  {
    name: "U25: a failure of their server",
    faults: [refusal(500, "InternalError")],
    want: MADE,
    taken: 1,
  },
  {
    name: "U25: failures of their server",
    faults: [refusal(500, "InternalError"), refusal(500, "InternalError.Timeout")],
    want: "failed generation_error",
    taken: 0,
  },
  {
    name: "U26: 502 from their edge, which may have passed it on",
    faults: [after(() => ({ status: 502, body: "<html>bad gateway</html>" }))],
    want: MADE,
    taken: 2,
  },
  {
    name: "U26: 504 twice",
    faults: [after(() => ({ status: 504, body: "" })), after(() => ({ status: 504, body: "" }))],
    want: "failed generation_error",
    taken: 2,
  },
  { name: "U27: unavailable", faults: [refusal(503, "ServiceUnavailable")], want: MADE, taken: 1 },
  {
    name: "U28: a Retry-After that nobody could wait for",
    faults: [
      refusal(429, "Throttling", [["retry-after", "-1"]]),
      refusal(429, "Throttling", [["retry-after", "x"]]),
    ],
    want: MADE,
    taken: 1,
  },
  {
    name: "U29: a redirect is not followed",
    faults: [instead(redirectTo("http://169.254.169.254/latest/meta-data", 307))],
    want: "failed generation_error",
    taken: 0,
    alarm: true,
  },
  { name: "U45: one huge header, which is not read", faults: [after(hugeHeader)], want: MADE, taken: 1 },
  { name: "U45: very many headers", faults: [after(manyHeaders)], want: MADE, taken: 2 },
  { name: "U47: a broken coding", faults: [after(truncatedGzip)], want: MADE, taken: 2 },
  { name: "U48: a bad chunk", faults: [after((answer) => badChunkSize(answer))], want: MADE, taken: 2 },
  { name: "no HTTP at all", faults: [after((answer) => garbageStatusLine(answer))], want: MADE, taken: 2 },
  {
    name: "U61: their answer repeats the gateway's key",
    faults: [
      instead(
        jsonAnswer(400, { code: "InvalidParameter", message: `The key ${UPSTREAM_KEY} may not do this.` }),
      ),
    ],
    want: "failed invalid_request_error",
    taken: 0,
  },
];

async function check(kind: Kind, stage: Stage, row: Row, at = gateway): Promise<Json> {
  const before = await balance(at);
  const logged = at.logs.length;
  double.fault(stage, ...(row.faults ?? []));
  if (row.script !== undefined) double.script(row.script);
  const task = await ended(kind, row.more, at);
  const want = kind === "images" ? row.want : row.want.replace(/^failed.*/, "failed").replace(/350$/, "5000");
  expect(told(kind, task)).toBe(want);
  expect(double.accepted).toHaveLength(row.taken);
  expect(before - (await balance(at))).toBe(task.credit ?? 0);
  expect(JSON.stringify(task)).not.toContain(UPSTREAM_KEY);
  const lines = at.logs.slice(logged);
  expect(lines.some((line) => line.operator_fault === true)).toBe(row.alarm === true);
  expect(JSON.stringify(lines)).not.toContain(UPSTREAM_KEY);
  return task;
}

describe("images that are sent meet", () => {
  for (const row of SENDING) test(row.name, () => check("images", "images", row).then(() => {}));
});

for (const kind of ["images", "video"] as const)
  test(`U9: a provider that never answers: the deadline ends it, and it may have been made (${kind})`, async () => {
    const row = {
      name: "",
      faults: [after((answer: Answer) => stallAt(answer, "start"))],
      want: "failed timeout_error",
      taken: 1,
      more: { timeout: 60 },
    };
    await check(kind, kind, row, faster);
  });

test("the row of a request has every sending of its task, with what became of it", async () => {
  double.fault(
    "images",
    refusal(429, "Throttling"),
    after((answer) => resetAt(answer, "start")),
  );
  await ended("images");
  const { json } = await gateway.admin("GET", `/requests?account_id=${gateway.accountId}&limit=1`);
  const [row] = json.data;
  expect(
    row.attempts.map(({ provider, upstream_id, status }: Json) => [provider, upstream_id, status]),
  ).toEqual([
    ["dashscope", "qwen-image-2.0", 429],
    ["dashscope", "qwen-image-2.0", null],
    ["dashscope", "qwen-image-2.0", 200],
  ]);
  // What the provider took is what was sent, but for what it refused.
  expect(double.accepted).toHaveLength(2);
});

describe("videos that are sent meet", () => {
  for (const row of SENDING)
    test(row.name, () => check("video", "video", { ...row, script: { runningPolls: 0 } }).then(() => {}));

  test("U52: a good answer without a task", async () => {
    await check("video", "video", {
      name: "",
      faults: [after(() => jsonAnswer(200, { output: { task_status: "PENDING" }, request_id: "double" }))],
      want: MADE,
      taken: 2,
    });
  });
});

describe("a video that is asked after meets", () => {
  const status = (words: string): Fault =>
    after(() => jsonAnswer(200, { output: { task_id: "x", task_status: words } }));
  const rows: readonly Row[] = [
    {
      name: "U54: failures between good answers",
      faults: [refusal(500, "InternalError"), undefined, after((answer) => resetAt(answer, "start"))],
      script: { runningPolls: 2 },
      want: MADE,
      taken: 1,
    },
    {
      name: "U54: a word that nobody knows, and a way back",
      faults: [status("RUNNING"), status("PONDERING"), status("PENDING")],
      want: MADE,
      taken: 1,
    },
    { name: "answers that are no JSON", faults: [after(html)], want: MADE, taken: 1 },
    { name: "a body that is cut off", faults: [after((answer) => finAt(answer, 10))], want: MADE, taken: 1 },
    {
      name: "a limit on questions",
      faults: [refusal(429, "Throttling", [["retry-after", "2"]])],
      want: MADE,
      taken: 1,
    },
    {
      name: "a key that is refused for a while",
      faults: [refusal(401, "InvalidApiKey")],
      script: { runningPolls: 0 },
      want: MADE,
      taken: 1,
      alarm: true,
    },
    {
      name: "U53: a task that is unknown now, three times",
      script: { runningPolls: 9, vanishesAfter: 1 },
      want: "failed generation_error",
      taken: 1,
    },
    {
      name: "a failure for a reason that the client can mend",
      script: { fails: { code: "DataInspectionFailed", message: "The video was blocked." } },
      want: "failed content_moderation",
      taken: 1,
    },
    {
      name: "a failure",
      script: { fails: { code: "InternalError", message: "CUDA" } },
      want: "failed generation_error",
      taken: 1,
    },
    {
      name: "a redirect",
      faults: [instead(redirectTo("http://169.254.169.254/", 302))],
      want: MADE,
      taken: 1,
      alarm: true,
    },
  ];
  for (const row of rows) test(row.name, () => check("video", "poll", row).then(() => {}));

  test("U56, U57: its deadline: the provider is told to stop, whatever it says, and the client pays nothing", async () => {
    double.fault("cancel", refusal(500, "InternalError"), refusal(400, "UnsupportedOperation"));
    const row = {
      name: "",
      script: { runningPolls: 1_000 },
      want: "failed timeout_error",
      taken: 1,
      more: { timeout: 60 },
    };
    await check("video", "poll", row, faster);
    const cancels = (): number =>
      double.upstream.requests.filter(({ target }) => target.endsWith("/cancel")).length;
    const until = performance.now() + 5_000;
    while (cancels() === 0 && performance.now() < until) await Bun.sleep(10);
    expect(cancels()).toBeGreaterThan(0);
  });

  test("U35: seconds that cannot be: the client pays for those it asked for", async () => {
    const durations = [-5, 1e15, "5", null, 0, 3.2];
    double.script(...durations.map((duration) => ({ usage: { duration }, runningPolls: 0 })));
    const videos = await Promise.all(durations.map(async () => told("video", await ended("video"))));
    expect(videos.sort()).toEqual([
      "completed 1 4000",
      ...Array.from({ length: 5 }, () => "completed 1 5000"),
    ]);
  });
});

describe("results", () => {
  const n4 = { n: 4 };
  const rows: readonly Row[] = [
    { name: "U50: none", script: { files: [] }, want: "failed generation_error", taken: 1 },
    {
      name: "U50: fewer than were asked for",
      script: { files: ["image", "image"] },
      want: "completed 2 700",
      taken: 1,
      more: n4,
    },
    {
      name: "U50: one pixel, a page, half an image, and one that is right",
      script: { files: ["pixel", "page", "half", "image"] },
      want: MADE,
      taken: 1,
      more: n4,
    },
    {
      name: "U51: a link that is dead, a file that is cut off, a redirect to a private address",
      script: { files: ["missing", "cut", "redirect_to_private", "image"] },
      want: MADE,
      taken: 1,
      more: n4,
    },
    {
      name: "U51: only dead links",
      script: { files: ["missing"] },
      want: "failed generation_error",
      taken: 1,
    },
    {
      name: "a video in place of an image",
      script: { files: ["video"] },
      want: "failed generation_error",
      taken: 1,
    },
  ];
  for (const row of rows) test(row.name, () => check("images", "images", row).then(() => {}));

  test("are given out as they were made", async () => {
    const task = await check("images", "images", { name: "", want: MADE, taken: 1 });
    const file = await fetch(task.data[0].url);
    expect([file.status, file.headers.get("content-type")]).toEqual([200, "image/png"]);
    const bytes = new Uint8Array(await file.arrayBuffer());
    expect(bytes.length).toBeGreaterThan(50);
  });
});

test("what a provider is sent is what was asked for, with nothing left to its own defaults", async () => {
  double.script({}, { runningPolls: 0 });
  await ended("images", { n: 2, seed: 7, image: ["https://a.example/b.png"], size: "1024*768" });
  await ended("video", {
    seed: 7,
    resolution: "1080p",
    aspect_ratio: "9:16",
    duration: "10",
    negative_prompt: "Rain.",
  });
  expect(double.accepted.map(({ model, input, parameters }) => ({ model, input, parameters }))).toEqual([
    {
      model: "qwen-image-2.0",
      input: {
        messages: [
          { role: "user", content: [{ image: "https://a.example/b.png" }, { text: "A lighthouse." }] },
        ],
      },
      parameters: { size: "1024*768", n: 2, prompt_extend: false, watermark: false, seed: 7 },
    },
    {
      model: "wan2.6-t2v",
      input: { prompt: "Waves.", negative_prompt: "Rain." },
      parameters: {
        size: "1080*1920",
        duration: 10,
        shot_type: "single",
        prompt_extend: false,
        watermark: false,
        seed: 7,
      },
    },
  ]);
});
