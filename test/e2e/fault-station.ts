import { wait } from "../../src/core/time/clock.ts";
import { DEFAULT_ROUTING } from "../../src/gateway/routing/settings.ts";
import { createFakeClock, type FakeClock } from "../gateway/fake-clock.ts";
import { FORMAT_CLIENTS, streamedBody } from "../gateway/format-clients.ts";
import { type Json, startGateway, type TestGateway } from "../gateway/gateway.ts";
import { LONG } from "../runs.ts";
import type { Answer } from "../upstream/answer.ts";
import { startUpstreamDouble, type UpstreamDouble } from "../upstream/double.ts";
import type { Sleep } from "../upstream/player.ts";
import { goodAnswer, type Spoken } from "./fault-matrix.ts";

// A gateway with routing as it is by itself, and models of two providers each: the first is called by two credentials.

export type Format = keyof typeof FORMAT_CLIENTS | "embeddings";

/** The format of the client, and the one that its provider is asked in: each relayed, and once translated. */
export const ASKED: readonly (readonly [Format, Spoken])[] = [
  ["chat_completions", "chat_completions"],
  ["chat_completions", "messages"],
  ["messages", "messages"],
  ["messages", "chat_completions"],
  ["generate_content", "generate_content"],
  ["generate_content", "chat_completions"],
  ["responses", "responses"],
  ["responses", "generate_content"],
  ["embeddings", "embeddings"],
];

/** One way of asking. Its model and its providers are its own, so that it meets no breaker of another's. */
export interface Case {
  readonly name: string;
  readonly format: Format;
  readonly spoken: Spoken;
  readonly stream: boolean;
  /** Where the first provider is, if not at the double, and whether the second is there, too. */
  readonly at?: string | undefined;
  readonly isBothAt?: boolean;
}

/**
 * A row of a table in each way of asking. Where the large counts are not asked for it is every other way, plain and
 * streamed in turns. The row's name says which half, so the rows of a table have all of them.
 */
export function casesOf(row: string, only?: "plain" | "stream"): readonly Case[] {
  const first = Buffer.from(row).reduce((sum, byte) => sum + byte, 0);
  return everyCaseOf(row, only).filter((_one, i) => LONG || (first + i + Math.floor(i / 2)) % 2 === 0);
}

function everyCaseOf(row: string, only?: "plain" | "stream"): readonly Case[] {
  return ASKED.flatMap(([format, spoken]) =>
    [false, true]
      .filter((stream) => only === undefined || stream === (only === "stream"))
      .filter((stream) => !stream || format !== "embeddings")
      .map((stream) => ({
        name: `${row}-${format}-${spoken}-${stream ? "stream" : "plain"}`.replaceAll("_", ""),
        format,
        spoken,
        stream,
      })),
  );
}

/** The formats in which clients count tokens, each of a provider that counts in it. */
export function countsOf(row: string): readonly Case[] {
  return (["messages", "generate_content"] as const).map((format) => ({
    name: `${row}-${format}-counting`.replaceAll("_", ""),
    format,
    spoken: "counting",
    stream: false,
  }));
}

export interface FaultStation {
  readonly gateway: TestGateway;
  readonly double: UpstreamDouble;
  readonly clock: FakeClock;
  /** Asks in the words of the format's client, or says something else. */
  ask(one: Case, init?: RequestInit, said?: string): Promise<Response>;
  /** Sets what the first provider answers, and the second. */
  answers(one: Case, first: () => Answer, second?: () => Answer): void;
  /** Resolves once the gateway has called the first provider of a model, or the second. */
  called(one: Case, provider: "a" | "b"): Promise<void>;
  /** By which credentials it was asked since then. */
  calls(): readonly string[];
  /** Requests that go well fill the budget again for so many retries. */
  earn(retries: number): Promise<void>;
  /** How the first way stands: its state, failures in a row, and why it failed last. */
  stateOf(one: Case): Promise<readonly unknown[]>;
  /** The credits that were charged since the account had `before`. */
  spent(before: number): Promise<number>;
  close(): Promise<void>;
}

const ENVIRONMENT = { A1: "a1-0123456789", A2: "a2-0123456789", B1: "b1-0123456789" };

/** Opens it. Pauses of the double go by the same clock as the gateway, or take no time. */
export async function openFaultStation(
  cases: readonly Case[],
  { isPaced = false }: { readonly isPaced?: boolean } = {},
): Promise<FaultStation> {
  const clock = createFakeClock();
  const pace: Sleep = (ms, signal) => wait(clock, ms, signal).catch(() => undefined);
  const double = await startUpstreamDouble({ sleep: isPaced ? pace : async () => undefined });
  const settings = JSON.stringify(settingsOf(double.url, cases));
  const gateway = await startGateway({ settings, clock, environment: ENVIRONMENT });
  const answers: FaultStation["answers"] = ({ spoken, stream }, first, second) => {
    double.reset();
    double.handle(({ target }) => {
      if (target.startsWith("/well")) return goodAnswer("chat_completions", false);
      return target.includes("-a/") ? first() : (second?.() ?? goodAnswer(spoken, stream));
    });
  };
  return {
    gateway,
    double,
    clock,
    ask: (one, init, said) => ask(gateway, one, init, said),
    answers,
    async called({ name }, provider) {
      const path = `/routes?model=${encodeURIComponent(`m/${name}-a`)}&provider=${name}-${provider}`;
      for (let calls = 0; calls === 0;) {
        const { json } = await gateway.admin("GET", path);
        calls = json.data[0].calls;
      }
    },
    calls: () =>
      double.requests
        .filter(({ target }) => !target.startsWith("/well"))
        .map(({ headers }) => /[ab]\d-0123456789/.exec(JSON.stringify(headers))?.[0].slice(0, 2) ?? "none"),
    async earn(retries) {
      const body = { model: "m/well", messages: [{ role: "user", content: "Hi" }] };
      const well = async (): Promise<unknown> => (await gateway.chat(body)).arrayBuffer();
      await Promise.all(Array.from({ length: retries / DEFAULT_ROUTING.retryBudget }, well));
    },
    async stateOf({ name }) {
      const { json } = await gateway.admin("GET", `/routes?model=${encodeURIComponent(`m/${name}-a`)}`);
      const [{ state, failures, last_failure: last }] = json.data;
      return [state, failures, last?.reason ?? null];
    },
    async spent(before) {
      await gateway.settled();
      return Number((before - (await gateway.account()).balance).toFixed(6));
    },
    async close() {
      await gateway.close();
      await double.close();
    },
  };
}

function settingsOf(url: string, cases: readonly Case[]): Json {
  const providers: Json = { well: providerOf(url, "well", "chat_completions", "B1") };
  const models: Json = {};
  for (const { name, at = url, isBothAt, ...one } of cases) {
    const spoken = one.spoken === "counting" ? one.format : one.spoken;
    const first = providerOf(at, `${name}-a`, spoken, "A1");
    providers[`${name}-a`] = { ...first, credentials: [{ env: "A2" }] };
    providers[`${name}-b`] = providerOf(isBothAt === true ? at : url, `${name}-b`, spoken, "B1");
    models[`m/${name}-a`] = {
      routes: [{ provider: `${name}-a` }, { provider: `${name}-b`, upstream_id: "up" }],
    };
  }
  return { providers, routing: { models } };
}

function providerOf(url: string, name: string, spoken: Spoken | Format, env: string): Json {
  const isEmbedding = spoken === "embeddings";
  const facts = isEmbedding
    ? { category: "embedding", embedding: { dimensions: 2, most_texts: 9 }, prices: { input: 1 } }
    : { max_output: 100, prices: { input: 1, output: 2 } };
  return {
    base_url: `${url}/${name}`,
    api_key_env: env,
    dialect: "native",
    ...(isEmbedding ? {} : { protocols: [spoken] }),
    models: [{ id: `m/${name}`, upstream_id: "up", ...facts }],
  };
}

function ask(
  gateway: TestGateway,
  one: Case,
  init: RequestInit = {},
  said = "Say hello.",
): Promise<Response> {
  const [path, body] = requestOf(one);
  return gateway.post(path, JSON.stringify(body).replace("Say hello.", said), init);
}

/** The path and the body of a request. */
export function requestOf({ name, format, spoken, stream }: Case): readonly [path: string, body: Json] {
  const model = `m/${name}-a`;
  if (format === "embeddings") return ["/api/v1/embeddings", { model, input: "Say hello." }];
  const client = FORMAT_CLIENTS[format];
  const path = client.path(model);
  const body = path.includes(model) ? client.body : { ...client.body, model };
  if (spoken === "counting")
    return [format === "messages" ? `${path}/count_tokens` : path.replace(/:.*/, ":countTokens"), body];
  return stream ? [path, streamedBody(client, model)] : [path.replace(/:stream.*/, ":generateContent"), body];
}

/**
 * Moves time in steps until `asked` has come, or so much of it has passed; then waits for what was asked. Gives it with
 * the time that had passed.
 */
export async function later<T>(
  clock: FakeClock,
  asked: Promise<T>,
  stepMs: number,
  mostMs: number,
): Promise<readonly [T, number]> {
  let isThere = false;
  const note = (): void => void (isThere = true);
  asked.then(note, note);
  let passedMs = 0;
  while (!isThere && passedMs < mostMs) {
    // What comes over a socket has some turns for it.
    for (let turns = 0; !isThere && turns < 10; turns += 1)
      await new Promise((resolve) => setTimeout(resolve, 2));
    if (isThere) break;
    await clock.advance(stepMs);
    passedMs += stepMs;
  }
  return [await asked, passedMs];
}
