import { afterAll, beforeAll, expect, test } from "bun:test";
import { createFastClock } from "../gateway/fast-clock.ts";
import { type Json, startGateway, type TestGateway, UPSTREAM_KEY } from "../gateway/gateway.ts";
import { LONG } from "../runs.ts";
import { type Answer, jsonAnswer } from "../upstream/answer.ts";
import { resetAt, stallAt } from "../upstream/faults.ts";
import { startDashscopeDouble } from "../upstream/media/dashscope-double.ts";
import { environmentOf } from "../upstream/media/doubles.ts";
import { startFalDouble } from "../upstream/media/fal-double.ts";
import type { Fault, MediaDouble, Stage } from "../upstream/media/media-double.ts";
import type { SeenRequest } from "../upstream/seen-request.ts";
import { eachInLanes, pickBy, requestRows } from "./fault-mixes.ts";
import { ask, type Asked, isVideo, qwen, readTask, told, wan } from "./media-vendors.ts";
import { seeded } from "./money.ts";

// Two faults in one image or video, at random, with two makers: as it is sent, as it is polled, as its file is fetched.
// Each task ends as its faults say, is charged once or not at all, and no second maker has it that the first may make.

const COUNT = LONG ? 250 : 20;

/** What a maker does with a request. */
interface Deed {
  readonly name: string;
  readonly fault?: Fault;
  /** What is known of the work: nothing was taken and another maker may have it, or will never; or nobody knows. */
  readonly work?: "elsewhere" | "refused" | "in doubt";
  /** It is no use to ask this maker again. */
  readonly isFinal?: true;
}

const after = (change: (answer: Answer) => Answer): Fault => ({ after: change });
const refusal = (status: number, code: string): Pick<Deed, "name" | "fault"> => ({
  name: `${status}`,
  fault: { instead: jsonAnswer(status, { code, message: "no", detail: "no", request_id: "double" }) },
});

const GOOD: Deed = { name: "good" };

const BUSY: readonly Deed[] = [
  { ...refusal(429, "Throttling"), work: "elsewhere" },
  { ...refusal(503, "ServiceUnavailable"), work: "elsewhere" },
  { ...refusal(401, "InvalidApiKey"), work: "elsewhere", isFinal: true },
  { ...refusal(404, "ModelNotFound"), work: "elsewhere", isFinal: true },
];

const SENT: readonly Deed[] = [
  ...BUSY,
  { ...refusal(400, "InvalidParameter"), work: "refused" },
  { ...refusal(500, "InternalError"), work: "in doubt" },
  { name: "reset", fault: after((answer) => resetAt(answer, "start")), work: "in doubt" },
  { name: "reset in the head", fault: after((answer) => resetAt(answer, "mid-head")), work: "in doubt" },
  { name: "502", fault: after(() => ({ status: 502, body: "<html>" })), work: "in doubt" },
  { name: "an empty body", fault: after((answer) => ({ ...answer, body: "" })), work: "in doubt" },
  { name: "half an answer", fault: after((answer) => ({ ...answer, body: '{"output":' })), work: "in doubt" },
];

const POLLED: readonly Deed[] = [
  ...[401, 429, 500, 503].map((status) => refusal(status, "InternalError")),
  { name: "reset", fault: after((answer) => resetAt(answer, "start")) },
  { name: "stall", fault: after((answer) => stallAt(answer, "start")) },
  { name: "an empty body", fault: after((answer) => ({ ...answer, body: "" })) },
  { name: "half an answer", fault: after((answer) => ({ ...answer, body: '{"output":' })) },
];

/** One task, its faults, and what came of them. */
interface Mix {
  readonly n: number;
  readonly asked: Asked;
  readonly sent: readonly Deed[];
  readonly polled: readonly Deed[];
  readonly hasFile: boolean;
  /** What was done with each request that sends it, by whom, and with each poll. */
  readonly done: { readonly maker: number; readonly deed: Deed }[];
  readonly polls: Deed[];
}

function makeMix(n: number, below: (most: number) => number): Mix {
  const pick = pickBy(below);
  const [one, two] = [pick(SENT), pick(SENT)];
  const [some, more] = [pick(POLLED), pick(POLLED)];
  // An image is polled at the second maker alone.
  const away = pick(BUSY);
  const faults = pick<Partial<Mix>>([
    { sent: [one, two] },
    { sent: [away, two] },
    { sent: [away], polled: [some] },
    { sent: [one], polled: [some] },
    { polled: [some, more] },
    { sent: [one], hasFile: false },
    { polled: [some], hasFile: false },
  ]);
  const asked = { ...pick([{ ...qwen, n: 1 }, wan]), prompt: `Fox, mix-${n}.` };
  return { n, asked, sent: [], polled: [], hasFile: true, ...faults, done: [], polls: [] };
}

let makers: readonly MediaDouble[];
let gateway: TestGateway;
beforeAll(async () => {
  const [first, second] = await Promise.all([
    startDashscopeDouble(UPSTREAM_KEY),
    startFalDouble(UPSTREAM_KEY),
  ]);
  makers = [first, second];
  const routes = [{ provider: "dashscope" }, { provider: "fal" }];
  gateway = await startGateway({
    clock: createFastClock(20),
    environment: {
      ...environmentOf("dashscope", first, UPSTREAM_KEY),
      ...environmentOf("fal", second, UPSTREAM_KEY),
    },
    settings: JSON.stringify({
      outbound: { allowed_hosts: makers.map(({ files }) => new URL(files.url).host) },
      // A lease that runs out as fast as time does would be lost on a busy machine.
      tasks: { lease_seconds: 3600 },
      // Each task meets its own faults, whatever befell those before.
      routing: { breaker_failures: 0, models: { [qwen.model]: { routes }, [wan.model]: { routes } } },
    }),
  });
});
afterAll(async () => {
  await gateway.close();
  for (const maker of makers) await maker.close();
});

/** Has each maker do what the mixes say. */
function play(mixes: readonly Mix[]): void {
  const mixIn = (text: string): Mix => {
    const mix = mixes[Number(/mix-(\d+)\./.exec(text)?.[1])];
    if (mix === undefined) throw new Error("Nobody asked for this.");
    return mix;
  };
  for (const [at, maker] of makers.entries()) {
    const mixOf = ({ bodyText, target }: SeenRequest): Mix => {
      const job = /double-\d+/.exec(target)?.[0];
      const work = maker.accepted.find((taken) => taken.job === job);
      return mixIn(work?.request.bodyText ?? bodyText);
    };
    maker.faultBy((stage: Stage, request) => {
      const mix = mixOf(request);
      if (stage === "images" || stage === "video") {
        const deed = mix.sent[mix.done.length] ?? GOOD;
        mix.done.push({ maker: at, deed });
        return deed.fault;
      }
      if (stage !== "poll") return undefined;
      const deed = mix.polled[mix.polls.length] ?? GOOD;
      mix.polls.push(deed);
      return deed.fault;
    });
    maker.decide((work) => (mixIn(JSON.stringify(work.input)).hasFile ? {} : { files: ["missing"] }));
  }
}

/**
 * Whether the task is to be completed, by what was done with it. Once a maker may have taken it, it is sent once more,
 * and to that maker alone.
 */
function isMade({ done, hasFile }: Mix): boolean {
  let [doubts, finals] = [0, 0];
  for (const { deed } of done) {
    if (deed.work === "refused") return false;
    if (deed.work === "in doubt") doubts += 1;
    if (deed.isFinal === true) finals += doubts > 0 ? makers.length : 1;
    if (doubts > 1 || finals >= makers.length) return false;
  }
  return hasFile;
}

/** The task of a mix once it has ended, and the id of its request. */
async function ended({ asked }: Mix): Promise<{ readonly id: string; readonly task: Json }> {
  const response = await ask(gateway, asked);
  let task = (await response.json()) as Json;
  expect([response.status, task.error?.message]).toEqual([202, undefined]);
  for (; ["pending", "running"].includes(task.status); await Bun.sleep(20))
    task = await readTask(gateway, { polling_url: task.polling_url });
  return { id: response.headers.get("x-request-id") ?? "", task };
}

test(`${COUNT} mixes of two faults in images and videos: none is charged twice, none is lost, none is made by two makers`, async () => {
  const below = seeded("mixes of faults in images and videos");
  const mixes = Array.from({ length: COUNT }, (_, n) => makeMix(n, below));
  play(mixes);
  const { balance: before } = await gateway.account();
  const ends = new Map<Mix, Awaited<ReturnType<typeof ended>>>();
  await eachInLanes(mixes, 10, async (mix) => void ends.set(mix, await ended(mix)));
  await gateway.settled();

  const rows = await requestRows(gateway);
  let [charged, made, met] = [0, 0, 0];
  for (const [mix, { id, task }] of ends) {
    const { n, asked, done, polls } = mix;
    const names = [
      ...done.map(({ deed, maker }) => `${deed.name} at ${maker + 1}`),
      ...polls.map(({ name }) => name),
    ];
    const story = `mix ${n}: ${asked.model} ${names.join(", ")}`;
    const price = isVideo(asked) ? 5_000 : 350;
    const want = isMade(mix) ? `completed 1 ${price}` : "failed";
    expect([story, told(task).replace(/^failed.*/, "failed")]).toEqual([story, want]);
    const row = rows.get(id);
    expect([story, row?.credit]).toEqual([story, task.credit ?? 0]);
    // Each request that sent it had the task's hold: its row has it.
    expect([story, row?.attempts.length]).toEqual([story, done.length]);
    const taken = makers.map(({ accepted }) =>
      accepted.filter(({ request }) => request.bodyText.includes(`mix-${n}.`)),
    );
    // Once more where nobody knows, by the same maker.
    expect([story, taken.filter((works) => works.length > 0).length <= 1]).toEqual([story, true]);
    expect([story, taken.flat().length <= 2]).toEqual([story, true]);
    charged += task.credit ?? 0;
    if (isMade(mix)) made += 1;
    met += [...done.map(({ deed }) => deed), ...polls].filter(({ fault }) => fault !== undefined).length;
    met += mix.hasFile || taken.flat().length === 0 ? 0 : 1;
  }
  const { held, balance } = await gateway.account();
  expect([held, before - balance]).toEqual([0, charged]);
  expect((await gateway.admin("GET", "/audit")).json.ok).toBe(true);
  expect([made > 0, made < COUNT]).toEqual([true, true]);
  console.log(`${COUNT} mixes: ${made} made, ${COUNT - made} failed; ${met} faults met`);
});
