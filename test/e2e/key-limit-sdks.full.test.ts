import { describe, expect, test } from "bun:test";
import Anthropic from "@anthropic-ai/sdk";
import { ApiError, GoogleGenAI } from "@google/genai";
import OpenAI from "openai";
import { sseAnswer } from "../upstream/answer.ts";
import { chatStream } from "../upstream/chat-bytes.ts";
import { geminiPlain, geminiStream } from "../upstream/gemini-bytes.ts";
import { messageAnswer, type MessageForm, messageStreamAnswer } from "../upstream/messages-bytes.ts";
import { body, type LimitedKey, plain, USAGE, useLimitStation } from "./limited-keys.ts";

// What official SDKs read of the limits of their key, and what they do about it.

const station = useLimitStation();

const events = chatStream({ words: ["Hel", "lo."], usage: USAGE });

/** A fetch that notes statuses; after a 429 the clock moves by the time that it says, when the SDK is to try again. */
function watched(statuses: number[], waits = true) {
  return async (url: string | URL | Request, init?: RequestInit): Promise<Response> => {
    const response = await fetch(url, init);
    statuses.push(response.status);
    if (response.status === 429 && waits)
      await station.clock.advance(Number(response.headers.get("retry-after-ms")));
    return response;
  };
}

function headersThatBegin(headers: Headers, start: string): Record<string, string> {
  return Object.fromEntries([...headers].filter(([name]) => name.startsWith(start)));
}

describe("openai", () => {
  /** The SDK, unmodified; the clock stands still but for the time that it waits between two tries. */
  const clientOf = (key: LimitedKey, maxRetries: number) => {
    const statuses: number[] = [];
    const client = new OpenAI({
      baseURL: `${station.gateway.url}/api/v1`,
      apiKey: key.key,
      maxRetries,
      fetch: watched(statuses),
    });
    return { client, statuses };
  };

  for (const stream of [false, true]) {
    test(`reads how its key stands from the headers of ${stream ? "a stream" : "an answer"}`, async () => {
      const key = await station.issue({ requests_per_minute: 60, tokens_per_minute: 5_000 });
      await station.ask(key);
      await station.clock.advance(1_500);
      station.double.handle(() => (stream ? sseAnswer(events) : plain));
      const { client } = clientOf(key, 0);
      const { response } = await client.chat.completions.create({ ...body, stream }).withResponse();
      const told = headersThatBegin(response.headers, "x-ratelimit");
      expect(told).toMatchObject({
        "x-ratelimit-limit-requests": "60",
        "x-ratelimit-remaining-requests": "58",
        "x-ratelimit-reset-requests": "60s",
        "x-ratelimit-limit-tokens": "5000",
        "x-ratelimit-reset-tokens": "60s",
      });
      const left = Number(told["x-ratelimit-remaining-tokens"]);
      // A stream has just begun: its guess counts.
      if (stream) expect(left).toBeLessThan(4_970);
      else expect(left).toBe(4_970);
    });
  }

  test("tries again after the time it was told, and is served", async () => {
    const key = await station.issue({ requests_per_minute: 1 });
    await station.ask(key);
    await station.clock.advance(59_980);
    const { client, statuses } = clientOf(key, 1);
    const completion = await client.chat.completions.create(body);
    expect(completion.choices[0]?.message.content).toBe("Hello.");
    expect(statuses).toEqual([429, 200]);
  });

  test("raises a RateLimitError, and does not try again what waiting cannot fix", async () => {
    const key = await station.issue({ tokens_per_minute: 1 });
    const { client, statuses } = clientOf(key, 3);
    const error: unknown = await client.chat.completions.create(body).catch((cause: unknown) => cause);
    expect(error).toBeInstanceOf(OpenAI.RateLimitError);
    expect(error).toMatchObject({ status: 429, type: "rate_limit_error" });
    expect(statuses).toEqual([429]);
  });
});

describe("@anthropic-ai/sdk", () => {
  const body = {
    model: "anthropic/claude-haiku-4.5",
    max_tokens: 64,
    messages: [{ role: "user" as const, content: "Say hello." }],
  };
  const hello: MessageForm = {
    blocks: [{ type: "text", text: "Hello." }],
    usage: { input_tokens: 11, output_tokens: 4 },
  };
  /** The gateway with Anthropic in place of OpenAI; every answer is `hello`, plain or streamed as it is asked. */
  const serve = async (): Promise<void> => {
    await station.restart({ anthropic: station.double.url });
    station.double.handle((request) =>
      (request.json() as { stream?: boolean }).stream === true
        ? messageStreamAnswer(hello)
        : messageAnswer(hello),
    );
  };
  /** The SDK, unmodified; the clock stands still but for the time that it waits between two tries. */
  const clientOf = (key: LimitedKey, maxRetries: number) => {
    const statuses: number[] = [];
    const client = new Anthropic({
      baseURL: `${station.gateway.url}/api`,
      apiKey: key.key,
      maxRetries,
      fetch: watched(statuses),
    });
    return { client, statuses };
  };

  for (const stream of [false, true]) {
    test(`reads how its key stands from the headers of ${stream ? "a stream" : "an answer"}`, async () => {
      await serve();
      const key = await station.issue({ requests_per_minute: 60, tokens_per_minute: 5_000 });
      const { client } = clientOf(key, 0);
      await client.messages.create(body);
      await station.clock.advance(1_500);
      const { response } = await client.messages.create({ ...body, stream }).withResponse();
      const resetAt = new Date(Math.ceil((station.clock.nowMs() + 60_000) / 1000) * 1000);
      const told = headersThatBegin(response.headers, "anthropic-ratelimit");
      expect(told).toMatchObject({
        "anthropic-ratelimit-requests-limit": "60",
        "anthropic-ratelimit-requests-remaining": "58",
        "anthropic-ratelimit-tokens-limit": "5000",
      });
      const left = Number(told["anthropic-ratelimit-tokens-remaining"]);
      if (stream) expect(left).toBeLessThan(4_970);
      else expect(left).toBe(4_970);
      for (const kind of ["requests", "tokens"]) {
        const reset = told[`anthropic-ratelimit-${kind}-reset`] as string;
        expect(reset).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
        expect(new Date(reset)).toEqual(resetAt);
      }
      expect(headersThatBegin(response.headers, "x-ratelimit")).toEqual({});
    });
  }

  for (const streamed of [false, true]) {
    test(`tries again after the time it was told, and is served${streamed ? ", by the helper" : ""}`, async () => {
      await serve();
      const key = await station.issue({ requests_per_minute: 1 });
      await clientOf(key, 0).client.messages.create(body);
      await station.clock.advance(59_980);
      const { client, statuses } = clientOf(key, 1);
      const message = streamed
        ? await client.messages.stream(body).finalMessage()
        : await client.messages.create(body);
      expect(message.content).toMatchObject([{ type: "text", text: "Hello." }]);
      expect(statuses).toEqual([429, 200]);
    });
  }

  test("raises a RateLimitError, and does not try again what waiting cannot fix", async () => {
    await serve();
    const key = await station.issue({ tokens_per_minute: 1 });
    const { client, statuses } = clientOf(key, 3);
    const error: unknown = await client.messages.create(body).catch((cause: unknown) => cause);
    expect(error).toBeInstanceOf(Anthropic.RateLimitError);
    expect(error).toMatchObject({ status: 429, type: "rate_limit_error" });
    expect(statuses).toEqual([429]);
  });
});

describe("@google/genai", () => {
  const model = "google/gemini-3.8-flash";
  const contents = "Say hello.";
  const serve = async (): Promise<void> => {
    const { url } = station.double;
    await station.restart({ environment: { GEMINI_API_KEY: "k", GEMINI_BASE_URL: url } });
    const form = { usage: { promptTokenCount: 11, candidatesTokenCount: 4, totalTokenCount: 15 } };
    station.double.handle((request) =>
      request.target.includes(":stream") ? geminiStream(form) : geminiPlain(form),
    );
  };
  const AT_ONCE = { initialDelay: 0.001, maxDelay: 0.001, jitter: 0 };
  /** The SDK, unmodified. It waits as its options say, not as it is told, and only where it has such options. */
  const clientOf = (key: LimitedKey, attempts?: number) => {
    const statuses: number[] = [];
    const client = new GoogleGenAI({
      apiKey: key.key,
      httpOptions: {
        baseUrl: `${station.gateway.url}/api`,
        apiVersion: "v1",
        fetch: watched(statuses, attempts !== undefined),
        ...(attempts === undefined ? {} : { retryOptions: { attempts, ...AT_ONCE } }),
      },
    });
    return { client, statuses };
  };

  test("is told by the body of a 429 how long to wait, plain and streamed", async () => {
    await serve();
    const key = await station.issue({ requests_per_minute: 1 });
    const { client, statuses } = clientOf(key);
    expect((await client.models.generateContent({ model, contents })).text).toBe("Hello.");
    await station.clock.advance(50_500);
    const calls = [
      () => client.models.generateContent({ model, contents }),
      () => client.models.generateContentStream({ model, contents }),
    ];
    for (const call of calls) {
      const error = await call().then(
        () => undefined,
        (cause: unknown) => cause as ApiError,
      );
      expect(error).toBeInstanceOf(ApiError);
      expect(error?.status).toBe(429);
      expect(JSON.parse(error?.message ?? "")).toMatchObject({
        error: {
          code: 429,
          status: "RESOURCE_EXHAUSTED",
          type: "rate_limit_error",
          details: [{ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "10s" }],
        },
      });
    }
    expect(statuses).toEqual([200, 429, 429]);
  });

  test("tries again where its options say so, and is served", async () => {
    await serve();
    const key = await station.issue({ requests_per_minute: 1 });
    await clientOf(key).client.models.generateContent({ model, contents });
    await station.clock.advance(59_980);
    const { client, statuses } = clientOf(key, 3);
    expect((await client.models.generateContent({ model, contents })).text).toBe("Hello.");
    expect(statuses).toEqual([429, 200]);
  });
});
