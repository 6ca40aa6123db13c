import { describe, expect, test } from "bun:test";
import OpenAI from "openai";
import { sseAnswer } from "../upstream/answer.ts";
import { chatStream } from "../upstream/chat-bytes.ts";
import { body, type LimitedKey, plain, USAGE, useLimitStation } from "./limited-keys.ts";

// What official SDKs read of the limits of their key, and what they do about it.

const station = useLimitStation();

const events = chatStream({ words: ["Hel", "lo."], usage: USAGE });

describe("openai", () => {
  /** The SDK, unmodified; the clock stands still but for the time that it waits between two tries. */
  const clientOf = (key: LimitedKey, maxRetries: number) => {
    const statuses: number[] = [];
    const client = new OpenAI({
      baseURL: `${station.gateway.url}/api/v1`,
      apiKey: key.key,
      maxRetries,
      async fetch(url, init) {
        const response = await fetch(url, init);
        statuses.push(response.status);
        if (response.status === 429)
          await station.clock.advance(Number(response.headers.get("retry-after-ms")));
        return response;
      },
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
      const told = Object.fromEntries(
        [...response.headers].filter(([name]) => name.startsWith("x-ratelimit")),
      );
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
