import { describe, expect, test } from "bun:test";
import { type Answer, jsonAnswer, sseAnswer } from "../upstream/answer.ts";
import { chatStream } from "../upstream/chat-bytes.ts";
import { afterEvent } from "../upstream/cuts.ts";
import { gateAt, resetAt, stallAt } from "../upstream/faults.ts";
import { createGate } from "../upstream/gate.ts";
import { openRawClient, postBytes, type RawClient } from "../upstream/raw-client.ts";
import type { TestGatewayOptions } from "../gateway/gateway.ts";
import { body, type LimitedKey, plain, toldOf, USAGE, useLimitStation } from "./limited-keys.ts";

// How many requests of a key are under way: each counts until it ends, in whatever way it does.

const station = useLimitStation();

/** What one way to end a request is tried with. */
interface Trial {
  readonly key: LimitedKey;
  /** Posts with the key on a socket of its own. */
  post(request: object): Promise<RawClient>;
}

const events = chatStream({ words: ["Hel", "lo."], usage: USAGE });
const answers = async (answer: Answer, trial: Trial, more: object = {}): Promise<Response> => {
  station.double.handle(() => answer);
  const response = await station.ask(trial.key, more);
  await response.text();
  return response;
};
const leaves = async (
  answer: Answer,
  trial: Trial,
  { stream, seen = "" }: { stream: boolean; seen?: string },
) => {
  station.double.handle(() => answer);
  const client = await trial.post({ ...body, stream });
  const request = await station.double.waitForRequest(1);
  if (seen !== "") await client.waitFor(seen);
  client.reset();
  await station.double.waitForClientGone(request);
};

// Every way out of a request frees its place, and counts the tokens it is charged for.
const ENDS: readonly {
  readonly name: string;
  readonly options?: TestGatewayOptions;
  /** Tokens that count afterwards; "some" where they are our own count. */
  readonly tokens: number | "some";
  end(trial: Trial): Promise<void>;
}[] = [
  {
    name: "a whole answer",
    tokens: 15,
    end: async (trial) => expect((await answers(plain, trial)).status).toBe(200),
  },
  {
    name: "a whole stream",
    tokens: 15,
    end: async (trial) =>
      expect((await answers(sseAnswer(events), trial, { stream: true })).status).toBe(200),
  },
  ...[false, true].map((stream) => ({
    name: `a refusal of the provider (${stream ? "streamed" : "plain"})`,
    tokens: 0,
    async end(trial: Trial) {
      const refused = await answers(jsonAnswer(400, { error: { message: "no" } }), trial, { stream });
      expect(refused.status).toBe(400);
      expect(refused.headers.get("x-ratelimit-remaining-requests")).toBe("99");
      expect(refused.headers.get("x-ratelimit-remaining-tokens")).toBe("100000");
    },
  })),
  {
    name: "a provider that hangs up",
    tokens: 0,
    end: async (trial) => expect((await answers(resetAt(plain, "start"), trial)).status).toBe(502),
  },
  {
    name: "a stream that is cut",
    tokens: "some",
    async end(trial) {
      const cut = {
        ...sseAnswer(events),
        cut: "events",
        end: { at: afterEvent(events, 2), how: "fin" },
      } as const;
      expect((await answers({ ...cut, framing: "close" }, trial, { stream: true })).status).toBe(200);
    },
  },
  {
    name: "a provider that does not answer in time",
    tokens: 0,
    async end({ key }) {
      station.double.handle(() => stallAt(plain, "start"));
      const late = station.ask(key);
      await station.double.waitForRequest(1);
      await station.clock.advance(600_000);
      expect((await late).status).toBe(504);
    },
  },
  ...[false, true].map((stream) => ({
    name: `a client that leaves before the first byte (${stream ? "streamed" : "plain"})`,
    tokens: "some" as const,
    end: (trial: Trial) => leaves(stallAt(plain, "start"), trial, { stream }),
  })),
  {
    name: "a client that leaves in mid-stream",
    tokens: "some",
    end: (trial) =>
      leaves(stallAt(sseAnswer(events), afterEvent(events, 2)), trial, { stream: true, seen: "Hel" }),
  },
  {
    name: "a 402",
    options: { credits: 0 },
    tokens: 0,
    async end({ key }) {
      const refused = await toldOf(await station.ask(key));
      expect(refused).toMatchObject({ status: 402, remaining: ["99", "100000"] });
      const path = `/accounts/${station.gateway.accountId}/credits`;
      await station.gateway.admin("POST", path, { amount: 100, reason: "test" });
    },
  },
  ...(
    ["hold.before_submit", "hold.after_commit", "upstream.after_headers", "settle.before_submit"] as const
  ).map((at) => ({
    name: `a fault of ours at ${at}`,
    // The first pass is that of the request before.
    options: { environment: { SWITCHYARD_FAILPOINT: `${at}:throw:2` } },
    tokens: at === "settle.before_submit" ? 15 : 0,
    async end(trial: Trial) {
      const failed = await answers(plain, trial);
      expect(failed.status).toBe(500);
      expect(failed.headers.get("x-ratelimit-remaining-requests")).toBe("99");
    },
  })),
  {
    name: "a stream whose charge is not written at once",
    options: { environment: { SWITCHYARD_FAILPOINT: "settle.before_submit:throw:2" } },
    tokens: 15,
    end: async (trial) =>
      expect((await answers(sseAnswer(events), trial, { stream: true })).status).toBe(200),
  },
];

describe("concurrency", () => {
  test("lets so many run at once, and another as soon as one has ended", async () => {
    const key = await station.issue({ concurrency: 3 });
    const gate = createGate();
    station.double.handle(() => gateAt(plain, "start", gate));
    const running = Array.from({ length: 20 }, () => station.ask(key));
    await station.double.waitForRequest(3);
    const refused = await toldOf(await station.ask(key));
    expect(refused).toMatchObject({ status: 429, retryAfter: "1", retryAfterMs: "1000", shouldRetry: null });
    expect(refused.message).toContain("3 requests at once");
    gate.release();
    const statuses = (await Promise.all(running)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 200).length).toBe(3);
    expect(statuses.filter((status) => status === 429).length).toBe(17);
    expect(station.double.requests.length).toBe(3);
    for (let i = 0; i < 5; i += 1) expect((await station.ask(key)).status).toBe(200);
  });

  for (const stream of [false, true])
    test(`is freed by a shutdown (${stream ? "streamed" : "plain"}): a request that comes then is told of that, not of the limit`, async () => {
      await station.restart({});
      const key = await station.issue({ concurrency: 1 });
      station.double.handle(() =>
        stream ? stallAt(sseAnswer(events), afterEvent(events, 2)) : stallAt(plain, "start"),
      );
      const answer = station.ask(key, { stream });
      await station.double.waitForRequest(1);
      const response = stream ? await answer : undefined;
      station.gateway.services.endCalls();
      const { status, headers } = await (response ?? answer);
      expect([status, headers.get("retry-after")]).toEqual(stream ? [200, null] : [503, "1"]);
      await response?.text();
      const next = await toldOf(await askWhenFree(key));
      expect([next.status, next.message]).toEqual([503, "The gateway is shutting down."]);
      expect(station.double.requests).toHaveLength(1);
      await station.restart({});
    });

  for (const { name, options, tokens, end } of ENDS) {
    test(`is freed by ${name}`, async () => {
      if (options !== undefined) await station.restart(options);
      const key = await station.issue({
        concurrency: 1,
        tokens_per_minute: 100_000,
        requests_per_minute: 100,
      });
      expect((await station.ask(key)).status).toBe(options?.credits === 0 ? 402 : 200);
      await station.clock.advance(60_000);
      station.double.reset();
      await end({ key, post: (request) => postOn(key, request) });
      station.double.handle(() => plain);
      const next = await toldOf(await askWhenFree(key));
      expect(next.status).toBe(200);
      const used = 100_000 - Number(next.remaining[1]) - 15;
      if (tokens === "some") expect(used).toBeGreaterThan(0);
      else expect(used).toBe(tokens);
      expect(used).toBeLessThan(80);
      // Freed once, and not twice: there is one place still.
      const gate = createGate();
      station.double.handle(() => gateAt(plain, "start", gate));
      const seen = station.double.requests.length;
      const running = station.ask(key);
      await station.double.waitForRequest(seen + 1);
      expect((await station.ask(key)).status).toBe(429);
      gate.release();
      expect((await running).status).toBe(200);
    });
  }
});

async function postOn({ key }: LimitedKey, request: object): Promise<RawClient> {
  const client = await openRawClient(station.gateway.url);
  client.send(
    postBytes("/api/v1/chat/completions", JSON.stringify(request), [`Authorization: Bearer ${key}`]),
  );
  return client;
}

/** Asks until the place is free: it is once the charge is written, which a client that has left does not wait for. */
async function askWhenFree(key: LimitedKey): Promise<Response> {
  let answer = await station.ask(key);
  for (let i = 0; i < 2_000 && answer.status === 429; i += 1) {
    await answer.arrayBuffer();
    await Bun.sleep(5);
    answer = await station.ask(key);
  }
  return answer;
}
