import { describe, expect, test } from "bun:test";
import { handOver } from "../../core/handover.ts";
import { createRequestMemory } from "../../core/bytes/request-memory.ts";
import { createFakeClock } from "../../../test/gateway/fake-clock.ts";
import type { Caller } from "../../core/caller.ts";
import type { GatewayError } from "../../core/errors.ts";
import type { LogFields } from "../../core/log/log.ts";
import type { MediaRequest } from "../../core/media/media.ts";
import { NO_LIMITS } from "../../core/rate-limits.ts";
import type { Task } from "../../core/task.ts";
import { createLimiter } from "../../limits/limiter.ts";
import { pendingTask } from "../../tasks/stored-task.ts";
import type { Tasks, TaskSubmission } from "../../tasks/tasks.ts";
import type { TaskAdmission } from "./admit/admit.ts";
import type { Offer } from "../offer.ts";
import { submitTask, type TaskWay } from "./submit.ts";
import { awaitTask, cancelTask, findTask, type MediaInput, type MediaServices } from "./task.ts";
import type { LiveCall } from "../live-calls.ts";
import { createReader } from "../reading/reader.ts";
import { openRequestRecord } from "../request-record.ts";

const TASK: Task = pendingTask({
  id: "img_0123",
  kind: "image",
  accountId: "acct_1",
  model: "v/m",
  timeoutSec: 300,
  warnings: ["w"],
  createdAtMs: 1,
});
/** Nothing is held in these. */
const memory = createRequestMemory(() => 0).open("key");

const CALLER: Caller = { keyId: "key_1", accountId: "acct_1", models: null };

const provider = (id: string, clientHeaders: readonly string[]) => ({
  id,
  baseUrl: "http://p",
  headers: {},
  secrets: [],
  adapters: { image: {} },
  clientHeaders,
  answerHeaders: { "x-answered-by": id },
});
const MODEL = { id: "v/m", category: "image", routes: [{ provider: "one" }, { provider: "two" }] };
const OFFER = {
  catalog: { models: [], byId: () => [MODEL] },
  providers: new Map(),
  mediaProviders: new Map([
    ["one", provider("one", ["x-one"])],
    ["two", provider("two", ["x-two", "x-absent"])],
    ["three", provider("three", ["x-three"])],
  ]),
} as unknown as Offer;

const ADMISSION = {
  model: MODEL,
  request: { kind: "image", prompt: "p" },
  warnings: ["w"],
  awaited: false,
  base64: false,
  snapshot: { version: "1", prices: [], pricedAtMs: 1 },
  amount: 5n,
  expectedCost: 2n,
  timeoutSec: 300,
} as unknown as TaskAdmission;

/** A way on which every request is admitted as that, whatever its body. */
const admittedAs = (admission: TaskAdmission): TaskWay<null> => ({
  read: () => ({ fields: null, warnings: [] }),
  admit: () => admission,
});

/** Services over tasks that do what the test says, and what they were asked. */
function open(does: Partial<Tasks> = {}) {
  const clock = createFakeClock();
  const submitted: TaskSubmission[] = [];
  const asked: string[] = [];
  const fields: LogFields[] = [];
  const live = new Set<LiveCall>();
  const note = (name: string): void => void asked.push(name);
  const services: MediaServices = {
    tasks: {
      async submit(submission) {
        submitted.push(submission);
        return (await does.submit?.(submission)) ?? TASK;
      },
      async find(...args) {
        note("find");
        return does.find?.(...args);
      },
      async cancel(...args) {
        note("cancel");
        return (await does.cancel?.(...args)) ?? "unknown_task";
      },
      ended: does.ended ?? (() => new Promise(() => {})),
      async abandon(task) {
        note(`abandon ${task.id}`);
        await does.abandon?.(task);
      },
    },
    assets: {} as MediaServices["assets"],
    limiter: createLimiter(clock),
    reader: createReader(),
    clock,
    live,
    offer: () => OFFER,
    allowedHosts: () => [],
  };
  const log = (_: string, line: LogFields = {}): void => void fields.push(line);
  const record = openRequestRecord({ info: log, warn: log, error: log }, clock, {
    requestId: "req_1",
    method: "POST",
    path: "/",
  });
  const input = (caller: Caller = CALLER): MediaInput => ({
    caller,
    body: handOver(new Uint8Array()),
    memory,
    headers: new Headers({ "x-one": "1", "x-two": "2", "x-three": "3", cookie: "c" }),
    signal: new AbortController().signal,
    record,
  });
  const submit = (
    kind: "image" | "video" = "image",
    { caller, ...more }: Partial<TaskAdmission> & { caller?: Caller } = {},
  ) =>
    submitTask(
      services,
      input(caller),
      admittedAs({ ...ADMISSION, request: { ...ADMISSION.request, kind } as MediaRequest, ...more }),
      async (task) => ({ status: 202, body: "{}", task }),
    );
  return { services, submitted, asked, fields, live, record, clock, submit, input };
}

async function errorOf(promise: Promise<unknown>): Promise<GatewayError> {
  return promise.then(
    () => {
      throw new Error("Nothing was thrown.");
    },
    (error: GatewayError) => error,
  );
}

describe("submitting", () => {
  test("hands over who pays, what was admitted, and the headers that the model's providers are told", async () => {
    const { submit, submitted } = open();
    const answer = await submit("image", { base64: true });
    expect(submitted).toEqual([
      {
        kind: "image",
        accountId: "acct_1",
        keyId: "key_1",
        requestId: "req_1",
        model: ADMISSION.model,
        snapshot: ADMISSION.snapshot,
        amount: 5n,
        expectedCost: 2n,
        payload: {
          request: ADMISSION.request,
          clientHeaders: { "x-one": "1", "x-two": "2" },
          base64: true,
        },
        warnings: ["w"],
        timeoutSec: 300,
        awaited: false,
      },
    ]);
    expect(answer).toEqual({
      status: 202,
      body: "{}",
      warnings: ["w"],
      headers: { "x-answered-by": "one" },
    });
  });

  test("says who answered, once that is known", async () => {
    const { submit } = open({ submit: async () => ({ ...TASK, provider: "two" }) });
    expect((await submit()).headers).toEqual({ "x-answered-by": "two" });
  });

  const refusals = [
    ["insufficient_credits", 402, "insufficient_credits", "fewer or smaller images"],
    ["budget_exceeded", 402, "insufficient_credits", "budget"],
    ["key_not_live", 401, "auth_error", "key"],
    ["too_many_pending", 429, "rate_limit_error", "waiting"],
  ] as const;
  for (const [refusal, status, type, words] of refusals) {
    test(`that is refused by ${refusal} is ${status} ${type}`, async () => {
      const error = await errorOf(open({ submit: async () => refusal }).submit());
      expect([error.status, error.type]).toEqual([status, type]);
      expect(error.message).toContain(words);
      expect(error.retryAfterSec).toBe(refusal === "too_many_pending" ? 10 : undefined);
    });
  }

  test("too many videos is 400 and says so: there is no 429 for them", async () => {
    const error = await errorOf(open({ submit: async () => "too_many_pending" }).submit("video"));
    expect([error.status, error.type]).toEqual([400, "invalid_request_error"]);
    expect(error.message).toContain("as many tasks waiting as it may have");
  });
});

describe("limits of keys", () => {
  const limited = (limits: Partial<typeof NO_LIMITS>): Caller => ({
    ...CALLER,
    limits: { ...NO_LIMITS, ...limits },
  });

  for (const [kind, status, type] of [
    ["image", 429, "rate_limit_error"],
    ["video", 503, "overloaded_error"],
  ] as const) {
    test(`refuse ${kind}s with ${status} before credit is asked for, and say when to come again`, async () => {
      const { submit, submitted } = open();
      const caller = limited({ requestsPerMinute: 1 });
      const { headers } = await submit(kind, { caller });
      expect(headers["x-ratelimit-remaining-requests"]).toBe("0");
      const error = await errorOf(submit(kind, { caller }));
      expect([error.status, error.type, error.retryAfterSec]).toEqual([status, type, 60]);
      expect(error.headers["x-ratelimit-limit-requests"]).toBe("1");
      expect(submitted.length).toBe(1);
    });
  }

  test("a request holds its place until its answer is there, and a task that goes on without one holds none", async () => {
    const { services, submit, input } = open();
    const caller = limited({ concurrency: 1 });
    let answer: (() => void) | undefined;
    const waits = submitTask(
      services,
      input(caller),
      admittedAs(ADMISSION),
      (task) => new Promise((resolve) => (answer = () => resolve({ status: 200, body: "", task }))),
    );
    expect((await errorOf(submit("image", { caller }))).status).toBe(429);
    while (answer === undefined) await Promise.resolve();
    answer();
    await waits;
    for (let i = 0; i < 3; i += 1) expect((await submit("image", { caller })).status).toBe(202);
  });

  test("a refused request gives its place back", async () => {
    const { submit } = open({ submit: async () => "insufficient_credits" });
    const caller = limited({ concurrency: 1 });
    for (let i = 0; i < 3; i += 1) expect((await errorOf(submit("image", { caller }))).status).toBe(402);
  });

  test("tokens that a result was billed by count, and nothing counts before", async () => {
    const result = { createdSec: 1, files: [], usage: { inputTokens: 40, outputTokens: 60 } };
    const { services, input } = open();
    const caller = limited({ tokensPerMinute: 1_000 });
    const { headers } = await submitTask(services, input(caller), admittedAs(ADMISSION), async (task) => ({
      status: 200,
      body: "",
      task: { ...task, result },
    }));
    expect(headers["x-ratelimit-remaining-tokens"]).toBe("900");
  });
});

describe("waiting for a task", () => {
  const COMPLETED: Task = { ...TASK, state: "completed", result: { createdSec: 1, files: [] }, charge: 1n };
  const untilAborted: Tasks["ended"] = (_, signal) =>
    new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error)));

  test("gives it as it ended, and nothing is given up", async () => {
    const { services, asked, live } = open({ ended: async () => COMPLETED });
    expect(await awaitTask(services, TASK, new AbortController().signal)).toBe(COMPLETED);
    expect([asked, live.size]).toEqual([[], 0]);
  });

  test("gives it up when the client has gone", async () => {
    const { services, asked, live } = open({ ended: untilAborted, find: async () => COMPLETED });
    const client = new AbortController();
    const waits = errorOf(awaitTask(services, TASK, client.signal));
    client.abort(new Error("gone"));
    expect((await waits).message).toBe("gone");
    expect([asked, live.size]).toEqual([["abandon img_0123"], 0]);
  });

  test("gives it up when the gateway shuts down, and tells why", async () => {
    const { services, asked, live, clock } = open({ ended: untilAborted });
    const waits = errorOf(awaitTask(services, TASK, new AbortController().signal));
    for (const waiting of live) waiting.abort(new Error("shutting down"));
    await clock.advance(0);
    await clock.advance(5_000);
    expect((await waits).message).toBe("shutting down");
    expect([asked, live.size]).toEqual([["abandon img_0123"], 0]);
  });

  test("gives a client that is still there what is made, and charged, while it is given up", async () => {
    const given = Promise.withResolvers<Task>();
    let asks = 0;
    const { services, live, clock } = open({
      ended: (...args) => ((asks += 1) === 1 ? untilAborted(...args) : given.promise),
    });
    const waits = awaitTask(services, TASK, new AbortController().signal);
    for (const waiting of live) waiting.abort(new Error("shutting down"));
    await clock.advance(0);
    await clock.advance(4_000);
    given.resolve(COMPLETED);
    expect(await waits).toBe(COMPLETED);
  });

  test("tells why nobody waits any more as soon as it has ended without a result", async () => {
    let asks = 0;
    const failed: Task = { ...TASK, state: "failed", failure: { type: "generation_error", message: "gone" } };
    const { services, live } = open({
      ended: (...args) => ((asks += 1) === 1 ? untilAborted(...args) : Promise.resolve(failed)),
    });
    const waits = errorOf(awaitTask(services, TASK, new AbortController().signal));
    for (const waiting of live) waiting.abort(new Error("shutting down"));
    expect((await waits).message).toBe("shutting down");
  });

  test("tells why nobody waits any more, also when it cannot be given up", async () => {
    const away = () => Promise.reject(new Error("away"));
    const { services, live } = open({ ended: untilAborted, abandon: away });
    const waits = errorOf(awaitTask(services, TASK, new AbortController().signal));
    for (const waiting of live) waiting.abort(new Error("shutting down"));
    expect((await waits).message).toBe("shutting down");
  });
});

describe("a task of a path", () => {
  const ids = ["img_0", "vid_0123", "IMG_0123", "", "a/b", "img_'or 1=1", "🦊", "%", "x".repeat(4096), ".."];
  test("that is none of the caller's is the same 404, whatever the id is", async () => {
    const { services, record } = open();
    const seen = new Set<string>();
    for (const id of ids) {
      for (const act of [findTask, cancelTask]) {
        const error = await errorOf(act(services, { kind: "image", id, caller: CALLER, record, memory }));
        seen.add(`${error.status} ${error.type} ${error.message} ${JSON.stringify(error.headers)}`);
      }
    }
    expect([...seen]).toEqual(["404 not_found_error There is no such task. {}"]);
  });

  test("is looked for among those of its kind and its account, and no other id is looked for at all", async () => {
    const calls: unknown[] = [];
    const { services, record, asked } = open({
      async find(...args) {
        calls.push(args);
        return TASK;
      },
    });
    const found = await findTask(services, { kind: "image", id: "img_0123", caller: CALLER, record, memory });
    expect(found).toEqual({ task: TASK, headers: { "x-answered-by": "one" } });
    expect(calls).toEqual([["image", "img_0123", "acct_1"]]);
    for (const id of ["a b", "x".repeat(81), "é"])
      await errorOf(findTask(services, { kind: "image", id, caller: CALLER, record, memory }));
    expect(asked).toEqual(["find"]);
  });

  test("is 503 while the store cannot be read", async () => {
    const { services, record } = open({ find: () => Promise.reject(new Error("away")) });
    const error = await errorOf(
      findTask(services, { kind: "image", id: "img_0", caller: CALLER, record, memory }),
    );
    expect([error.status, error.retryAfterSec]).toEqual([503, 2]);
  });

  for (const [came, want] of [
    ["cancelled", undefined],
    ["started", "409 conflict_error"],
    ["ended", "409 conflict_error"],
    ["unknown_task", "404 not_found_error"],
  ] as const) {
    test(`that is asked to be cancelled and is ${came} is ${want ?? "a success"}`, async () => {
      const { services, record } = open({ cancel: async () => came });
      const cancelled = cancelTask(services, { kind: "video", id: "vid_0", caller: CALLER, record, memory });
      if (want === undefined) return expect(await cancelled).toBeUndefined();
      const error = await errorOf(cancelled);
      expect(`${error.status} ${error.type}`).toBe(want);
    });
  }
});
