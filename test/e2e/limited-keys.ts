import { afterAll, afterEach, beforeAll, beforeEach, expect } from "bun:test";
import { createFakeClock, type FakeClock } from "../gateway/fake-clock.ts";
import { startGateway, type Json, type TestGateway, type TestGatewayOptions } from "../gateway/gateway.ts";
import { chatAnswer } from "../upstream/chat-bytes.ts";
import { startUpstreamDouble, type UpstreamDouble } from "../upstream/double.ts";

/** What the double counts for an answer of these tests. */
export const USAGE = { prompt_tokens: 11, completion_tokens: 4, total_tokens: 15 };

/** A request that is answered with `USAGE`. */
export const body = {
  model: "openai/gpt-5.6-luna",
  messages: [{ role: "user" as const, content: "Say hello." }],
  max_tokens: 64,
};

/** A plain answer of the double. */
export const plain = chatAnswer({ words: ["Hello."], usage: USAGE });

/** Limits as the admin interface takes them. */
export interface Limits {
  readonly requests_per_minute?: number | null;
  readonly tokens_per_minute?: number | null;
  readonly concurrency?: number | null;
}

/** A key with limits. */
export interface LimitedKey {
  readonly id: string;
  readonly key: string;
  readonly headers: Record<string, string>;
}

/**
 * A gateway over real sockets whose clock only the test moves: windows of a minute neither pass by themselves nor
 * make a test wait.
 */
export interface LimitStation {
  readonly gateway: TestGateway;
  readonly double: UpstreamDouble;
  readonly clock: FakeClock;
  /** Another gateway in place of this one. */
  restart(options: TestGatewayOptions): Promise<void>;
  /** A new key of the gateway's account. */
  issue(limits: Limits): Promise<LimitedKey>;
  /** Asks for a chat completion with the key. */
  ask(key: LimitedKey, more?: object): Promise<Response>;
}

/** One station for all tests of the file; a test that restarts the gateway leaves a new one to the next. */
export function useLimitStation(): LimitStation {
  let clock: FakeClock;
  let double: UpstreamDouble;
  let gateway: TestGateway;
  let isRestarted = false;
  const start = async (options: TestGatewayOptions): Promise<void> => {
    gateway = await startGateway({ openai: `${double.url}/v1`, clock, ...options });
  };
  beforeAll(async () => {
    clock = createFakeClock();
    double = await startUpstreamDouble();
    await start({});
  });
  beforeEach(() => double.handle(() => plain));
  afterEach(async () => {
    double.reset();
    if (!isRestarted) return;
    await gateway.close();
    await start({});
    isRestarted = false;
  });
  afterAll(async () => {
    await gateway.close();
    await double.close();
  });
  return {
    get gateway() {
      return gateway;
    },
    get double() {
      return double;
    },
    get clock() {
      return clock;
    },
    async restart(options) {
      isRestarted = true;
      await gateway.close();
      await start(options);
    },
    async issue(limits) {
      const request = { account_id: gateway.accountId, name: "limited", limits };
      const { status, json } = await gateway.admin("POST", "/keys", request);
      expect(status).toBe(201);
      return { id: json.id, key: json.key, headers: { authorization: `Bearer ${json.key}` } };
    },
    ask: ({ headers }, more = {}) => gateway.chat({ ...body, ...more }, { headers }),
  };
}

/** Status and what an answer says of limits. */
export async function toldOf(response: Response) {
  const text = await response.text();
  const { headers, status } = response;
  const answer: Json = text.startsWith("{") ? JSON.parse(text) : {};
  return {
    status,
    message: answer.error?.message as string | undefined,
    type: answer.error?.type as string | undefined,
    retryAfter: headers.get("retry-after"),
    retryAfterMs: headers.get("retry-after-ms"),
    shouldRetry: headers.get("x-should-retry"),
    remaining: [
      headers.get("x-ratelimit-remaining-requests"),
      headers.get("x-ratelimit-remaining-tokens"),
    ] as const,
  };
}
