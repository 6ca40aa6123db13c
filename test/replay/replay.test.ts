import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { chatCompletions } from "../../src/protocols/chat-completions/index.ts";
import { UPSTREAM_KEY } from "../gateway/gateway.ts";
import type { Answer } from "../upstream/answer.ts";
import { answerFrom, type Recording, recordingsAvailable, recordingsFolder } from "../upstream/recordings.ts";
import { PADDING, type ReplayCase, selectCases, vendorOf } from "./cases.ts";
import {
  expectSamePlain,
  expectSameStream,
  expectShownUsage,
  nativeStreamText,
  plainText,
} from "./compare-answer.ts";
import { eventsOf, type Folded } from "./expected-answer.ts";
import { costOf, creditText, tokensOf } from "./expected-charge.ts";
import { ACCOUNT_WORDS, expectedError, type ExpectedError, type OwnRefusal } from "./expected-refusal.ts";
import { hostilePair, plainPair, type RequestPair } from "./expected-request.ts";
import { type Exchange, type Replay, startReplay } from "./replay-gateway.ts";
import { breachesOf } from "./stream-rules.ts";
import { type Outcome, tableOf } from "./table.ts";
import { COMPACT, hostileSpelling, type Json } from "./wire-json.ts";

// Every recorded exchange with an OpenAI-compatible provider, through the gateway to a double that answers as the
// provider did: the same request upstream, the same content for the client, and the recorded usage at our prices.

const available = recordingsAvailable();
if (!available && process.env.SWITCHYARD_REQUIRE_ALL === "1")
  throw new Error(`There are no recordings at ${recordingsFolder()}.`);
if (!available) console.log(`Replay of recordings skipped: there are none at ${recordingsFolder()}.`);

const SEED = Number(process.env.SWITCHYARD_TEST_SEED ?? "1");
const selections = available ? ["chat-completions", "errors"].map(selectCases) : [];
const cases = selections.flatMap((selection) => selection.cases);
const answersAlone = selections.flatMap((selection) => selection.answersAlone);
const outcomes: Outcome[] = [];
const answered: Recording[] = [];
const repairs = new Map<string, Map<string, number>>();
/** Recordings whose repairs the access line did not name. */
const unlogged = new Set<string>();
let replay: Replay;

/** The two ways each recording is sent: as written, and spelled in a way that nobody writes. */
interface Round {
  readonly pair: RequestPair;
  readonly hostile: boolean;
  readonly seed: number;
}

function roundsOf({ body, modelId, native }: ReplayCase, nth: number): readonly Round[] {
  const seed = SEED * 100_003 + nth;
  return [
    { pair: plainPair(body, modelId), hostile: false, seed },
    { pair: hostilePair(body, modelId, native, seed), hostile: true, seed },
  ];
}

function paddingOf({ recording }: ReplayCase): readonly string[] {
  return PADDING[vendorOf(recording)] ?? [];
}

describe.skipIf(!available)("replay of recorded traffic", () => {
  beforeAll(async () => {
    replay = await startReplay([...cases, ...answersAlone]);
  });
  afterAll(async () => {
    console.log(tableOf(selections, outcomes, answered, repairs));
    await replay.close();
  });

  cases.forEach((found, nth) => {
    test(found.recording.path, async () => {
      const { recording } = found;
      try {
        for (const round of roundsOf(found, nth)) await play(found, round);
        outcomes.push({ recording, ...resultOf(found) });
      } catch (error) {
        outcomes.push({ recording, result: "failed" });
        throw error;
      }
    });
  });

  answersAlone.forEach((found, nth) => {
    test(`the answer alone: ${found.recording.path}`, async () => {
      for (const round of roundsOf(found, cases.length + nth)) await play(found, round);
      answered.push(found.recording);
    });
  });

  test("the access line names the repairs of a plain answer", () => {
    expect([...unlogged]).toEqual([]);
  });

  test("every recording is either replayed or excluded for a reason", () => {
    for (const { folder, files, cases, exclusions } of selections) {
      const mine = outcomes.filter(({ recording }) => recording.path.startsWith(`${folder}/`));
      const paths = [...mine, ...exclusions].map(({ recording }) => recording.path);
      expect([folder, new Set(paths).size]).toEqual([folder, files]);
      expect([folder, mine.length + exclusions.length]).toEqual([folder, files]);
      expect([folder, mine.length]).toEqual([folder, cases.length]);
    }
  });
});

function resultOf({ ownRefusal }: ReplayCase): Pick<Outcome, "result" | "note"> {
  if (ownRefusal === undefined) return { result: "held" };
  return { result: "refused", note: `${ownRefusal.fields.join(", ")}: ${ownRefusal.why}` };
}

async function play(found: ReplayCase, round: Round): Promise<void> {
  if (found.ownRefusal !== undefined) return playRefusedByUs(found, round, found.ownRefusal);
  switch (found.kind) {
    case "plain":
      return playPlain(found, round);
    case "stream":
      return playStream(found, round);
    case "refusal":
      return playRefusal(found, round);
  }
}

async function playPlain(found: ReplayCase, { pair, hostile, seed }: Round): Promise<void> {
  const recorded: Json = found.recording.response.body;
  const { sent, wanted } = plainText(recorded, hostile ? hostileSpelling(seed) : COMPACT);
  const exchange = await replay.ask(pair.sent, answerFrom(found.recording, { body: sent }));
  expectUpstream(found, exchange, pair);
  expectGoodHeaders(exchange, "application/json");
  const answer = JSON.parse(exchange.text);
  expect(answer.model).toBe(found.modelId);
  const folded = expectSamePlain(recorded, answer, paddingOf(found));
  const credit = /"credit":([\d.]+)\s*\}\s*$/.exec(exchange.text)?.[1];
  expectCharge(found, exchange, folded, credit);
  expectShownUsage(folded.usage, answer.usage);
  const untouched = isUntouched(recorded, answer);
  if (found.native) expect(untouched).toBe(true);
  // What needs no repair keeps its bytes, also from a vendor that often does.
  if (untouched) expect(exchange.text).toBe(wanted(found.modelId, String(credit)));
  const acted = repairsOfPlain(found, sent);
  if (!hostile) noteRepairs(found, acted);
  if (acted.length > 0 && String(exchange.log.repairs) !== String(acted)) unlogged.add(found.recording.path);
}

/** Whether only the model and the credit are not as recorded. */
function isUntouched(recorded: Json, answer: Json): boolean {
  return (
    JSON.stringify({ ...recorded, model: answer.model, credit: answer.credit }) === JSON.stringify(answer)
  );
}

async function playStream(found: ReplayCase, { pair, hostile, seed }: Round): Promise<void> {
  const recorded = found.recording.response.body as string;
  const cut = hostile ? { cut: { seed, maxBytes: 200 } as const } : {};
  const exchange = await replay.ask(pair.sent, answerFrom(found.recording, cut));
  expectUpstream(found, exchange, pair);
  expectGoodHeaders(exchange, "text/event-stream; charset=utf-8");
  const events = eventsOf(exchange.text);
  for (const chunk of events) if (chunk.model !== undefined) expect(chunk.model).toBe(found.modelId);
  const folded = expectSameStream(recorded, exchange.text, paddingOf(found));
  const credit = /"credit":([\d.]+)\}/.exec(exchange.text)?.[1];
  if (!hostile) noteRepairs(found, repairsOf(exchange));
  if (isBroken(folded)) return expectBrokenOff(found, exchange, events, credit);
  expect(breachesOf(events)).toEqual([]);
  expectCharge(found, exchange, folded, credit);
  if (folded.usage !== undefined) expectShownUsage(folded.usage, events.at(-2).usage);
  if (!found.native) return;
  const { body, tail } = nativeStreamText(recorded, found.modelId, paddingOf(found));
  const wantedTail = tail(String(credit));
  if (wantedTail === undefined) expect(exchange.text.startsWith(body)).toBe(true);
  else expect(exchange.text).toBe(body + wantedTail);
}

/** Whether the recorded stream ended in an error before each choice had ended. */
function isBroken({ error, choices }: Folded): boolean {
  return error !== undefined && Object.values(choices).some(({ finish }) => finish === null);
}

/** A recorded answer that broke off: the content that came, an end that says so, and a charge that is flagged. */
function expectBrokenOff(
  found: ReplayCase,
  exchange: Exchange,
  events: readonly Json[],
  credit: string | undefined,
): void {
  const [finish, usage, charged, error, done] = events.slice(-5);
  expect(finish.choices[0].finish_reason).toBe("error");
  expect([usage.choices, charged.choices, charged.usage]).toEqual([[], [], usage.usage]);
  const { type } = expectedError(found.recording.path, found.recording.response.status);
  expect([typeof error.error.message, error.error.type, done]).toEqual(["string", type, "[DONE]"]);
  expect(Number(credit)).toBeGreaterThan(0);
  expect(exchange.log.usage_flags).toContain("partial");
  expectSettled(exchange, String(credit));
}

async function playRefusal(found: ReplayCase, { pair, hostile }: Round): Promise<void> {
  const { recording, body, modelId } = found;
  const expected = expectedError(recording.path, recording.response.status);
  // The second time it is a streamed request that is refused: the same error, before the first byte.
  const asked = hostile ? plainPair({ ...body, stream: true }, modelId) : pair;
  const exchange = await replay.ask(asked.sent, refusalAnswer(recording));
  expectUpstream(found, exchange, asked);
  expectRefusal(exchange, expected);
  const told = recording.response.headers["retry-after"];
  if (told !== undefined && expected.status === 503) expect(exchange.headers.get("retry-after")).toBe(told);
}

function refusalAnswer(recording: Recording): Answer {
  return answerFrom(recording, { framing: "content-length", cut: "whole" });
}

async function playRefusedByUs(found: ReplayCase, { pair }: Round, own: OwnRefusal): Promise<void> {
  const exchange = await replay.ask(pair.sent, answerFrom(found.recording));
  expect(exchange.upstream).toBeUndefined();
  expectRefusal(exchange, { status: 400, type: "invalid_request_error" });
  const { error } = JSON.parse(exchange.text);
  expect(own.fields).toContain(error.param);
  expect(error.message).toContain(error.param);
}

/** An error in the one shape that says nothing of our account, costs nothing and holds nothing. */
function expectRefusal(exchange: Exchange, expected: ExpectedError): void {
  const { error } = JSON.parse(exchange.text);
  expect({ status: exchange.status, type: error.type }).toEqual({ ...expected });
  expect([typeof error.message, error.code]).toEqual(["string", expected.type]);
  expect(error.message).not.toMatch(ACCOUNT_WORDS);
  expect(exchange.text).not.toContain(UPSTREAM_KEY.slice(0, 12));
  const retryAfter = exchange.headers.get("retry-after");
  if (expected.status !== 503) expect(retryAfter).toBeNull();
  else {
    expect(Number(retryAfter)).toBeGreaterThanOrEqual(1);
    expect(Number(retryAfter)).toBeLessThanOrEqual(60);
  }
  expectOwnHeaders(exchange);
  expect([exchange.balanceAfter, exchange.held]).toEqual([exchange.balanceBefore, 0]);
  expect(exchange.entries.filter(({ amount }) => amount !== 0)).toEqual([]);
}

const UPSTREAM_HEADERS = new Set([
  "accept",
  "accept-encoding",
  "authorization",
  "connection",
  "content-length",
  "content-type",
  "host",
  "user-agent",
]);

/** Upstream got the request, byte for byte but for the named rewrites, with our credential and nothing of the client. */
function expectUpstream(found: ReplayCase, exchange: Exchange, pair: RequestPair): void {
  expect(replay.double.brokenRequests).toEqual([]);
  const { upstream } = exchange;
  if (upstream === undefined)
    throw new Error(`nothing reached upstream: ${exchange.status} ${exchange.text}`);
  if (!pair.accepts(upstream.bodyText)) expect(upstream.bodyText).toBe(pair.wanted);
  expect([upstream.method, upstream.target]).toEqual(["POST", "/v1/chat/completions"]);
  expect(upstream.header("authorization")).toBe(`Bearer ${UPSTREAM_KEY}`);
  const names = upstream.headers.map(([name]) => name.toLowerCase());
  expect(names.filter((name) => !UPSTREAM_HEADERS.has(name))).toEqual([]);
  const all = JSON.stringify(upstream.headers) + upstream.bodyText;
  expect(all).not.toContain(replay.gateway.key);
  expect(JSON.stringify(upstream.headers)).not.toContain("client-canary");
  expect(found.provider).toBe(String(exchange.log.provider));
  const warning = exchange.status === 200 ? exchange.headers.get("warning") : null;
  if (exchange.status === 200 && pair.leftOut !== undefined) expect(warning).toContain(pair.leftOut);
  else expect(warning).toBeNull();
}

function expectGoodHeaders(exchange: Exchange, contentType: string): void {
  if (exchange.status !== 200) throw new Error(`${exchange.status} ${exchange.text}`);
  expect(exchange.headers.get("content-type")).toBe(contentType);
  expectOwnHeaders(exchange);
}

/** No header of the provider comes down, and the request id is ours. */
function expectOwnHeaders({ headers }: Exchange): void {
  expect(
    [...headers.keys()].filter((name) => /^(openai-|x-ratelimit-|set-cookie|x-groq|cf-)/.test(name)),
  ).toEqual([]);
  expect(headers.get("x-request-id")).toMatch(/^req_/);
}

/** The credit is recorded usage times price, in the answer and in the ledger, digit for digit. */
function expectCharge(
  found: ReplayCase,
  exchange: Exchange,
  folded: Folded,
  credit: string | undefined,
): void {
  if (credit === undefined) throw new Error(`no credit in ${exchange.text.slice(-300)}`);
  if (folded.usage === undefined) {
    expect(exchange.log.usage_flags).toContain("estimated");
    expect(Number(credit)).toBeGreaterThan(0);
  } else {
    const { tokens, flags } = tokensOf(folded.usage);
    expect(credit).toBe(creditText(costOf(tokens, replay.pricesFor(found.modelId))));
    expect(exchange.log.usage_flags).toEqual(flags);
  }
  expectSettled(exchange, credit);
}

function expectSettled(exchange: Exchange, credit: string): void {
  const { entries, balanceBefore, balanceAfter, held, log } = exchange;
  expect(entries.map(({ kind, amount }) => ({ kind, amount: JSON.stringify(amount) }))).toEqual([
    { kind: "settle", amount: `-${credit}` },
  ]);
  expect([held, String(log.credit)]).toEqual([0, credit]);
  // Balances are JSON numbers of credits; their difference is exact once it is read in micro-credits.
  expect(Math.round((balanceBefore - balanceAfter) * 1e6)).toBe(Math.round(Number(credit) * 1e6));
}

function repairsOf({ log }: Exchange): readonly string[] {
  return Array.isArray(log.repairs) ? log.repairs.map(String) : [];
}

/** The repairs that a plain answer needs, asked of the protocol itself: the table must not depend on the log. */
function repairsOfPlain(
  { native, modelId, recording, body: asked }: ReplayCase,
  body: string,
): readonly string[] {
  const context = {
    model: modelId,
    native,
    padding: PADDING[vendorOf(recording)] ?? [],
    requestId: "req_table",
    secrets: [],
    nowSec: 0,
    choices: asked.n ?? 1,
    expectedInput: 0,
  };
  return chatCompletions.readAnswer(new TextEncoder().encode(body), context).repairs;
}

function noteRepairs(found: ReplayCase, names: readonly string[]): void {
  const vendor = vendorOf(found.recording);
  const counts = repairs.get(vendor) ?? new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  if (names.length > 0) repairs.set(vendor, counts);
}
