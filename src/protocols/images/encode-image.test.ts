import { describe, expect, test } from "bun:test";
import type { Task } from "../../core/task.ts";
import { isCompleted } from "../tasks.ts";
import { encodeCancelledImage, encodeImageResult, encodeImageTask } from "./encode-image.ts";

const PENDING: Task = {
  id: "img_0123",
  kind: "image",
  accountId: "acct_1",
  model: "alibaba/qwen-image-2.0",
  state: "pending",
  timeoutSec: 300,
  warnings: [],
  createdAtMs: 1_795_000_000_999,
  startedAtMs: null,
  endedAtMs: null,
  failure: null,
  result: null,
  charge: null,
  provider: null,
};
const RUNNING: Task = { ...PENDING, state: "running", startedAtMs: 1_795_000_002_001, provider: "dashscope" };
const FILE = { name: "a.png", mediaType: "image/png", bytes: 3, sha256: "00" };
const COMPLETED: Task = {
  ...RUNNING,
  state: "completed",
  endedAtMs: 1_795_000_009_500,
  result: { createdSec: 1_795_000_008, files: [FILE, FILE], usage: { inputTokens: 7, outputTokens: 1_120 } },
  charge: 350_000_001n,
  warnings: ["seed was left out."],
};
const LINKS = [{ url: "https://gateway/1" }, { url: "https://gateway/2", base64: "AAEC" }];
const FIRST = {
  id: "img_0123",
  object: "image_generation.task",
  status: "pending",
  created: 1_795_000_000,
  timeout: 300,
  polling_url: "/api/v1/images/generations/img_0123",
  cancel_url: "/api/v1/images/generations/img_0123/cancel",
  started_at: null,
  completed_at: null,
  warnings: [],
  error: null,
};
const RESULT = {
  data: [{ url: "https://gateway/1" }, { url: "https://gateway/2", b64_json: "AAEC" }],
  usage: { input_tokens: 7, output_tokens: 1_120, total_tokens: 1_127 },
  credit: 350.000001,
};

describe("an image task", () => {
  test("that waits has every field that it always has, null where nothing is known, and no result", () =>
    expect(JSON.parse(encodeImageTask(PENDING, []))).toEqual(FIRST));

  test("that runs says since when, in whole seconds", () =>
    expect(JSON.parse(encodeImageTask(RUNNING, []))).toEqual({
      ...FIRST,
      status: "running",
      started_at: 1_795_000_002,
    }));

  test("that has completed has its result in both layouts, and its warnings", () =>
    expect(JSON.parse(encodeImageTask(COMPLETED, LINKS))).toEqual({
      ...FIRST,
      status: "completed",
      started_at: 1_795_000_002,
      completed_at: 1_795_000_009,
      warnings: ["seed was left out."],
      ...RESULT,
      result: { created: 1_795_000_008, ...RESULT },
    }));

  test("that has failed says why in an object, and when", () =>
    expect(
      JSON.parse(
        encodeImageTask(
          {
            ...RUNNING,
            state: "failed",
            endedAtMs: 1_795_000_009_500,
            failure: { type: "content_moderation", message: "No." },
          },
          [],
        ),
      ),
    ).toEqual({
      ...FIRST,
      status: "failed",
      started_at: 1_795_000_002,
      completed_at: 1_795_000_009,
      error: { message: "No.", type: "content_moderation" },
    }));

  test("that was cancelled has an end and no error", () =>
    expect(
      JSON.parse(encodeImageTask({ ...PENDING, state: "cancelled", endedAtMs: 1_795_000_001_000 }, [])),
    ).toEqual({ ...FIRST, status: "cancelled", completed_at: 1_795_000_001 }));

  test("whose files are no longer kept has an empty list of them and what it cost", () => {
    const { data, result, credit } = JSON.parse(encodeImageTask(COMPLETED, []));
    expect([data, result.data, credit, result.credit]).toEqual([[], [], 350.000001, 350.000001]);
  });

  test("that was free costs 0", () =>
    expect(JSON.parse(encodeImageTask({ ...COMPLETED, charge: 0n }, LINKS)).credit).toBe(0));

  test("tells its credit in the digits of the ledger, twice", () => {
    const text = encodeImageTask({ ...COMPLETED, charge: 9_007_199_254_740_991n }, LINKS);
    expect(text.match(/"credit":9007199254\.740991[,}]/g)?.length).toBe(2);
  });

  test("is answered to a cancel with id, object and status", () =>
    expect(JSON.parse(encodeCancelledImage("img_0123"))).toEqual({
      id: "img_0123",
      object: "image_generation.task",
      status: "cancelled",
    }));
});

test("a plain result has its images, usage and credit, and usage only where tokens were counted", () => {
  if (!isCompleted(COMPLETED)) throw new Error("It has completed.");
  expect(JSON.parse(encodeImageResult(COMPLETED, LINKS))).toEqual({ created: 1_795_000_008, ...RESULT });
  const { usage: _, ...without } = COMPLETED.result;
  expect(JSON.parse(encodeImageResult({ ...COMPLETED, result: without }, LINKS))).not.toHaveProperty("usage");
});
