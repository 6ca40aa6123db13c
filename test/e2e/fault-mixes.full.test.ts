import { afterAll, beforeAll, expect, test } from "bun:test";
import { createFastClock } from "../gateway/fast-clock.ts";
import { FORMAT_CLIENTS, jsonEvents, streamedBody } from "../gateway/format-clients.ts";
import { type Json, startGateway, type TestGateway } from "../gateway/gateway.ts";
import { LONG } from "../runs.ts";
import type { Answer } from "../upstream/answer.ts";
import { startUpstreamDouble, type UpstreamDouble } from "../upstream/double.ts";
import { resetAt, stallAt } from "../upstream/faults.ts";
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
import {
  BUDGET,
  CREDENTIALS,
  type Deed,
  eachInLanes,
  expectBooks,
  expectOneCharge,
  MODELS,
  pickBy,
  PLAIN,
  requestRows,
  SHORT_TIMEOUTS,
  twoFaults,
  WELL,
} from "./fault-mixes.ts";
import { seeded } from "./money.ts";

// Two faults in one request, at random: of formats, plain and streamed, over routes, credentials and models that the
// caller names. Whatever happens, each client gets a whole answer or is told that it has none, and each charge is one.

type Format = keyof typeof FORMAT_CLIENTS;

/** What a provider of a format does with a call. */
interface FormatDeed extends Deed {
  readonly answer: (spoken: Spoken, stream: boolean) => Answer;
  /** Content may have gone to the client. */
  readonly hasContent?: true;
}

const GOOD: FormatDeed = { name: "good", answer: goodAnswer, hasContent: true };

const PLAIN_DEEDS: readonly FormatDeed[] = PLAIN.map(({ answer, ...deed }) => ({
  ...deed,
  answer: (spoken, stream) => answer(goodAnswer(spoken, stream)),
}));

const STREAMED: readonly FormatDeed[] = [
  ...PLAIN_DEEDS,
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

const SAFE = PLAIN_DEEDS.filter(({ isSafe }) => isSafe === true);

const FORMATS = Object.keys(FORMAT_CLIENTS) as readonly Format[];
const COUNT = LONG ? 500 : 70;
/** One request, what providers do with its calls, and what came of it. */
interface Mix {
  readonly n: number;
  readonly format: Format;
  readonly stream: boolean;
  readonly model: string;
  readonly models: readonly string[];
  readonly deeds: readonly FormatDeed[];
  /** What the double did. */
  readonly done: FormatDeed[];
}

let double: UpstreamDouble;
let gateway: TestGateway;

beforeAll(async () => {
  double = await startUpstreamDouble({ sleep: async () => undefined });
  gateway = await startGateway({
    settings: JSON.stringify(settings()),
    environment: CREDENTIALS,
    clock: createFastClock(50),
  });
});
afterAll(async () => {
  await gateway.close();
  await double.close();
});

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
  // Breakers are as they are by themselves.
  return { providers, routing: { retry_budget: BUDGET, models }, timeouts: SHORT_TIMEOUTS };
}

const nameOf = (spoken: Format, i: number): string => `${spoken.replaceAll("_", "")}${i}`;

function makeMix(n: number, below: (most: number) => number): Mix {
  const pick = pickBy(below);
  const stream = below(2) === 1;
  const spoken = pick(FORMATS);
  return {
    n,
    format: pick(FORMATS),
    stream,
    model: `a/${nameOf(spoken, below(MODELS))}`,
    models: below(2) === 0 ? [] : [`c/${nameOf(pick(FORMATS), below(MODELS))}`],
    deeds: twoFaults({ deeds: stream ? STREAMED : PLAIN_DEEDS, safe: SAFE }, below),
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
  await eachInLanes(all, 8, async (mix) => void told.set(mix, await read(mix, await ask(mix))));
  await gateway.settled();

  const known = await requestRows(gateway);
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
    expectOneCharge({ story, done: mix.done, row, credit });
    if (end === "whole") expect([story, credit]).toEqual([story, row?.model.startsWith("c/") ? 0.3 : 0.2]);
    if (hasText === true) expect([story, credit > 0]).toEqual([story, true]);
    charged += credit;
    if (mix.deeds.length > 0) byCalls[mix.done.length] = (byCalls[mix.done.length] ?? 0) + 1;
    retries += Math.max(0, mix.done.length - 1);
  }
  expect(double.requests).toHaveLength(all.reduce((sum, { done }) => sum + done.length, 0));
  await expectBooks(gateway, { before: balance, charged, retries, requests: all.length });
  expect([ends.whole > 0, ends.error > 0, ends.broken > 0, retries > 0]).toEqual([true, true, true, true]);
  console.log(
    `${COUNT} mixes, ${all.length} requests: ${ends.whole} whole, ${ends.error} refused, ${ends.broken} broken; by ${byCalls.join(" ")} calls of 0 to 3; ${retries} retries; ${unsent} refused unsent`,
  );
});
