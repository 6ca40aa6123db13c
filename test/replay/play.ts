import { expect } from "bun:test";
import { UPSTREAM_KEY } from "../gateway/gateway.ts";
import { answerFrom } from "../upstream/recordings.ts";
import { costOf, type CountedTokens, creditText, shownInRow } from "./charge.ts";
import { ACCOUNT_WORDS, expectedError, type ExpectedError, type OwnRefusal } from "./expected-refusal.ts";
import type { ReplayCase, StreamCheck } from "./format.ts";
import { plainText } from "./plain-text.ts";
import type { Exchange } from "./exchange.ts";
import type { Replay } from "./replay-gateway.ts";
import type { RequestPair } from "./request-pair.ts";
import { COMPACT, hostileSpelling, type Json } from "./wire-json.ts";

/** One of the ways a recording is sent: as written, or spelled in a way that nobody writes. */
export interface Round {
  readonly pair: RequestPair;
  readonly hostile: boolean;
  readonly seed: number;
}

/** What was seen of one exchange, for the tables. */
export interface Played {
  readonly exchange: Exchange;
  /** The plain answer as the double gave it; undefined for any other. */
  readonly sent?: string;
  /** The provider told its usage, and the row of the request has it bucket for bucket. */
  readonly isCounted: boolean;
}

/** Sends a recorded request and checks all that is promised of it. */
export async function play(replay: Replay, found: ReplayCase, round: Round): Promise<Played> {
  if (found.ownRefusal !== undefined) return playRefusedByUs(replay, found, round, found.ownRefusal);
  switch (found.kind) {
    case "plain":
      return playPlain(replay, found, round);
    case "stream":
      return playStream(replay, found, round);
    case "refusal":
      return playRefusal(replay, found, round);
  }
}

function asked({ format, modelId, recording }: ReplayCase, { pair, seed }: Round, stream: boolean) {
  return {
    path: format.clientPath(modelId, stream, seed),
    headers: format.clientHeaders(recording),
    body: pair.sent,
  };
}

async function playPlain(replay: Replay, found: ReplayCase, round: Round): Promise<Played> {
  const recorded: Json = found.recording.response.body;
  const spelling = round.hostile ? hostileSpelling(round.seed) : COMPACT;
  const echoed = found.format.echoed?.(found, recorded);
  const told: Json = { ...recorded, ...echoed };
  const { sent, wanted } = plainText(recorded, spelling, found.format.modelMember, echoed);
  const exchange = await replay.ask(
    asked(found, round, found.stream),
    answerFrom(found.recording, { body: sent }),
  );
  expectUpstream(replay, found, exchange, round.pair, found.stream);
  expectGoodHeaders(exchange, "application/json");
  const answer = JSON.parse(exchange.text);
  const { modelMember } = found.format;
  if (modelMember !== undefined && (recorded[modelMember] !== undefined || modelMember === "model"))
    expect(answer[modelMember]).toBe(found.modelId);
  const counted = found.format.checkPlain(found, recorded, answer);
  const credit = /"credit":([\d.]+)\s*\}\s*$/.exec(exchange.text)?.[1];
  expectCharge(replay, found, exchange, { counted, credit, broken: false });
  const { usageMember } = found.format;
  // Where the provider's own would leave the output free, ours stands in its place.
  const isCountedAnew = counted === undefined && recorded[usageMember] !== undefined;
  if (found.native && isCountedAnew) {
    expect(isUntouched(without(told, usageMember), without(answer, usageMember), modelMember)).toBe(true);
    return { exchange, sent, isCounted: false };
  }
  const isGivenUsage = found.native && recorded[usageMember] === undefined;
  const untouched = isUntouched(told, isGivenUsage ? without(answer, usageMember) : answer, modelMember);
  if (found.native) expect(untouched).toBe(true);
  // What needs no repair keeps its bytes, also from a vendor that often does.
  const added = isGivenUsage ? [`"${usageMember}":${JSON.stringify(answer[usageMember])}`] : [];
  if (untouched) expect(exchange.text).toBe(wanted(found.modelId, String(credit), added));
  return { exchange, sent, isCounted: counted !== undefined };
}

function without(answer: Json, name: string): Json {
  const { [name]: _, ...rest } = answer;
  return rest;
}

/** Whether only the model and the credit are not as recorded. */
function isUntouched(recorded: Json, answer: Json, modelMember = "credit"): boolean {
  const made = { ...recorded, credit: answer.credit };
  if (recorded[modelMember] !== undefined || modelMember === "model") made[modelMember] = answer[modelMember];
  return JSON.stringify({ ...made, credit: undefined }) === JSON.stringify({ ...answer, credit: undefined });
}

async function playStream(replay: Replay, found: ReplayCase, round: Round): Promise<Played> {
  const cut = round.hostile ? { cut: { seed: round.seed, maxBytes: 200 } as const } : {};
  const exchange = await replay.ask(asked(found, round, true), answerFrom(found.recording, cut));
  expectUpstream(replay, found, exchange, round.pair, true);
  expectGoodHeaders(exchange, "text/event-stream; charset=utf-8");
  const check = found.format.checkStream(found, exchange);
  if (check.broken) {
    expect(Number(check.credit)).toBeGreaterThan(0);
    expect(exchange.log.usage_flags).toContain("partial");
    expectSettled(exchange, String(check.credit));
  } else expectCharge(replay, found, exchange, check);
  return { exchange, isCounted: check.counted !== undefined };
}

async function playRefusal(replay: Replay, found: ReplayCase, round: Round): Promise<Played> {
  const { recording, format } = found;
  const expected = expectedError(recording.path, recording.response.status);
  // The second time it is a streamed request that is refused: the same error, before the first byte.
  const stream = round.hostile || found.stream;
  const pair = round.hostile ? format.streamedPair(found) : round.pair;
  const answer = answerFrom(recording, { framing: "content-length", cut: "whole" });
  const exchange = await replay.ask(asked(found, { ...round, pair }, stream), answer);
  expectUpstream(replay, found, exchange, pair, stream);
  expectRefusal(found, exchange, expected);
  const told = recording.response.headers["retry-after"];
  if (told !== undefined && expected.status === 503) expect(exchange.headers.get("retry-after")).toBe(told);
  return { exchange, isCounted: false };
}

async function playRefusedByUs(
  replay: Replay,
  found: ReplayCase,
  round: Round,
  own: OwnRefusal,
): Promise<Played> {
  const exchange = await replay.ask(asked(found, round, found.stream), answerFrom(found.recording));
  expect(exchange.upstream).toBeUndefined();
  expectRefusal(found, exchange, { status: 400, type: "invalid_request_error" });
  const { error } = JSON.parse(exchange.text);
  if (error.param !== undefined) expect(own.fields).toContain(error.param);
  // A sentence of the vendor's own need not name the field.
  if (error.code !== "previous_response_not_found")
    expect(own.fields.filter((field) => error.message.includes(field))).not.toEqual([]);
  return { exchange, isCounted: false };
}

/** An error in the one shape that says nothing of our account, costs nothing and holds nothing. */
function expectRefusal({ format }: ReplayCase, exchange: Exchange, expected: ExpectedError): void {
  const body = JSON.parse(exchange.text);
  expect({ status: exchange.status, type: body.error.type }).toEqual({ ...expected });
  format.checkErrorBody(body, expected, String(exchange.headers.get("x-request-id")));
  expect(body.error.message).not.toMatch(ACCOUNT_WORDS);
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

const UPSTREAM_HEADERS = [
  "accept",
  "accept-encoding",
  "connection",
  "content-length",
  "content-type",
  "host",
  "user-agent",
];

/** Upstream got the request, byte for byte but for the named rewrites, with our credential and nothing of the client. */
function expectUpstream(
  replay: Replay,
  found: ReplayCase,
  exchange: Exchange,
  pair: RequestPair,
  stream: boolean,
): void {
  expect(replay.double.brokenRequests).toEqual([]);
  const { upstream } = exchange;
  if (upstream === undefined)
    throw new Error(`nothing reached upstream: ${exchange.status} ${exchange.text}`);
  if (!pair.accepts(upstream.bodyText)) expect(upstream.bodyText).toBe(pair.wanted);
  const target = found.format.upstreamTarget(found.upstreamId, stream);
  expect([upstream.method, upstream.target]).toEqual(["POST", target]);
  const own = found.format.upstreamHeaders(found, UPSTREAM_KEY);
  for (const [name, value] of Object.entries(own))
    expect([name, upstream.header(name)]).toEqual([name, value]);
  const names = upstream.headers.map(([name]) => name.toLowerCase());
  const known = new Set([...UPSTREAM_HEADERS, ...Object.keys(own)]);
  expect(names.filter((name) => !known.has(name))).toEqual([]);
  const all = JSON.stringify(upstream.headers) + upstream.bodyText;
  expect(all).not.toContain(replay.gateway.key);
  expect(JSON.stringify(upstream.headers)).not.toContain("client-canary");
  expect(found.provider).toBe(String(exchange.log.provider));
  const warning = exchange.status === 200 ? exchange.headers.get("warning") : null;
  if (exchange.status !== 200 || pair.told.length === 0) expect(warning).toBeNull();
  else for (const name of pair.told) expect(warning).toContain(name);
}

function expectGoodHeaders(exchange: Exchange, contentType: string): void {
  if (exchange.status !== 200) throw new Error(`${exchange.status} ${exchange.text}`);
  expect(exchange.headers.get("content-type")).toBe(contentType);
  expectOwnHeaders(exchange);
}

const FOREIGN = /^(openai-|anthropic-|x-goog|x-ratelimit-|set-cookie|x-groq|cf-|server-timing|via|alt-svc)/;

/** No header of the provider comes down, and the request id is ours. */
function expectOwnHeaders({ headers }: Exchange): void {
  expect([...headers.keys()].filter((name) => FOREIGN.test(name))).toEqual([]);
  expect(headers.get("x-request-id")).toMatch(/^req_/);
  expect(headers.get("request-id")).toBe(headers.get("x-request-id"));
}

/** The credit is recorded usage times price, in the answer, the row and the ledger, digit for digit. */
function expectCharge(
  replay: Replay,
  found: ReplayCase,
  exchange: Exchange,
  { counted, credit }: StreamCheck,
): void {
  if (credit === undefined) throw new Error(`no credit in ${exchange.text.slice(-300)}`);
  if (counted === undefined) {
    expect(exchange.log.usage_flags).toContain("estimated");
    expect(Number(credit)).toBeGreaterThan(0);
  } else {
    expectRow(exchange, counted);
    const { tokens, pieces } = replay.pricesFor(found.modelId);
    expect(credit).toBe(creditText(costOf(counted, tokens, pieces)));
    expect(exchange.log.usage_flags).toEqual(counted.flags);
  }
  expectSettled(exchange, credit);
}

/** The row of the request has the recorded usage, each token in one bucket. */
function expectRow({ row }: Exchange, counted: CountedTokens): void {
  expect(row?.usage).toEqual(shownInRow(counted));
}

function expectSettled(exchange: Exchange, credit: string): void {
  const { entries, balanceBefore, balanceAfter, held, log, row } = exchange;
  expect(entries.map(({ kind, amount }) => ({ kind, amount: JSON.stringify(amount) }))).toEqual([
    { kind: "settle", amount: credit === "0" ? "0" : `-${credit}` },
  ]);
  expect([held, String(log.credit), JSON.stringify(row?.credit)]).toEqual([0, credit, credit]);
  // Balances are JSON numbers of credits; their difference is exact once it is read in micro-credits.
  expect(Math.round((balanceBefore - balanceAfter) * 1e6)).toBe(Math.round(Number(credit) * 1e6));
}
