import { describe, expect, test } from "bun:test";
import type { Task } from "../../core/task.ts";
import { encodeCancelledVideo, encodeVideoTask } from "./encode-video.ts";

const PENDING: Task = {
  id: "vid_0123",
  kind: "video",
  accountId: "acct_1",
  model: "alibaba/wan-2.6",
  state: "pending",
  timeoutSec: 600,
  warnings: ["resolution 480p is made as 720p."],
  createdAtMs: 1_795_000_000_000,
  startedAtMs: null,
  endedAtMs: null,
  failure: null,
  result: null,
  charge: null,
  provider: null,
};
const FILE = { name: "a.mp4", mediaType: "video/mp4", bytes: 3, sha256: "00" };
const FIRST = {
  id: "vid_0123",
  status: "pending",
  created: 1_795_000_000,
  timeout: 600,
  polling_url: "/api/v1/videos/vid_0123",
  cancel_url: "/api/v1/videos/vid_0123/cancel",
  started_at: null,
  completed_at: null,
  warnings: ["resolution 480p is made as 720p."],
};
const running: Task = { ...PENDING, state: "running", startedAtMs: 1_795_000_001_000 };
const ended = { started_at: 1_795_000_001, completed_at: 1_795_000_009 };
const END = { endedAtMs: 1_795_000_009_000 };

describe("a video task", () => {
  const cases: readonly { readonly name: string; readonly task: Task; readonly want: object }[] = [
    { name: "waits without output, error and credit", task: PENDING, want: FIRST },
    {
      name: "runs under that name",
      task: running,
      want: { ...FIRST, status: "running", started_at: 1_795_000_001 },
    },
    {
      name: "completes with its URLs and its credit",
      task: {
        ...running,
        ...END,
        state: "completed",
        result: { createdSec: 1, files: [FILE] },
        charge: 5_000_000_001n,
      },
      want: {
        ...FIRST,
        ...ended,
        status: "completed",
        output: { urls: ["https://gateway/1"] },
        credit: 5_000.000001,
      },
    },
    {
      name: "fails with a sentence, and without credit",
      task: { ...running, ...END, state: "failed", failure: { type: "generation_error", message: "No." } },
      want: { ...FIRST, ...ended, status: "failed", error: "No." },
    },
    {
      name: "is cancelled without either",
      task: { ...PENDING, ...END, state: "cancelled" },
      want: { ...FIRST, status: "cancelled", completed_at: 1_795_000_009 },
    },
  ];
  for (const { name, task, want } of cases)
    test(name, () => expect(JSON.parse(encodeVideoTask(task, ["https://gateway/1"]))).toEqual(want));

  test("is answered to a cancel with id and status", () =>
    expect(JSON.parse(encodeCancelledVideo("vid_0123"))).toEqual({ id: "vid_0123", status: "cancelled" }));
});
