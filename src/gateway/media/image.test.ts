import { describe, expect, test } from "bun:test";
import { handOver } from "../../core/handover.ts";
import { createRequestMemory } from "../../core/bytes/request-memory.ts";
import { createFakeClock } from "../../../test/gateway/fake-clock.ts";
import { bytesOf, imageBody, mediaOffer } from "../../../test/gateway/media-offer.ts";
import { GatewayError } from "../../core/errors.ts";
import type { LogFields } from "../../core/log/log.ts";
import { type ResultFile, type Task, TASK_ERRORS, type TaskErrorType } from "../../core/task.ts";
import { createLimiter } from "../../limits/limiter.ts";
import { pendingTask } from "../../tasks/stored-task.ts";
import type { TaskSubmission } from "../../tasks/tasks.ts";
import { generateImage, readImageTask } from "./image.ts";
import type { MediaServices } from "./task.ts";
import { createReader } from "../reading/reader.ts";
import { openRequestRecord } from "../request-record.ts";

const MODEL = "alibaba/qwen-image-2.0";
const CALLER = { keyId: "key_1", accountId: "acct_1", models: null };
const FILE: ResultFile = { name: "a.png", mediaType: "image/png", bytes: 3, sha256: "00" };
const PENDING: Task = pendingTask({
  id: "img_0",
  kind: "image",
  accountId: "acct_1",
  model: MODEL,
  timeoutSec: 300,
  warnings: [],
  createdAtMs: 1_000,
});
const RESULT = { createdSec: 3, files: [FILE, { ...FILE, name: "gone.png" }] };
const COMPLETED: Task = {
  ...PENDING,
  state: "completed",
  startedAtMs: 2_000,
  endedAtMs: 3_000,
  result: RESULT,
  charge: 1_500_000n,
  provider: "dashscope",
};

/** Services whose tasks end as `task`. */
function open(task: Task, files: "there" | "away" = "there", memory = createRequestMemory(() => 1_000)) {
  const clock = createFakeClock();
  const submitted: TaskSubmission[] = [];
  const lines: LogFields[] = [];
  const services: MediaServices = {
    tasks: {
      async submit(submission) {
        submitted.push(submission);
        return PENDING;
      },
      find: async () => task,
      cancel: async () => "cancelled",
      ended: async () => task,
      abandon: async () => {},
    },
    assets: {
      urlOf: (id: string, { name }: ResultFile) => `https://gateway/${id}/${name}`,
      async read(_: string, name: string) {
        if (files === "away") throw new GatewayError("overloaded_error", "Results cannot be read.");
        return name === "gone.png" ? undefined : new Uint8Array([0, 1, 2]);
      },
    } as MediaServices["assets"],
    limiter: createLimiter(clock),
    reader: createReader(),
    clock,
    live: new Set(),
    offer: () => mediaOffer(),
    allowedHosts: () => [],
  };
  const log = (_: string, fields: LogFields = {}): void => void lines.push(fields);
  const record = openRequestRecord({ info: log, warn: log, error: log }, clock, {
    requestId: "req_1",
    method: "POST",
    path: "/",
  });
  const ask = (more: object = {}) =>
    generateImage(services, {
      caller: CALLER,
      body: handOver(bytesOf(imageBody(MODEL, more))),
      memory: memory.open("key"),
      headers: new Headers(),
      signal: new AbortController().signal,
      record,
    });
  const read = () =>
    readImageTask(services, {
      kind: "image",
      id: "img_0",
      caller: CALLER,
      record,
      memory: memory.open("key"),
    });
  return { ask, read, submitted, lines, record };
}

const WANTED: Readonly<
  Record<TaskErrorType, readonly [status: number, type: string, retryAfterSec?: number]>
> = {
  content_moderation: [400, "content_moderation"],
  invalid_request_error: [400, "invalid_request_error"],
  input_too_large: [400, "input_too_large"],
  timeout_error: [504, "timeout_error"],
  overloaded_error: [503, "overloaded_error", 10],
  generation_error: [502, "upstream_error"],
};

describe("a plain request", () => {
  for (const type of TASK_ERRORS) {
    test(`whose task fails by ${type} is ${WANTED[type].join(" ")}, with the task's own sentence`, async () => {
      const failure = { type, message: "A sentence." };
      const { ask, lines, record } = open({ ...PENDING, state: "failed", endedAtMs: 2_000, failure });
      const error = await ask().catch((thrown: unknown) => thrown);
      if (!(error instanceof GatewayError)) throw new Error("It is answered.");
      expect([error.status, error.type, error.message]).toEqual([
        WANTED[type][0],
        WANTED[type][1],
        "A sentence.",
      ]);
      expect(error.retryAfterSec).toBe(WANTED[type][2]);
      record.finish(error.status);
      expect(lines).toEqual([expect.objectContaining({ task: "img_0", outcome: type, credit: "0" })]);
    });
  }

  test("is queued as one that is waited for, and is told of its model, its task and its cost in the log", async () => {
    const { ask, submitted, lines, record } = open(COMPLETED);
    const { status, body } = await ask({ n: 2 });
    expect([status, JSON.parse(body)]).toEqual([
      200,
      {
        created: 3,
        data: [{ url: "https://gateway/img_0/a.png" }, { url: "https://gateway/img_0/gone.png" }],
        credit: 1.5,
      },
    ]);
    expect(submitted[0]).toMatchObject({ awaited: true, payload: { request: { kind: "image", n: 2 } } });
    record.finish(200);
    expect(lines[0]).toMatchObject({ model: MODEL, task: "img_0", outcome: "completed", credit: "1.5" });
  });

  test("has base64 of what is still there where it was asked for by name", async () => {
    const { data } = JSON.parse((await open(COMPLETED).ask({ response_format: "b64_json" })).body);
    expect(data).toEqual([
      { url: "https://gateway/img_0/a.png", b64_json: "AAEC" },
      { url: "https://gateway/img_0/gone.png" },
    ]);
  });

  test("has the URLs of what it is charged for while the files cannot be read", async () => {
    const { data } = JSON.parse((await open(COMPLETED, "away").ask({ response_format: "b64_json" })).body);
    expect(data).toEqual([{ url: "https://gateway/img_0/a.png" }, { url: "https://gateway/img_0/gone.png" }]);
  });
});

describe("files that there is no memory for", () => {
  const full = () => {
    const memory = createRequestMemory(() => 1_000);
    memory.open("another").take(1_000);
    return memory;
  };
  const withBase64 = { ...COMPLETED, result: { ...RESULT, base64: true } };

  test("are left out of an answer that is paid for, which has their URLs", async () => {
    const { ask } = open(COMPLETED, "there", full());
    const { data } = JSON.parse((await ask({ response_format: "b64_json" })).body);
    expect(data.map(Object.keys)).toEqual([["url"], ["url"]]);
  });

  test("make a read that can be repeated a 503", async () => {
    const error = await open(withBase64, "there", full())
      .read()
      .catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ kind: "overloaded_error", retryAfterSec: 2 });
  });

  test("hold five times their size until the answer is sent", async () => {
    const memory = createRequestMemory(() => 1_000_000);
    await open(withBase64, "there", memory).read();
    expect(memory.taken()).toBe(RESULT.files.length * FILE.bytes * 5);
  });
});

test("a task is queued as one that nobody waits for, and remembers that base64 was asked for", async () => {
  const { ask, submitted } = open(PENDING);
  const { status, body } = await ask({ async: true, response_format: "b64_json" });
  expect([status, JSON.parse(body).status]).toEqual([202, "pending"]);
  expect(submitted[0]).toMatchObject({ awaited: false, payload: { base64: true } });
  const result = COMPLETED.result;
  if (result === null) throw new Error("It has completed.");
  const told = JSON.parse((await open({ ...COMPLETED, result: { ...result, base64: true } }).read()).body);
  expect(told.data[0].b64_json).toBe("AAEC");
  expect(told.result.data).toEqual(told.data);
});
