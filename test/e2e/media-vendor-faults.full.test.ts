import { describe, expect, test } from "bun:test";
import type { Json } from "../gateway/gateway.ts";
import { type Answer, jsonAnswer } from "../upstream/answer.ts";
import { stallAt } from "../upstream/faults.ts";
import type { FileKind } from "../upstream/media/result-files.ts";
import type { Fault, Stage, WorkScript } from "../upstream/media/media-double.ts";
import {
  ask,
  type Asked,
  balanceOf,
  ended,
  gemini,
  gpt,
  isVideo,
  journey,
  openStations,
  qwen,
  readTask,
  seedance,
  type Station,
  told,
  type Vendor,
  wan,
} from "./media-vendors.ts";

// The faults U50 to U57 at every maker of every vendor: what it delivers, forgets, says twice or says too late. Behind
// it stands a second maker that never takes the work. Time runs fast, so that a deadline of a minute passes in seconds.

const stationOf = openStations(24, { hasSecond: true });

/** How a vendor's jobs are spoiled, in its own form. */
interface Jobs {
  /** Its answer to a submission, without the name of the job. */
  readonly nameless: Fault;
  /** Its word for a job at work, and for one that waits. */
  readonly running: RegExp;
  readonly queued: string;
  /** A question that it refuses though the job is well. */
  readonly refused: Fault;
  /** What its address for a cancel ends with; absent where it has none. */
  readonly cancel?: RegExp;
  /** A result is fetched by a question of its own. */
  readonly hasResult?: true;
}

/** A maker of images or videos of a vendor. */
interface Maker {
  readonly via: Vendor;
  readonly asked: Asked;
  /** What one of its outputs costs, in credits, and what the input costs once. */
  readonly each: number;
  readonly input?: number;
  /** How many outputs come of the request. */
  readonly outputs: number;
  /** Absent where the work is done while the call waits. */
  readonly jobs?: Jobs;
  /** Its results come as bytes, not by addresses. */
  readonly isInline?: true;
}

const rewritten = (from: RegExp, to: string): Fault => ({
  after: (answer) => ({ ...answer, body: String(answer.body).replace(from, to) }),
});
const instead = (status: number, body: unknown = {}): Fault => ({ instead: jsonAnswer(status, body) });

const DASHSCOPE: Jobs = {
  nameless: rewritten(/"task_id":"[^"]*"/, '"task_id":""'),
  running: /RUNNING/,
  queued: "PENDING",
  refused: instead(400, { code: "InvalidParameter", message: "No." }),
  cancel: /\/tasks\/[\w-]+\/cancel$/,
};
const ARK: Jobs = {
  nameless: rewritten(/"id":"[^"]*"/, '"id":""'),
  running: /"running"/,
  queued: '"queued"',
  refused: instead(400, { error: { code: "InvalidParameter", message: "No." } }),
  cancel: /^\/api\/v3\/contents\/generations\/tasks\/[\w-]+$/,
};
const MIDJOURNEY: Jobs = {
  nameless: rewritten(/"result"/, '"resul"'),
  running: /IN_PROGRESS/,
  queued: "NOT_START",
  refused: instead(400),
  cancel: /\/cancel$/,
};
const FAL: Jobs = {
  nameless: rewritten(/_url/g, "_"),
  running: /IN_PROGRESS/,
  queued: "IN_QUEUE",
  refused: instead(422, { detail: "No." }),
  cancel: /\/cancel$/,
  hasResult: true,
};
const WAVESPEED: Jobs = {
  nameless: rewritten(/"id"/, '"di"'),
  running: /processing/,
  queued: "created",
  refused: instead(400, { code: 400, message: "No." }),
};

const MAKERS: readonly Maker[] = [
  { via: "openai", asked: { ...gpt, n: 1 }, each: 526.8, input: 0.6, outputs: 1, isInline: true },
  { via: "google", asked: gemini, each: 1_371, outputs: 1, isInline: true },
  { via: "dashscope", asked: { ...qwen, n: 1 }, each: 350, outputs: 1 },
  { via: "dashscope", asked: wan, each: 5_000, outputs: 1, jobs: DASHSCOPE },
  { via: "ark", asked: seedance, each: 7_623, outputs: 1, jobs: ARK },
  { via: "midjourney", asked: journey, each: 250, outputs: 4, jobs: MIDJOURNEY },
  { via: "fal", asked: { ...qwen, n: 1 }, each: 350, outputs: 1, jobs: FAL },
  { via: "fal", asked: wan, each: 5_000, outputs: 1, jobs: FAL },
  { via: "wavespeed", asked: { ...qwen, n: 1 }, each: 350, outputs: 1, jobs: WAVESPEED },
  { via: "wavespeed", asked: wan, each: 5_000, outputs: 1, jobs: WAVESPEED },
];
const nameOf = ({ via, asked }: Maker): string => `${via}, ${isVideo(asked) ? "a video" : "an image"}`;
const stageOf = ({ asked }: Maker): Stage => (isVideo(asked) ? "video" : "images");

/** The makers that have jobs, each with how they are spoiled. */
const WITH_JOBS = MAKERS.flatMap((maker) => (maker.jobs === undefined ? [] : [{ maker, jobs: maker.jobs }]));

/** What is met on the way, and what comes of it. */
interface Meeting {
  readonly scripts?: readonly WorkScript[];
  readonly stage?: Stage;
  readonly faults?: readonly (Fault | undefined)[];
  /** Outputs that are delivered, and charged; none: the task fails and costs nothing. */
  readonly delivered: number;
  /** How often the vendor takes the work. */
  readonly taken?: number;
  /** Calls in a row that count against its route afterwards. */
  readonly failures?: number;
}

async function meet(maker: Maker, meeting: Meeting, asked = maker.asked): Promise<Station> {
  const station = stationOf(maker.via);
  const { double, gateway } = station;
  const { scripts = [], stage = stageOf(maker), faults = [], delivered, taken } = meeting;
  double.script(...scripts);
  double.fault(stage, ...faults);
  const before = await balanceOf(gateway);
  const task = await ended(gateway, asked);
  const cost = delivered === 0 ? 0 : delivered * maker.each + (maker.input ?? 0);
  if (delivered === 0) expect(told(task)).toBe(isVideo(asked) ? "failed" : "failed generation_error");
  else expect(told(task)).toBe(`completed ${delivered} ${Number(cost.toFixed(6))}`);
  expect(before - (await balanceOf(gateway))).toBeCloseTo(cost, 6);
  if (taken !== undefined) expect(double.accepted).toHaveLength(taken);
  expect(await failuresOf(maker)).toBe(meeting.failures ?? 0);
  return station;
}

/** How often in a row its route has failed. */
async function failuresOf({ via, asked }: Maker): Promise<number> {
  const path = `/routes?provider=${via}&model=${encodeURIComponent(asked.model)}`;
  return (await stationOf(via).gateway.admin("GET", path)).json.data[0].failures;
}

describe("U50: what is delivered is charged", () => {
  for (const maker of MAKERS)
    test(`nothing of a result without any: ${nameOf(maker)}`, () =>
      meet(maker, { scripts: [{ files: [] }], delivered: 0 }).then(() => {}));

  const unusable: readonly FileKind[] = ["half", "pixel"];
  for (const maker of MAKERS)
    for (const kind of isVideo(maker.asked) ? (["page", "image"] as const) : unusable)
      test(`nothing of a file that is no result (${kind}): ${nameOf(maker)}`, () =>
        meet(maker, { scripts: [{ files: [kind] }], delivered: 0 }).then(() => {}));

  const four = MAKERS.filter(({ asked }) => !isVideo(asked));
  for (const maker of four)
    test(`two of four images: ${nameOf(maker)}`, async () => {
      const { via, asked } = maker;
      // One image to a call or a prediction: two of these come to nothing.
      const isEach = via === "google" || via === "wavespeed";
      const lost = { files: [] };
      const scripts: readonly WorkScript[] = isEach
        ? [{}, lost, {}, lost]
        : [{ files: ["image", "missing", "half", "image"] }];
      await meet(maker, { scripts, delivered: 2 }, via === "midjourney" ? asked : { ...asked, n: 4 });
    });
});

describe("U46, U51: a result that cannot be fetched is asked for three times, and never charged", () => {
  const kinds: readonly FileKind[] = ["missing", "cut", "redirect_to_private"];
  // What is large and what is slow goes by the same way from each maker.
  const largeAndSlow: readonly FileKind[] = ["endless", "stall"];
  for (const maker of MAKERS.filter(({ isInline }) => isInline !== true))
    for (const kind of [...kinds, ...(maker.via === "dashscope" ? largeAndSlow : [])])
      test(`${kind}: ${nameOf(maker)}`, async () => {
        const { double } = await meet(maker, { scripts: [{ files: [kind] }], delivered: 0 });
        expect(double.files.requests).toHaveLength(3);
      });
});

describe("U52: a submission that is answered without a name", () => {
  for (const { maker, jobs } of WITH_JOBS) {
    const { outputs: delivered } = maker;
    test(`is sent once more: ${nameOf(maker)}`, () =>
      meet(maker, { faults: [jobs.nameless], delivered, taken: 2 }).then(() => {}));
    test(`and not a third time: ${nameOf(maker)}`, () =>
      meet(maker, { faults: [jobs.nameless, jobs.nameless], delivered: 0, taken: 2, failures: 2 }).then(
        () => {},
      ));
  }
});

describe("U53: a job that vanishes fails at the third question, and costs nothing", () => {
  for (const { maker } of WITH_JOBS)
    test(nameOf(maker), async () => {
      const scripts = [{ runningPolls: 9, vanishesAfter: 1 }];
      const { double } = await meet(maker, { scripts, delivered: 0, taken: 1 });
      const questions = double.upstream.requests.filter(({ method }) => method === "GET");
      expect(questions).toHaveLength(4);
    });
});

describe("U54: unknown words, failures, refused questions and ways back do not end a job", () => {
  for (const { maker, jobs } of WITH_JOBS)
    test(nameOf(maker), () => {
      const { running, queued, refused } = jobs;
      const word = queued.startsWith('"') ? '"pondering"' : "PONDERING";
      return meet(maker, {
        stage: "poll",
        scripts: [{ runningPolls: 2 }],
        faults: [rewritten(running, word), instead(500), refused, rewritten(running, queued)],
        delivered: maker.outputs,
        taken: 1,
      }).then(() => {});
    });

  for (const { maker } of WITH_JOBS.filter(({ jobs: { hasResult } }) => hasResult === true))
    test(`nor do they in place of the result: ${nameOf(maker)}`, () => {
      const faults = [instead(502), instead(429), instead(400, { detail: "Request is still in progress" })];
      return meet(maker, { stage: "result", faults, delivered: maker.outputs, taken: 1 }).then(() => {});
    });
});

describe("U55: what was done is not asked after again, whatever would be said of it then", () => {
  for (const { maker, jobs } of WITH_JOBS)
    test(nameOf(maker), async () => {
      const scripts = [{ failsAfterDone: true }];
      const { double } = await meet(maker, { scripts, delivered: maker.outputs, taken: 1 });
      // One while it runs, one to which it is done; where the result is asked for by itself, that is a third.
      const questions = double.upstream.requests.filter(({ method }) => method === "GET");
      expect(questions).toHaveLength(jobs.hasResult === true ? 3 : 2);
    });
});

/** Ends the work after the task's deadline: a job goes on and on, a call stays without an answer. */
async function outlast(maker: Maker): Promise<{ readonly station: Station; readonly task: Json }> {
  const station = stationOf(maker.via);
  const { double, gateway } = station;
  if (maker.jobs === undefined)
    double.fault(stageOf(maker), { after: (answer: Answer) => stallAt(answer, "start") });
  else double.script({ runningPolls: 1_000 });
  const before = await balanceOf(gateway);
  const task = await ended(gateway, { ...maker.asked, timeout: 60 });
  expect(told(task)).toBe(isVideo(maker.asked) ? "failed" : "failed timeout_error");
  expect(before - (await balanceOf(gateway))).toBe(0);
  // It worked, as far as anybody knows.
  expect(await failuresOf(maker)).toBe(0);
  return { station, task };
}

/** As its client is told that waits for it. */
describe("U50, U51, U56: a plain request whose image", () => {
  const rows = [
    ["is none", { files: [] }, 502, "upstream_error"],
    ["is half of one", { files: ["half"] }, 502, "upstream_error"],
    ["cannot be fetched", { files: ["missing"] }, 502, "upstream_error"],
    ["is not made in its time", { runningPolls: 1_000 }, 504, "timeout_error"],
  ] as const;
  for (const maker of MAKERS.filter(({ asked }) => !isVideo(asked)))
    for (const [name, script, status, type] of rows) {
      // A call that waits, and bytes, have neither.
      if (name.startsWith("is not made") && maker.jobs === undefined) continue;
      if (name.startsWith("cannot") && maker.isInline === true) continue;
      test(`${name} is ${status} ${type}, and costs nothing: ${nameOf(maker)}`, async () => {
        const { double, gateway } = stationOf(maker.via);
        double.script(script);
        const before = await balanceOf(gateway);
        const response = await ask(gateway, { ...maker.asked, timeout: status === 504 ? 60 : 600 }, false);
        expect([response.status, ((await response.json()) as Json).error.type]).toEqual([status, type]);
        expect(before - (await balanceOf(gateway))).toBe(0);
        expect(double.accepted).toHaveLength(1);
      });
    }
});

describe("U56: work that outlasts its deadline stays failed, and costs nothing", () => {
  for (const maker of MAKERS.filter(({ jobs }) => jobs?.cancel === undefined))
    test(`nobody is told to stop: ${nameOf(maker)}`, async () => {
      const { station, task } = await outlast(maker);
      const { double, gateway } = station;
      expect(double.accepted).toHaveLength(1);
      expect(double.upstream.requests.filter(({ method }) => method !== "GET")).toHaveLength(1);
      expect(await readTask(gateway, task)).toEqual(task);
    });
});

describe("U56, U57: nor does it where its vendor cannot be told to stop at first: it is told again behind it", () => {
  for (const { maker, jobs } of WITH_JOBS.filter(({ jobs: { cancel } }) => cancel !== undefined))
    test(nameOf(maker), async () => {
      const { double, gateway } = stationOf(maker.via);
      double.fault("cancel", instead(500), instead(502));
      const { task } = await outlast(maker);
      const cancels = (): number =>
        double.upstream.requests.filter(
          ({ method, target }) => method !== "GET" && jobs.cancel?.test(target) === true,
        ).length;
      const until = performance.now() + 10_000;
      while (cancels() < 3 && performance.now() < until) await Bun.sleep(10);
      // A machine that is busy may not hear in time that the third was heard.
      expect(cancels()).toBeWithin(3, 6);
      expect(double.accepted).toHaveLength(1);
      expect(await readTask(gateway, task)).toEqual(task);
    });
});
