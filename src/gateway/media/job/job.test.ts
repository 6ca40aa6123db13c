import { describe, expect, test } from "bun:test";
import { createFakeClock, type FakeClock } from "../../../../test/gateway/fake-clock.ts";
import {
  createTestFiles,
  createTestRun,
  routingAt,
  VIDEO,
  keepingLog,
  mediaModel,
  mediaOffer,
  IMAGE,
  type TestFiles,
  type TestRun,
  type TestRunOptions,
} from "../../../../test/gateway/media-run.ts";
import {
  createScriptedMaker,
  type MakerScript,
  refused,
  type ScriptedMaker,
  unknownJob,
  working,
} from "../../../../test/gateway/scripted-maker.ts";
import { testVideo, testImage } from "../../../../test/upstream/media/result-files.ts";
import { MAX_FILE_BYTES } from "../../../assets/content.ts";
import { Readable } from "node:stream";
import { type ByteBudget, createByteBudget } from "../../../core/bytes/byte-budget.ts";
import { wait } from "../../../core/time/clock.ts";
import { GatewayError } from "../../../core/errors.ts";
import { noFailpoint } from "../../../core/failpoint.ts";
import { NotSent } from "../../../providers/sending.ts";
import type {
  BegunParts,
  MediaDone,
  MediaOutput,
  MediaRefusal,
  MediaStep,
} from "../../../providers/media.ts";
import { NO_USAGE } from "../../../core/money/usage.ts";
import type { TaskOutcome } from "../../../tasks/run/job.ts";
import { createGridCutter } from "../../../runtime/images/grid-cutter.ts";
import { DEFAULT_TIMEOUTS } from "../../timeouts.ts";
import { createMediaJob } from "./job.ts";

const IMAGE_MODEL = mediaModel("image", { prices: { image: 0.035 } });
const VIDEO_MODEL = mediaModel("video", { prices: { second: 0.1 } });

const image = (): MediaOutput => ({ bytes: testImage() });
const done = (outputs: readonly MediaOutput[] = [image()], more: Partial<MediaDone> = {}): MediaDone => ({
  state: "done",
  outputs,
  ...more,
});

const upstream = (code?: string): GatewayError =>
  new GatewayError("upstream_error", "The provider could not be reached.", {
    cause: Object.assign(new Error("no"), code === undefined ? {} : { code }),
  });
const unconnected = new GatewayError("timeout_error", "The provider could not be connected to in time.", {
  cause: new NotSent(),
});
const silent = new GatewayError("timeout_error", "The provider did not answer in time.");

interface Scene {
  readonly clock: FakeClock;
  readonly maker: ScriptedMaker;
  readonly run: TestRun;
  readonly files: TestFiles;
  readonly log: ReturnType<typeof keepingLog>;
  /** URLs that were fetched. */
  readonly fetched: readonly string[];
  /** When each of them was. */
  readonly fetchedMs: readonly number[];
  /** The bytes that each of them might have. */
  readonly bounds: readonly number[];
  readonly memory: ByteBudget;
  /** Lets `run`, or another, run to its end, moving time as far as it takes. */
  outcome(run?: TestRun): Promise<TaskOutcome>;
  /** Begins without moving time. */
  begin(run?: TestRun): Promise<TaskOutcome>;
}

type Fetched = (url: string) => Uint8Array | "refused";

function scene(
  script: MakerScript,
  more: Partial<TestRunOptions> & { readonly behind?: Fetched; readonly fetchMs?: number } = {},
): Scene {
  const clock = createFakeClock();
  const maker = createScriptedMaker(script, clock);
  const files = createTestFiles();
  const log = keepingLog();
  const memory = createByteBudget(() => 1);
  const fetched: string[] = [];
  const fetchedMs: number[] = [];
  const bounds: number[] = [];
  const request = more.request ?? IMAGE;
  const model = more.model ?? (request.kind === "image" ? IMAGE_MODEL : VIDEO_MODEL);
  const doJob = createMediaJob({
    offer: () => mediaOffer([model], [maker.provider]),
    limitOf: () => 20,
    routing: routingAt(clock),
    assets: files,
    async fetch(url, { maxBytes, signal }, take) {
      fetched.push(url);
      fetchedMs.push(clock.nowMs());
      if (more.fetchMs !== undefined) await wait(clock, more.fetchMs, signal);
      bounds.push(maxBytes);
      const bytes = more.behind?.(url) ?? "refused";
      if (bytes === "refused") throw new GatewayError("invalid_request_error", "It could not be fetched.");
      return take({ pieces: Readable.from([bytes]), length: bytes.length });
    },
    memory,
    timeouts: () => DEFAULT_TIMEOUTS,
    cutGrid: createGridCutter().cut,
    clock,
    random: { bytes: (count) => new Uint8Array(count) },
    failpoint: noFailpoint,
    log,
  });
  const first = createTestRun({ clock, model, request, ...more });
  return {
    clock,
    maker,
    run: first,
    files,
    log,
    fetched,
    fetchedMs,
    bounds,
    memory,
    begin: (run = first) => doJob(run),
    async outcome(run = first) {
      let ended = false;
      const outcome = doJob(run).finally(() => (ended = true));
      for (let i = 0; i < 5_000 && !ended; i += 1) {
        if (clock.nowMs() >= run.deadlineMs) run.stop("deadline");
        await clock.advance(i === 0 ? 0 : 500);
      }
      // Whatever a run holds, it holds no longer once it has ended.
      if (ended) expect(memory.taken()).toBe(0);
      return outcome;
    },
  };
}

/** What is told of an end, in one word or two. */
function told(outcome: TaskOutcome): string {
  switch (outcome.kind) {
    case "completed":
      return `${outcome.result.files.length} for ${outcome.used}`;
    case "failed":
      return `${outcome.failure.type}${outcome.unfinished ? ", unfinished" : ""}`;
    case "released":
      return "released";
  }
}

describe("a task that nobody has begun", () => {
  const cases: readonly {
    readonly name: string;
    readonly script: MakerScript;
    readonly want: string;
    readonly calls: readonly string[];
    readonly steps: readonly string[];
  }[] = [
    {
      name: "is made while its call waits",
      script: { create: [done()] },
      want: "1 for 350000000",
      calls: ["create 1"],
      steps: ["attempt"],
    },
    {
      name: "is noted before it is asked after",
      script: { create: [working()], poll: [working(), done()] },
      want: "1 for 350000000",
      calls: ["create 1", "poll job-1", "poll job-1"],
      steps: ["attempt", "job job-1"],
    },
    {
      name: "may be given another name by its provider",
      script: { create: [working("a")], poll: [working("b"), done()] },
      want: "1 for 350000000",
      calls: ["create 1", "poll a", "poll b"],
      steps: ["attempt", "job a", "job b"],
    },
    {
      name: "is sent again while its provider takes no work, and none of it counts",
      script: { create: [refused("busy"), unconnected, upstream("ECONNREFUSED"), done()] },
      want: "1 for 350000000",
      calls: ["create 1", "create 2", "create 3", "create 4"],
      steps: [...[1, 2, 3].flatMap(() => ["attempt", "refusal"]), "attempt"],
    },
    {
      name: "is sent once more when nobody can tell whether it was begun",
      script: { create: [refused("unclear"), done()] },
      want: "1 for 350000000",
      calls: ["create 1", "create 2"],
      steps: ["attempt", "attempt"],
    },
    {
      name: "is sent no third time",
      script: { create: [upstream("ECONNRESET"), refused("unclear"), done()] },
      want: "generation_error, unfinished",
      calls: ["create 1", "create 2"],
      steps: ["attempt", "attempt"],
    },
    {
      name: "is not sent again when its provider is silent for too long",
      script: { create: [silent, done()] },
      want: "timeout_error, unfinished",
      calls: ["create 1"],
      steps: ["attempt"],
    },
    {
      name: "is looked up where its provider is silent and can be asked",
      script: { create: [silent], find: ["job-9"], poll: [done()] },
      want: "1 for 350000000",
      calls: ["create 1", "find 1", "poll job-9"],
      steps: ["attempt", "job job-9"],
    },
    {
      name: "is not sent again when its provider's answer is too large to be read",
      script: { create: [new GatewayError("upstream_error", "The provider's answer is too large."), done()] },
      want: "generation_error, unfinished",
      calls: ["create 1"],
      steps: ["attempt"],
    },
    {
      name: "fails at once when its provider cannot show who it is",
      script: { create: [upstream("CERT_HAS_EXPIRED"), done()] },
      want: "generation_error",
      calls: ["create 1"],
      steps: ["attempt", "refusal"],
    },
    {
      name: "fails with what speaks against its input",
      script: { create: [new GatewayError("input_too_large", "An input is too large.")] },
      want: "input_too_large",
      calls: ["create 1"],
      steps: ["attempt"],
    },
    ...(
      [
        ["moderation", "content_moderation"],
        ["invalid_request", "invalid_request_error"],
        ["input_too_large", "input_too_large"],
        ["operator_fault", "generation_error"],
        ["beyond_limit", "input_too_large"],
        ["failed", "generation_error"],
      ] as const
    ).map(([reason, want]) => ({
      name: `that is refused for ${reason} is not sent again, and nobody is at work on it`,
      script: { create: [refused(reason), done()] },
      want,
      calls: ["create 1"],
      steps: ["operator_fault", "beyond_limit"].includes(reason) ? ["attempt", "refusal"] : ["attempt"],
    })),
  ];
  for (const { name, script, want, calls, steps } of cases) {
    test(name, async () => {
      const { outcome, maker, run } = scene(script);
      expect(told(await outcome())).toBe(want);
      expect(maker.calls).toEqual(calls);
      expect(run.steps).toEqual(steps);
    });
  }

  test("holds its inputs for as long as an attempt, however often it is sent", async () => {
    const input = Buffer.concat([testImage(), new Uint8Array(1_000_000)]);
    const held: number[] = [];
    const { outcome, memory, fetched } = scene(
      {
        create: [...Array<MediaStep>(3).fill(refused("busy")), done()],
        loads: ["https://a.example/1.png", "https://a.example/2.png"],
      },
      {
        behind() {
          held.push(memory.taken());
          return input;
        },
      },
    );
    expect(told(await outcome())).toBe("1 for 350000000");
    expect(fetched).toHaveLength(8);
    expect(Math.max(...held)).toBeLessThanOrEqual(input.length);
  });

  test("is not sent into the deadline: a provider that takes no work makes it fail as overloaded", async () => {
    const { outcome, maker, clock, run } = scene({ create: [refused("busy")] }, { timeoutSec: 300 });
    expect(told(await outcome())).toBe("overloaded_error");
    expect(clock.nowMs()).toBeLessThan(run.deadlineMs);
    // One second, doubled to a minute.
    expect(maker.timesMs.slice(0, 8)).toEqual([0, 1_000, 3_000, 7_000, 15_000, 31_000, 63_000, 123_000]);
    expect(run.steps.slice(-2)).toEqual(["attempt", "refusal"]);
  });

  for (const [timeoutSec, lastMs] of [
    [303, 243_000],
    [304, 303_000],
  ] as const)
    test(`is not sent at the very deadline: of ${timeoutSec} s the last try is after ${lastMs} ms`, async () => {
      const { outcome, maker } = scene({ create: [refused("busy")] }, { timeoutSec });
      expect(told(await outcome())).toBe("overloaded_error");
      expect(maker.timesMs.at(-1)).toBe(lastMs);
    });

  for (const [retryAfterMs, wantMs] of [
    [7_000, 7_000],
    [0, 1_000],
    [-5, 1_000],
    [Number.NaN, 1_000],
    [999_999_999_000, 60_000],
  ] as const) {
    test(`is sent again after ${wantMs} ms where its provider says ${retryAfterMs}`, async () => {
      const { outcome, maker } = scene({ create: [refused("busy", { retryAfterMs }), done()] });
      await outcome();
      expect(maker.timesMs).toEqual([0, wantMs]);
    });
  }
});

describe("a task that was left behind", () => {
  test("is asked after at once, and never begun again, where its name was noted", async () => {
    const { run, outcome, maker, begin, clock } = scene({
      create: [working()],
      poll: ["never", done()],
    });
    const first = begin();
    await clock.advance(0);
    await clock.advance(2_000);
    run.stop("shutdown");
    expect(told(await first)).toBe("released");
    const next = run.next();
    expect(told(await outcome(next))).toBe("1 for 350000000");
    expect(maker.calls.filter((call) => call.startsWith("create"))).toEqual(["create 1"]);
    expect(next.steps).toEqual([]);
    expect(maker.calls.slice(1)).toEqual(["poll job-1", "poll job-1"]);
    expect(maker.timesMs[2]).toBe(2_000);
  });

  test("amid its sending is sent once more, and then no more", async () => {
    const { run, begin, maker, clock } = scene({ create: ["never"] });
    const first = begin();
    await clock.advance(0);
    run.stop("shutdown");
    await clock.advance(3_000);
    expect(told(await first)).toBe("released");
    const second = run.next();
    const again = begin(second);
    await clock.advance(0);
    second.stop("lost");
    expect(told(await again)).toBe("released");
    expect(told(await begin(run.next()))).toBe("generation_error, unfinished");
    expect(maker.calls).toEqual(["create 1", "create 2"]);
  });

  test("while its provider took no work has used nothing up, however often that was", async () => {
    const { run, begin, outcome, clock } = scene({
      create: [...Array<MediaStep>(4).fill(refused("busy")), refused("unclear"), done()],
    });
    let next = run;
    for (let restarts = 0; restarts < 4; restarts += 1) {
      const waiting = begin(next);
      await clock.advance(0);
      next.stop("shutdown");
      expect(told(await waiting)).toBe("released");
      next = next.next();
      expect(next.attempts - next.refusals).toBe(0);
    }
    // In doubt it is sent once more, as ever.
    expect(told(await outcome(next))).toBe("1 for 350000000");
  });

  const cases: readonly {
    readonly name: string;
    readonly find: MakerScript["find"];
    readonly calls: readonly string[];
  }[] = [
    { name: "is found by its last attempt", find: ["job-7"], calls: ["find 1", "poll job-7"] },
    {
      name: "is begun again where its provider surely has none",
      find: [undefined],
      calls: ["find 1", "create 2"],
    },
    {
      name: "is looked for again when its provider cannot be asked just now",
      find: [upstream("ECONNREFUSED"), silent, "job-7"],
      calls: ["find 1", "find 1", "find 1", "poll job-7"],
    },
    {
      name: "is sent once more when its provider never says",
      find: [upstream()],
      calls: ["find 1", "find 1", "find 1", "find 1", "find 1", "create 2"],
    },
  ];
  for (const { name, find = [], calls } of cases) {
    test(name, async () => {
      const { run, begin, outcome, maker, clock } = scene({
        create: ["never", done()],
        poll: [done()],
        find,
      });
      const first = begin();
      await clock.advance(0);
      run.stop("shutdown");
      await clock.advance(3_000);
      await first;
      expect(told(await outcome(run.next()))).toBe("1 for 350000000");
      expect(maker.calls.slice(1)).toEqual([...calls]);
    });
  }
});

describe("a job that is under way", () => {
  const followed = (...poll: NonNullable<MakerScript["poll"]>) => scene({ create: [working()], poll });

  for (const [name, flap] of [
    ["cannot be asked after", upstream("ECONNRESET")],
    ["is not answered for in time", silent],
    ["is answered for with nothing that can be read", refused("unclear")],
    ["is asked after too often", refused("busy", { retryAfterMs: 3_000 })],
  ] as const) {
    test(`goes on while it ${name}`, async () => {
      const { outcome, maker } = followed(working(), flap, flap, flap, flap, flap, flap, working(), done());
      expect(told(await outcome())).toBe("1 for 350000000");
      expect(maker.calls.filter((call) => call.startsWith("create"))).toHaveLength(1);
    });
  }

  test("whose poll throws what nobody foresaw is asked after no more: it fails, and the log has an error", async () => {
    const unforeseen = new TypeError("undefined is not an object");
    const { outcome, maker, log } = followed(working(), unforeseen, done());
    expect(told(await outcome())).toBe("generation_error, unfinished");
    expect(maker.calls).toEqual(["create 1", "poll job-1", "poll job-1"]);
    expect(log.lines).toEqual([
      expect.objectContaining({ level: "error", message: "a task went wrong within the gateway" }),
    ]);
  });

  test("is given up when its provider does not know it three times in a row", async () => {
    const { outcome, maker } = followed(working(), unknownJob, unknownJob, unknownJob, done());
    expect(told(await outcome())).toBe("generation_error, unfinished");
    expect(maker.calls).toHaveLength(5);
  });

  test("goes on when its provider knows it again", async () => {
    const { outcome } = followed(unknownJob, unknownJob, working(), unknownJob, unknownJob, done());
    expect(told(await outcome())).toBe("1 for 350000000");
  });

  test("is asked after no more once it is done: the first end counts", async () => {
    const { outcome, maker, clock } = followed(done(), refused("failed"));
    expect(told(await outcome())).toBe("1 for 350000000");
    await clock.advance(60_000);
    expect(maker.calls).toEqual(["create 1", "poll job-1"]);
  });

  test("is asked after every two seconds at first and every fifteen later", async () => {
    const { outcome, maker } = followed(...Array.from({ length: 8 }, () => working()), done());
    await outcome();
    const gaps = maker.timesMs.slice(1).map((at, i) => at - (maker.timesMs[i] ?? 0));
    expect(gaps).toEqual([2_000, 3_000, 4_500, 6_750, 10_125, 15_000, 15_000, 15_000, 15_000]);
  });

  test("is asked after when its provider says", async () => {
    const { outcome, maker } = scene({
      create: [working("j", 700)],
      poll: [working("j", 20), working("j", 999_999), done()],
    });
    await outcome();
    expect(maker.timesMs).toEqual([0, 700, 800, 60_800]);
  });

  test("is asked after within a minute, whatever its provider says when it begins", async () => {
    for (const [pollAfterMs, firstMs] of [
      [999_999_999, 60_000],
      [-5, 100],
      [Number.NaN, 2_000],
    ] as const) {
      const { outcome, maker } = scene({ create: [working("j", pollAfterMs)], poll: [done()] });
      await outcome();
      expect(maker.timesMs).toEqual([0, firstMs]);
    }
  });

  test("is followed through some refusals of the gateway's own credential, and not through many", async () => {
    const denied = refused("operator_fault", { code: "InvalidApiKey" });
    const { outcome, log } = followed(denied, denied, working(), denied, done());
    expect(told(await outcome())).toBe("1 for 350000000");
    expect(log.lines.filter((line) => line.operator_fault === true)).toHaveLength(3);
    const never = followed(denied);
    expect(told(await never.outcome())).toBe("generation_error, unfinished");
    expect(never.maker.calls).toHaveLength(6);
  });

  test("that fails is not begun again", async () => {
    const { outcome, maker } = followed(working(), refused("moderation", { message: "Not this." }));
    const end = await outcome();
    expect(told(end)).toBe("content_moderation");
    expect(maker.calls).toEqual(["create 1", "poll job-1", "poll job-1"]);
  });
});

describe("what the client is told", () => {
  const messages: readonly {
    readonly reason: MediaRefusal["reason"];
    readonly said: string;
    readonly want: string;
  }[] = [
    { reason: "moderation", said: "Blocked.", want: "Blocked. (test/image)" },
    { reason: "invalid_request", said: "size is wrong", want: "size is wrong. (test/image)" },
    { reason: "invalid_request", said: "", want: "The provider refused the request as invalid." },
    {
      reason: "invalid_request",
      said: "The key sk-double-secret-1 may not.",
      want: "The provider refused the request as invalid.",
    },
    {
      reason: "moderation",
      said: "hold_00112233445566778899aabbccddeeff was blocked",
      want: "The provider's moderation blocked the request.",
    },
    { reason: "moderation", said: "very ".repeat(400), want: `${"very ".repeat(100)}. (test/image)` },
    {
      reason: "operator_fault",
      said: "Your account is in arrears.",
      want: "The provider failed to make the image. Try again.",
    },
    { reason: "failed", said: "CUDA error", want: "The provider failed to make the image. Try again." },
  ];
  for (const { reason, said, want } of messages) {
    test(`of ${reason} with ${JSON.stringify(said.slice(0, 40))}`, async () => {
      const { outcome, log } = scene({ create: [refused(reason, { message: said })] });
      const end = await outcome();
      expect(end.kind === "failed" ? end.failure.message : end.kind).toBe(want);
      // A provider may quote the prompt.
      if (said !== "") expect(JSON.stringify(log.lines)).not.toContain(said);
    });
  }

  test("nothing of a provider whose certificate is not trusted, which is an alarm in the log", async () => {
    const { outcome, maker, log } = scene({ create: [upstream("CERT_HAS_EXPIRED"), done()] });
    expect(told(await outcome())).toBe("generation_error");
    expect(maker.calls).toEqual(["create 1"]);
    expect(log.lines).toEqual([expect.objectContaining({ level: "error", operator_fault: true })]);
  });

  test("nothing of a refusal that only the operator can mend, which is an alarm in the log", async () => {
    const wordless = { state: "refused", refusal: { reason: "operator_fault", message: "" } } as const;
    for (const [refusal, said] of [
      [refused("operator_fault", { code: "Arrearage" }), "Arrearage"],
      [wordless, "operator_fault"],
    ] as const) {
      const { outcome, log } = scene({ create: [refusal] });
      await outcome();
      expect(log.lines).toContainEqual(
        expect.objectContaining({
          level: "error",
          operator_fault: true,
          upstream_error: said,
          provider: "double",
          model: "test/image",
        }),
      );
    }
  });
});

describe("a run that is to stop", () => {
  async function stopped(
    script: MakerScript,
    reason: "deadline" | "client_gone" | "lost" | "shutdown",
    afterMs = 0,
  ) {
    const it = scene(script);
    const running = it.begin();
    await it.clock.advance(afterMs);
    it.run.stop(reason);
    await it.clock.advance(3_000);
    const end = await running;
    return { ...it, end };
  }
  const underWay: MakerScript = { create: [working()], poll: [working()], cancel: [true] };

  test("at its deadline fails, is told to stop at its provider, and may have cost the operator", async () => {
    const { end, maker, clock } = await stopped(underWay, "deadline", 5_000);
    expect(told(end)).toBe("timeout_error, unfinished");
    await clock.advance(0);
    expect(maker.calls.at(-1)).toBe("cancel job-1");
  });

  test("because its client has gone is told to stop at its provider too", async () => {
    const { end, maker, clock } = await stopped(underWay, "client_gone", 5_000);
    expect(told(end)).toBe("generation_error, unfinished");
    await clock.advance(0);
    expect(maker.calls.at(-1)).toBe("cancel job-1");
  });

  for (const reason of ["lost", "shutdown"] as const) {
    test(`because of ${reason} leaves its provider alone`, async () => {
      const { end, maker, clock } = await stopped(underWay, reason, 5_000);
      expect(told(end)).toBe("released");
      await clock.advance(60_000);
      expect(maker.calls.some((call) => call.startsWith("cancel"))).toBe(false);
    });
  }

  test("does not wait for its provider to stop, and tells it at most five times", async () => {
    const { end, maker, clock } = await stopped({ ...underWay, cancel: [upstream()] }, "deadline", 5_000);
    expect(told(end)).toBe("timeout_error, unfinished");
    await clock.advance(120_000);
    expect(maker.calls.filter((call) => call === "cancel job-1")).toHaveLength(5);
  });

  test("is told of to its provider again after a failure of its server, and no more once that was heard", async () => {
    const { maker, clock } = await stopped({ ...underWay, cancel: [false, false, true] }, "deadline", 5_000);
    await clock.advance(120_000);
    expect(maker.calls.filter((call) => call === "cancel job-1")).toHaveLength(3);
  });

  test("amid its sending may be at work; while its provider takes no work it is not", async () => {
    expect(told((await stopped({ create: ["never"] }, "deadline")).end)).toBe("timeout_error, unfinished");
    expect(told((await stopped({ create: [refused("busy")] }, "deadline", 500)).end)).toBe("timeout_error");
  });

  for (const reason of ["shutdown", "deadline"] as const) {
    test(`amid its sending, because of ${reason}, still learns the name of its job`, async () => {
      const it = scene({ create: ["later"], poll: [working()], cancel: [true] });
      const running = it.begin();
      await it.clock.advance(0);
      it.run.stop(reason);
      await it.clock.advance(1_000);
      it.maker.answer(working());
      expect(told(await running)).toBe(reason === "shutdown" ? "released" : "timeout_error, unfinished");
      expect(it.run.steps).toEqual(["attempt", "job job-1"]);
      await it.clock.advance(0);
      expect(it.maker.calls.slice(1)).toEqual(reason === "shutdown" ? [] : ["cancel job-1"]);
    });
  }

  test("by a shutdown amid a sending that makes it all, still takes what comes soon", async () => {
    const it = scene({ create: ["later"] }, { behind: () => testImage() });
    const running = it.begin();
    await it.clock.advance(0);
    it.run.stop("shutdown");
    it.maker.answer(done([{ url: "https://files.invalid/a" }]));
    expect(told(await running)).toBe("1 for 350000000");
  });

  for (const [reason, create, fetchMs, want] of [
    ["shutdown", working(), 2_000, "1 for 350000000"],
    ["shutdown", working(), 3_000, "released"],
    ["client_gone", working(), 2_000, "1 for 350000000"],
    ["client_gone", done([{ url: "https://files.invalid/a" }]), 2_000, "1 for 350000000"],
    ["client_gone", working(), 3_000, "generation_error, unfinished"],
    ["deadline", working(), 500, "timeout_error, unfinished"],
    ["lost", working(), 500, "released"],
  ] as const)
    test(`amid taking over what ${create.state === "done" ? "was answered" : "a job made"}, because of ${reason}: ${want} when that takes ${fetchMs} ms`, async () => {
      const it = scene(
        { create: [create], poll: [done([{ url: "https://files.invalid/a" }])], cancel: [true] },
        { behind: () => testImage(), fetchMs },
      );
      const running = it.begin();
      for (let passedMs = 0; it.fetched.length === 0 && passedMs < 5_000; passedMs += 500)
        await it.clock.advance(passedMs === 0 ? 0 : 500);
      expect(it.fetched).toHaveLength(1);
      it.run.stop(reason);
      await it.clock.advance(3_500);
      expect(told(await running)).toBe(want);
    });

  test("by the store's word that another has it is released", async () => {
    const it = scene({ create: [done()] });
    it.run.stop("lost");
    expect(told(await it.begin())).toBe("released");
    expect(it.maker.calls).toEqual([]);
  });
});

describe("outputs", () => {
  const url = (name: string): MediaOutput => ({ url: `https://files.invalid/${name}` });

  test("are kept in their order, and the client is charged for each", async () => {
    const images = [testImage(10, 10), testImage(20, 10), testImage(30, 10)];
    const { outcome, files } = scene(
      { create: [done(images.map((bytes) => ({ bytes })))] },
      { request: { ...IMAGE, n: 3 } },
    );
    const end = await outcome();
    expect(told(end)).toBe("3 for 1050000000");
    const names = end.kind === "completed" ? end.result.files.map(({ name }) => name) : [];
    expect(files.stored.map(({ name }) => name).toSorted()).toEqual([...names].toSorted());
    expect(names).toEqual(
      images.map((bytes) => `${new Bun.CryptoHasher("sha256").update(bytes).digest("hex").slice(0, 16)}.png`),
    );
  });

  test("behind URLs are fetched, each three times before it is left out", async () => {
    const tries: Record<string, number> = {};
    const { outcome, fetched, log } = scene(
      { create: [done([url("a"), url("gone"), url("late")])] },
      {
        request: { ...IMAGE, n: 3 },
        behind(at) {
          tries[at] = (tries[at] ?? 0) + 1;
          if (at.endsWith("gone")) return "refused";
          return at.endsWith("late") && tries[at] < 3 ? "refused" : testImage();
        },
      },
    );
    expect(told(await outcome())).toBe("2 for 700000000");
    expect(Object.values(tries)).toEqual([1, 3, 3]);
    expect(fetched).toHaveLength(7);
    expect(log.lines.every(({ level }) => level === "warn")).toBe(true);
  });

  test("behind URLs are fetched again after a second, and then after two", async () => {
    const { outcome, fetchedMs } = scene({ create: [done([url("gone")])] });
    expect(told(await outcome())).toBe("generation_error, unfinished");
    expect(fetchedMs.map((at) => at - (fetchedMs[0] ?? 0))).toEqual([0, 1_000, 3_000]);
  });

  test("whose store is away are stored again after a wait that doubles, up to fifteen seconds", async () => {
    const { outcome, fetchedMs, files } = scene(
      { create: [done([url("a")])] },
      { behind: () => testImage() },
    );
    const store = files.store.bind(files);
    files.store = async (...file) => {
      if (fetchedMs.length < 8) throw new GatewayError("overloaded_error", "Results cannot be stored.");
      return store(...file);
    };
    expect(told(await outcome())).toBe("1 for 350000000");
    const gaps = fetchedMs.slice(1).map((at, i) => at - (fetchedMs[i] ?? 0));
    expect(gaps).toEqual([1_000, 2_000, 4_000, 8_000, 15_000, 15_000, 15_000]);
  });

  test("wait for their store, however long it is away, and are asked for again by their address", async () => {
    const { outcome, files, fetched, clock } = scene(
      {
        create: [done([url("a"), { bytes: testImage(20, 10) }, { base64: testImage(30, 10).toBase64() }])],
      },
      { request: { ...IMAGE, n: 3 }, behind: () => testImage() },
    );
    const store = files.store.bind(files);
    const startMs = clock.nowMs();
    files.store = async (...file) => {
      if (clock.nowMs() < startMs + 120_000)
        throw new GatewayError("overloaded_error", "Results cannot be stored.");
      return store(...file);
    };
    expect(told(await outcome())).toBe("3 for 1050000000");
    expect(fetched.length).toBeGreaterThan(5);
    expect(fetched.length).toBeLessThan(20);
  });

  test("whose store is away until the deadline end the task there, at the operator's loss", async () => {
    const { outcome, files } = scene({ create: [done()] });
    files.store = () => Promise.reject(new GatewayError("overloaded_error", "Results cannot be stored."));
    expect(told(await outcome())).toBe("timeout_error, unfinished");
  });

  test("are as large as what is kept of one", async () => {
    const { outcome, bounds } = scene({ create: [done([url("a")])] }, { behind: () => testImage() });
    await outcome();
    expect(bounds).toEqual([MAX_FILE_BYTES.image]);
  });

  test("in base64 that is none are left out at once, the others are kept", async () => {
    const { outcome, clock, log } = scene(
      { create: [done([{ base64: "!" }, { base64: "" }, { base64: testImage().toBase64() }])] },
      { request: { ...IMAGE, n: 3 } },
    );
    const startMs = clock.nowMs();
    expect(told(await outcome())).toBe("1 for 350000000");
    expect(clock.nowMs() - startMs).toBeLessThan(1_000);
    expect(log.lines.map(({ level }) => level)).toEqual(["warn", "warn"]);
  });

  test("beyond those that were asked for are left out, and nobody pays for them", async () => {
    const five = [10, 20, 30, 40, 50].map((width) => ({ bytes: testImage(width, 10) }));
    const { outcome, files } = scene({ create: [done(five)] }, { request: { ...IMAGE, n: 4 } });
    expect(told(await outcome())).toBe("4 for 1400000000");
    expect(files.stored).toHaveLength(4);
    const video = scene(
      { create: [done([{ bytes: testVideo() }, { bytes: testVideo() }])] },
      { request: VIDEO },
    );
    expect(told(await video.outcome())).toBe("1 for 5000000000");
  });

  test("that are none of what was asked for make the task fail, at the operator's loss", async () => {
    const page = new TextEncoder().encode("<html>");
    for (const outputs of [[], [{ bytes: page }], [{ bytes: testVideo() }], [url("page")]]) {
      const { outcome, maker } = scene({ create: [done(outputs)] }, { behind: () => page });
      expect(told(await outcome())).toBe("generation_error, unfinished");
      expect(maker.calls).toEqual(["create 1"]);
    }
  });

  test("of a video are charged by the seconds that the provider bills, else by those asked for", async () => {
    const video: MediaOutput = { bytes: testVideo() };
    for (const [usage, used] of [
      [undefined, 5_000_000_000n],
      [{ ...NO_USAGE, seconds: 4.2 }, 5_000_000_000n],
      [{ ...NO_USAGE, seconds: 3 }, 3_000_000_000n],
    ] as const) {
      const { outcome } = scene(
        { create: [done([video], usage === undefined ? {} : { usage })] },
        { request: VIDEO, amount: 100_000_000_000n },
      );
      const end = await outcome();
      expect(end.kind === "completed" ? end.used : end.kind).toBe(used);
    }
  });

  test("are told of with what their request had: bytes that were asked for by name", async () => {
    const { outcome } = scene({ create: [done()] }, { base64: true });
    const end = await outcome();
    expect(end.kind === "completed" && end.result.base64).toBe(true);
  });
});

describe("the timeline of a run", () => {
  test("has every sending of the task, and no question after it", async () => {
    const { outcome, clock } = scene({
      create: [refused("busy"), refused("unclear"), working()],
      poll: [working(), done()],
    });
    const startMs = clock.nowMs();
    const end = await outcome();
    const timeline = end.kind === "completed" ? end.timeline : undefined;
    expect(timeline?.attempts.map(({ provider, upstream_id }) => [provider, upstream_id])).toEqual(
      Array.from({ length: 3 }, () => ["double", "double-1"]),
    );
    expect(timeline).toMatchObject({ provider: "double", admittedAtMs: startMs, heldAtMs: startMs });
  });
});

describe("a task that nobody can do any more", () => {
  for (const [name, more] of [
    ["has no provider", { model: { ...IMAGE_MODEL, id: "test/image", routes: [] } }],
    ["has no model by that name", { model: { ...IMAGE_MODEL, id: "test/other" } }],
  ] as const) {
    test(`because there ${name} fails`, async () => {
      const { clock, run, begin, log } = scene({ create: [done()] }, more);
      const other = createTestRun({ clock, model: IMAGE_MODEL, request: IMAGE });
      expect(told(await begin(other))).toBe("generation_error");
      expect(log.lines.map(({ level }) => level)).toEqual(["error"]);
      expect(run.steps).toEqual([]);
    });
  }
});

describe("of four images by as many calls the parts that may have begun are told", () => {
  const request = { ...IMAGE, n: 4 };
  const share = (parts: number) => ({ parts, of: 4 });
  const surely = (parts: number, maybe = 0): BegunParts => ({ surely: parts, maybe });
  const maybe = (parts: number): BegunParts => surely(0, parts);
  const cases: readonly {
    readonly name: string;
    readonly script: MakerScript;
    readonly isSecondRun?: true;
    readonly lost: { readonly parts: number; readonly of: number } | "all" | "nothing";
  }[] = [
    {
      name: "one beside a refusal that ends the task",
      script: { create: [refused("moderation", { mayBeBegun: true })], begun: [maybe(1)] },
      lost: share(1),
    },
    {
      name: "the sum of two attempts in doubt",
      script: { create: [upstream("ECONNRESET"), refused("unclear")], begun: [maybe(1), maybe(2)] },
      lost: share(3),
    },
    {
      name: "all, where two attempts may have begun more than there are",
      script: { create: [upstream("ECONNRESET"), refused("unclear")], begun: [maybe(2), maybe(3)] },
      lost: "all",
    },
    {
      name: "those of the attempt before one that was surely refused",
      script: { create: [refused("unclear"), refused("moderation")], begun: [maybe(1), undefined] },
      lost: share(1),
    },
    {
      name: "one of a call that was silent",
      script: { create: [silent], begun: [maybe(1)] },
      lost: share(1),
    },
    {
      name: "all, where a provider tells no parts apart",
      script: { create: [silent] },
      lost: "all",
    },
    {
      name: "all, where an earlier run left an attempt in doubt",
      script: { create: [refused("unclear")], begun: [maybe(1)] },
      isSecondRun: true,
      lost: "all",
    },
    {
      name: "those that were made and cannot be stored",
      script: { create: [done([{ base64: "AAAA" }])], begun: [surely(2)] },
      lost: share(2),
    },
    {
      name: "those of jobs that nobody knows any more",
      script: { create: [working()], poll: [unknownJob], begun: [surely(3)] },
      lost: share(3),
    },
    {
      name: "none of jobs that came to nothing",
      script: { create: [working()], poll: [refused("failed")] },
      lost: "nothing",
    },
    {
      name: "one in doubt beside jobs that came to nothing",
      script: { create: [working()], poll: [refused("failed")], begun: [surely(3, 1)] },
      lost: share(1),
    },
    {
      name: "those of an attempt in doubt before jobs that came to nothing",
      script: {
        create: [refused("unclear"), working()],
        poll: [refused("failed")],
        begun: [maybe(2), surely(4)],
      },
      lost: share(2),
    },
    {
      name: "those made and those in doubt beside them, where nothing can be stored",
      script: { create: [done([{ base64: "AAAA" }])], begun: [surely(2, 1)] },
      lost: share(3),
    },
    {
      name: "none, where all were refused",
      script: { create: [refused("moderation")] },
      lost: "nothing",
    },
  ];
  for (const { name, script, isSecondRun, lost } of cases)
    test(name, async () => {
      const { run, outcome } = scene(script, { request });
      if (isSecondRun === true) await run.beginAttempt();
      const end = await outcome(isSecondRun === true ? run.next() : run);
      if (end.kind !== "failed") throw new Error(end.kind);
      expect([end.unfinished, end.share]).toEqual([
        lost !== "nothing",
        typeof lost === "string" ? undefined : lost,
      ]);
    });

  for (const [name, attempts, lost] of [
    ["nothing, where the job of an earlier run came to nothing", 1, false],
    ["all, where an attempt before that job is in doubt", 2, true],
  ] as const)
    test(name, async () => {
      const { run, outcome } = scene({ create: [], poll: [refused("failed")] }, { request });
      for (let i = 0; i < attempts; i += 1) await run.beginAttempt();
      await run.noteJob("job-1");
      const end = await outcome(run.next());
      expect(end).toMatchObject({ kind: "failed", unfinished: lost });
      expect("share" in end).toBe(false);
    });
});
