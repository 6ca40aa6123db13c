import { afterAll, beforeAll, expect, test } from "bun:test";
import { createFastClock } from "../gateway/fast-clock.ts";
import { FORMAT_CLIENTS, jsonEvents, streamedBody } from "../gateway/format-clients.ts";
import { type Json, startGateway, type TestGateway } from "../gateway/gateway.ts";
import { LONG } from "../runs.ts";
import { type Answer, jsonAnswer } from "../upstream/answer.ts";
import { startUpstreamDouble, type UpstreamDouble } from "../upstream/double.ts";
import { garbageStatusLine, resetAt, stallAt } from "../upstream/faults.ts";
import {
  BEFORE_CONTENT,
  cutBehindContent,
  goodAnswer,
  placeBehindContent,
  SPEECH,
  type Spoken,
  streamWith,
  untilContent,
} from "./fault-matrix.ts";
import { seeded } from "./money.ts";

// Two faults in one request, at random: of formats, plain and streamed, over routes, credentials and models that the
// caller names. Whatever happens, each client gets a whole answer or is told that it has none, and each charge is one.

type Format = keyof typeof FORMAT_CLIENTS;

/** What a provider does with a call. */
interface Deed {
  readonly name: string;
  readonly answer: (spoken: Spoken, stream: boolean) => Answer;
  /** The provider surely did nothing, so that the request may be sent again. */
  readonly isSafe?: true;
  /** Content may have gone to the client. */
  readonly hasContent?: true;
}

const refusal = (status: number, headers: [string, string][] = []): Deed => ({
  name: `${status}`,
  answer: () => jsonAnswer(status, { error: { message: "no", type: "t" } }, { headers }),
  ...([400, 409, 502, 504].includes(status) ? {} : { isSafe: true }),
});

const GOOD: Deed = { name: "good", answer: goodAnswer, hasContent: true };

const PLAIN: readonly Deed[] = [
  ...[400, 401, 404, 408, 409, 425, 500, 502, 503, 504, 529].map((status) => refusal(status)),
  refusal(429, [["retry-after", "1"]]),
  refusal(503, [["retry-after", "3"]]),
  { name: "reset", answer: (spoken, stream) => resetAt(goodAnswer(spoken, stream), "start") },
  { name: "reset in the head", answer: (spoken, stream) => resetAt(goodAnswer(spoken, stream), "mid-head") },
  { name: "no status line", answer: (spoken, stream) => garbageStatusLine(goodAnswer(spoken, stream)) },
  { name: "stall", answer: (spoken, stream) => stallAt(goodAnswer(spoken, stream), "start") },
  { name: "an empty body", answer: (spoken, stream) => ({ ...goodAnswer(spoken, stream), body: "" }) },
  { name: "a web page", answer: () => ({ headers: [["content-type", "text/html"]], body: "<p>" }) },
];

const STREAMED: readonly Deed[] = [
  ...PLAIN,
  {
    name: "an error before content",
    answer: (spoken) => streamWith(spoken, BEFORE_CONTENT[spoken], [SPEECH[spoken].error("server_error")]),
    isSafe: true,
  },
  {
    name: "an error behind content",
    answer: (spoken) => streamWith(spoken, untilContent(spoken), [SPEECH[spoken].error("server_error")]),
    hasContent: true,
  },
  { name: "closed behind content", answer: cutBehindContent, hasContent: true },
  {
    name: "reset behind content",
    answer: (spoken) => resetAt(goodAnswer(spoken, true), placeBehindContent(spoken)),
    hasContent: true,
  },
  {
    name: "stall behind content",
    answer: (spoken) => stallAt(goodAnswer(spoken, true), placeBehindContent(spoken)),
    hasContent: true,
  },
];

const SAFE = PLAIN.filter(({ isSafe }) => isSafe === true);

const FORMATS = Object.keys(FORMAT_CLIENTS) as readonly Format[];
const COUNT = LONG ? 500 : 100;
/** Requests without a fault for each one with two, and what each of all earns: most faults are tried again. */
const WELL = 5;
const BUDGET = 0.2;

/** One request, what providers do with its calls, and what came of it. */
interface Mix {
  readonly n: number;
  readonly format: Format;
  readonly stream: boolean;
  readonly model: string;
  readonly models: readonly string[];
  readonly deeds: readonly Deed[];
  /** What the double did. */
  readonly done: Deed[];
}

let double: UpstreamDouble;
let gateway: TestGateway;

beforeAll(async () => {
  double = await startUpstreamDouble({ sleep: async () => undefined });
  gateway = await startGateway({
    settings: JSON.stringify(settings()),
    environment: { A1: "a1-0123456789", A2: "a2-0123456789", B1: "b1-0123456789", C1: "c1-0123456789" },
    clock: createFastClock(50),
  });
});
afterAll(async () => {
  await gateway.close();
  await double.close();
});

/** How many models there are for each format: what one request does to a breaker few others meet. */
const MODELS = 40;

/** Models for each format that providers speak, with two routes and two credentials, and as many dearer ones. */
function settings(): Json {
  const providers: Json = {};
  const models: Json = {};
  for (const spoken of FORMATS)
    for (let i = 0; i < MODELS; i += 1) {
      const name = nameOf(spoken, i);
      const provider = (at: string, env: string, output: number): Json => ({
        base_url: `${double.url}/${spoken}/${at}${i}`,
        api_key_env: env,
        dialect: "native",
        protocols: [spoken],
        models: [{ id: `${at}/${name}`, upstream_id: "up", max_output: 100, prices: { input: 1, output } }],
      });
      providers[`${name}-a`] = { ...provider("a", "A1", 2), credentials: [{ env: "A2", concurrency: 20 }] };
      providers[`${name}-b`] = provider("b", "B1", 2);
      providers[`${name}-c`] = provider("c", "C1", 4);
      models[`a/${name}`] = {
        routes: [{ provider: `${name}-a` }, { provider: `${name}-b`, upstream_id: "up" }],
      };
    }
  // Breakers are as they are by themselves; limits of time are short, since the clock is fast.
  return {
    providers,
    routing: { retry_budget: BUDGET, models },
    timeouts: {
      connect_seconds: 600,
      plain_seconds: 60,
      first_byte_seconds: 60,
      idle_seconds: 60,
    },
  };
}

const nameOf = (spoken: Format, i: number): string => `${spoken.replaceAll("_", "")}${i}`;

function makeMix(n: number, below: (most: number) => number): Mix {
  const pick = <T>(list: readonly T[]): T => list[below(list.length)] as T;
  const stream = below(2) === 1;
  const deeds = stream ? STREAMED : PLAIN;
  const first = pick(deeds);
  const second = pick(deeds);
  // Else most requests would end with their first call.
  const safe = pick(SAFE);
  const spoken = pick(FORMATS);
  return {
    n,
    format: pick(FORMATS),
    stream,
    model: `a/${nameOf(spoken, below(MODELS))}`,
    models: below(2) === 0 ? [] : [`c/${nameOf(pick(FORMATS), below(MODELS))}`],
    deeds: pick([
      [first, second],
      [safe, second],
      [safe, pick(SAFE), second],
    ]),
    done: [],
  };
}

const mixes = new Map<string, Mix>();

function ask({ n, format, stream, model, models }: Mix): Promise<Response> {
  const client = FORMAT_CLIENTS[format];
  const path = client.path(model);
  const isInPath = path.includes(model);
  const plain = stream ? path : path.replace(/:stream.*/, ":generateContent");
  const body: Json = stream
    ? streamedBody(client, model)
    : { ...client.body, ...(isInPath ? {} : { model }) };
  const said = JSON.parse(JSON.stringify(body).replace("Say hello.", `Say hello: mix-${n}.`));
  if (models.length === 0) return gateway.post(plain, said);
  return isInPath
    ? gateway.post(plain, said, { headers: { "x-switchyard-models": models.join(",") } })
    : gateway.post(plain, { ...said, models });
}

/** What a client has in the end. */
interface Told {
  readonly id: string;
  readonly end: "whole" | "error" | "broken";
  readonly credit: number;
  /** Of a stream that broke, it has some of the text: a reset may overtake what was sent before it. */
  readonly hasText?: boolean;
}

async function read({ format, stream }: Mix, response: Response): Promise<Told> {
  const id = response.headers.get("x-request-id") ?? "";
  const text = await response.text();
  if (response.status !== 200) {
    expect(JSON.parse(text).error).toMatchObject({ type: expect.any(String), message: expect.any(String) });
    return { id, end: "error", credit: 0 };
  }
  const credit = Number(/.*"credit":\s?([\d.]+)/s.exec(text)?.[1]);
  if (!stream) {
    expect(text).toContain("lo.");
    return { id, end: "whole", credit };
  }
  const events = jsonEvents(text);
  const client = FORMAT_CLIENTS[format];
  const isWhole = client.isWhole(events);
  expect([isWhole, client.hasFailed(events)]).toEqual([isWhole, !isWhole]);
  expect("Hello.").toStartWith(client.textOf(events));
  if (isWhole) expect(client.textOf(events)).toBe("Hello.");
  return isWhole
    ? { id, end: "whole", credit }
    : { id, end: "broken", credit, hasText: client.textOf(events) !== "" };
}

async function rows(): Promise<Map<string, Json>> {
  const found = new Map<string, Json>();
  for (let after = ""; ;) {
    const { json } = await gateway.admin("GET", `/requests?limit=200${after}`);
    for (const row of json.data) found.set(row.id, row);
    if (json.next === null) return found;
    after = `&after=${json.next}`;
  }
}

test(`${COUNT} mixes of two faults: none is charged twice, none is lost, none is sent again that may have been served`, async () => {
  const below = seeded("mixes of faults");
  const all = Array.from({ length: COUNT * (1 + WELL) }, (_, n): Mix => {
    const mix = makeMix(n, below);
    return n % (1 + WELL) === 0 ? mix : { ...mix, deeds: [] };
  });
  double.handle((request) => {
    const mix = mixes.get(/mix-\d+\./.exec(request.bodyText)?.[0] ?? "");
    if (mix === undefined) throw new Error("nobody asked for this");
    const deed = mix.deeds[mix.done.length] ?? GOOD;
    mix.done.push(deed);
    const spoken = request.target.split("/")[1] as Spoken;
    return deed.answer(spoken, mix.stream);
  });
  for (const mix of all) mixes.set(`mix-${mix.n}.`, mix);
  const { balance } = await gateway.account();

  const told = new Map<Mix, Told>();
  const waiting = [...all];
  const work = async (): Promise<void> => {
    for (let mix = waiting.shift(); mix !== undefined; mix = waiting.shift())
      told.set(mix, await read(mix, await ask(mix)));
  };
  await Promise.all(Array.from({ length: 8 }, work));
  await gateway.settled();

  const known = await rows();
  let charged = 0;
  const ends = { whole: 0, error: 0, broken: 0 };
  let retries = 0;
  let unsent = 0;
  const byCalls = [0, 0, 0, 0];
  for (const [mix, { id, end, credit, hasText }] of told) {
    const row = known.get(id);
    const story = `mix ${mix.n}: ${mix.format} ${mix.model} ${mix.done.map(({ name }) => name).join(", ")}`;
    if (mix.deeds.length > 0) ends[end] += 1;
    if (end === "error" && mix.done.length === 0) unsent += 1;
    // Each call had a hold: its row has it. A request that no way could take has neither.
    const attempts: Json[] = row?.attempts ?? [];
    // A kept connection that closes as it is used again takes the call along: it was not answered, nor seen.
    const answered = attempts.filter(({ status }) => status !== null).length;
    const isBooked = answered <= mix.done.length && mix.done.length <= attempts.length;
    expect([story, isBooked]).toEqual([story, true]);
    expect([story, mix.done.length <= 3]).toEqual([story, true]);
    expect([story, mix.done.slice(0, -1).every(({ isSafe }) => isSafe === true)]).toEqual([story, true]);
    expect([story, row?.credit ?? 0]).toEqual([story, credit]);
    if (end === "whole") expect([story, credit]).toEqual([story, row?.model.startsWith("c/") ? 0.3 : 0.2]);
    if (hasText === true) expect([story, credit > 0]).toEqual([story, true]);
    charged += credit;
    if (mix.deeds.length > 0) byCalls[mix.done.length] = (byCalls[mix.done.length] ?? 0) + 1;
    retries += Math.max(0, mix.done.length - 1);
  }
  const after = await gateway.account();
  expect([after.held, Number((balance - after.balance).toFixed(6))]).toEqual([0, Number(charged.toFixed(6))]);
  expect(double.requests).toHaveLength(all.reduce((sum, { done }) => sum + done.length, 0));
  expect(retries).toBeLessThanOrEqual(10 + BUDGET * all.length);
  expect((await gateway.admin("GET", "/audit")).json.ok).toBe(true);
  expect([ends.whole > 0, ends.error > 0, ends.broken > 0, retries > 0]).toEqual([true, true, true, true]);
  console.log(
    `${COUNT} mixes, ${all.length} requests: ${ends.whole} whole, ${ends.error} refused, ${ends.broken} broken; by ${byCalls.join(" ")} calls of 0 to 3; ${retries} retries; ${unsent} refused unsent`,
  );
});
