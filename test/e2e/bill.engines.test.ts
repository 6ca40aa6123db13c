import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import OpenAI from "openai";
import { creditsText } from "../../src/core/money/credits.ts";
import { describeOnEngineOfSuite } from "../gateway/engines.ts";
import { type Json, streamEvents } from "../gateway/gateway.ts";
import { sseAnswer } from "../upstream/answer.ts";
import { chatAnswer, chatStreamAnswer, chatStreamEvents } from "../upstream/chat-bytes.ts";
import { chatUsage, delivered } from "../upstream/counts.ts";
import { eventEnds } from "../upstream/cuts.ts";
import { finAt, gateAt } from "../upstream/faults.ts";
import { createGate } from "../upstream/gate.ts";
import { openRawClient, postBytes, type RawClient } from "../upstream/raw-client.ts";
import { sse, type SseData } from "../upstream/sse-bytes.ts";
import { creditDigits, ledgerDigits, PROMPT, PROMPT_TOKENS, WORDS } from "./billed.ts";
import { type Bank, openBank } from "./money.ts";

// The bill is the same streamed and not, equal to the double's own count. Cut at any event it is price × what was
// delivered, within a stated error of the double's count when no usage came.

/** How far our count of text may be from the provider's, as a share of it, and in tokens for what is short. */
const COUNT_ERROR = { share: 0.35, tokens: 4 };

/** Micro-credits per token, as the model files have it: USD per million × 10,000. */
interface Rates {
  readonly input: number;
  readonly cached: number;
  readonly written: number;
  readonly output: number;
}
const LUNA = {
  model: "openai/gpt-5.6-luna",
  rates: { input: 2_000, cached: 200, written: 2_500, output: 12_000 },
};
const ASTRA = {
  model: "openai/gpt-6-astra",
  rates: { input: 100_000, cached: 10_000, written: 125_000, output: 500_000 },
  /** Above 272,000 tokens of input. */
  over: { input: 200_000, cached: 20_000, written: 250_000, output: 750_000 },
};

/** What the double's usage comes to, by a formula that shares nothing with the gateway's. */
function priceOf(usage: Json, rates: Rates): bigint {
  const cached = usage.prompt_tokens_details?.cached_tokens ?? 0;
  const written = usage.prompt_tokens_details?.cache_write_tokens ?? 0;
  const plain = usage.prompt_tokens - cached - written;
  return BigInt(
    plain * rates.input +
      cached * rates.cached +
      written * rates.written +
      usage.completion_tokens * rates.output,
  );
}

const usage = (input: number, output: number, more: object = {}): Json => ({
  prompt_tokens: input,
  completion_tokens: output,
  total_tokens: input + output,
  ...more,
});

const USAGES: readonly {
  readonly name: string;
  readonly of: typeof LUNA;
  readonly rates?: Rates;
  readonly usage: Json;
}[] = [
  { name: "plain tokens", of: LUNA, usage: usage(11, 4) },
  { name: "one token of output", of: LUNA, usage: usage(1, 1) },
  {
    name: "cached input",
    of: LUNA,
    usage: usage(5_003, 17, { prompt_tokens_details: { cached_tokens: 4_096 } }),
  },
  {
    name: "cached and written input",
    of: LUNA,
    usage: usage(5_003, 17, { prompt_tokens_details: { cached_tokens: 4_096, cache_write_tokens: 512 } }),
  },
  {
    name: "reasoning",
    of: LUNA,
    usage: usage(11, 60, { completion_tokens_details: { reasoning_tokens: 41 } }),
  },
  { name: "input at the tier's edge", of: ASTRA, usage: usage(272_000, 9) },
  { name: "input over the tier", of: ASTRA, rates: ASTRA.over, usage: usage(272_001, 9) },
  {
    name: "input over the tier by what is cached",
    of: ASTRA,
    rates: ASTRA.over,
    usage: usage(300_000, 9, {
      prompt_tokens_details: { cached_tokens: 299_000 },
      completion_tokens_details: { reasoning_tokens: 5 },
    }),
  },
];

describeOnEngineOfSuite("the bill", (engine) => {
  let bank: Bank;
  beforeAll(async () => {
    bank = await openBank(engine, { credits: 10_000_000 });
  });
  afterAll(() => bank.close());
  beforeEach(() => bank.double.reset());

  const rowOf = async (id: string | null) => {
    await bank.gateway.settled();
    return bank.books
      .selectFrom("requests")
      .selectAll()
      .where("id", "=", id ?? "")
      .executeTakeFirstOrThrow();
  };

  for (const { name, of, rates = of.rates, usage: told } of USAGES) {
    test(`${name}: the same plain and streamed, price × the double's usage, one number everywhere`, async () => {
      const want = creditsText(priceOf(told, rates));
      // Large enough to be held for: the input that the double counts is more than was sent.
      const body = { model: of.model, messages: [{ role: "user", content: PROMPT }], max_tokens: 64 };
      for (const stream of [false, true]) {
        bank.double.handle(() =>
          stream
            ? chatStreamAnswer({ words: WORDS, usage: told })
            : chatAnswer({ words: WORDS, usage: told }),
        );
        const response = await bank.gateway.chat({ ...body, stream });
        expect(creditDigits(await response.text())).toBe(want);
        const id = response.headers.get("x-request-id");
        expect(creditsText((await rowOf(id)).charge)).toBe(want);
        expect(await ledgerDigits(bank, id)).toBe(want);
        const seen = bank.double.requests.at(-1);
        expect(seen && delivered(seen).usage).toEqual(told);
      }
    });

    test(`${name}: the official SDK reads the same number, plain and streamed`, async () => {
      const client = new OpenAI({
        baseURL: `${bank.gateway.url}/api/v1`,
        apiKey: bank.gateway.key,
        maxRetries: 0,
      });
      const body = {
        model: of.model,
        messages: [{ role: "user" as const, content: PROMPT }],
        max_tokens: 64,
      };
      const want = Number(creditsText(priceOf(told, rates)));
      bank.double.handle(() => chatAnswer({ words: WORDS, usage: told }));
      const plain = await client.chat.completions.create(body);
      expect(plain).toHaveProperty("credit", want);
      expect(String(want)).toBe((await ledgerDigits(bank, plain._request_id ?? null)) ?? "");
      bank.double.handle(() => chatStreamAnswer({ words: WORDS, usage: told }));
      const { data: stream, request_id: id } = await client.chat.completions
        .create({ ...body, stream: true })
        .withResponse();
      let credit: unknown;
      for await (const chunk of stream) if ("credit" in chunk) credit = chunk.credit;
      expect(credit).toBe(want);
      expect(creditsText((await rowOf(id)).charge)).toBe(String(want));
    });
  }

  describe("of a stream that is cut", () => {
    const told = usage(PROMPT_TOKENS, WORDS.length);
    const events = chatStreamEvents({ words: WORDS, usage: told });
    const body = JSON.stringify({
      model: LUNA.model,
      messages: [{ role: "user", content: PROMPT }],
      max_tokens: 64,
      stream: true,
    });
    const post = async (): Promise<RawClient> => {
      const client = await openRawClient(bank.gateway.url);
      const headers = [`Authorization: Bearer ${bank.gateway.key}`];
      client.send(postBytes("/api/v1/chat/completions", body, headers));
      return client;
    };
    const textOf = (event: SseData | undefined): string =>
      typeof event === "object" ? ((event as Json).choices?.[0]?.delta?.content ?? "") : "";
    const isFinished = (some: readonly SseData[]): boolean =>
      some.some((event) => (event as Json).choices?.[0]?.finish_reason === "stop");
    const idOf = (client: RawClient): string =>
      /x-request-id: (\S+)/i.exec(new TextDecoder().decode(client.received()))?.[1] ?? "";
    const lastRow = async () => {
      await bank.gateway.settled();
      const query = bank.books.selectFrom("requests").selectAll().orderBy("seq", "desc").limit(1);
      return query.executeTakeFirstOrThrow();
    };

    /** Plays `all` up to its n-th event, waits until the client has it, and lets the stream go on to its cut. */
    const play = async (
      all: readonly SseData[],
      nth: number,
      cutBy: "upstream" | "client",
    ): Promise<RawClient> => {
      const bytes = sse(all);
      const at = eventEnds(bytes)[nth - 1] ?? 0;
      const gate = createGate();
      const gated = gateAt(sseAnswer(bytes), at, gate);
      bank.double.reset();
      bank.double.handle(() => (cutBy === "upstream" ? finAt(gated, at) : gated));
      const client = await post();
      await gate.reached;
      const text = all.slice(0, nth).findLast((event) => textOf(event) !== "");
      // The last words that were sent have come out on the other side, so that none of them is lost in the cut.
      if (text !== undefined) await client.waitFor(JSON.stringify(textOf(text)));
      if (isFinished(all.slice(0, nth))) await client.waitFor('"finish_reason":"stop"');
      if (cutBy === "client") client.reset();
      else {
        gate.release();
        await client.waitFor(text === undefined ? '"error"' : "[DONE]");
      }
      if (cutBy === "client") await bank.double.waitForClientGone(await bank.double.waitForRequest(1));
      return client;
    };

    /** Price × the double's own count of what it sent, give or take the stated error. */
    const expectAbout = (charge: bigint, words: number): void => {
      const off = (count: number): number => COUNT_ERROR.share * count + COUNT_ERROR.tokens;
      const right = told.prompt_tokens * LUNA.rates.input + words * LUNA.rates.output;
      const most =
        off(told.prompt_tokens) * LUNA.rates.input + (words === 0 ? 0 : off(words)) * LUNA.rates.output;
      expect(Math.abs(Number(charge) - right)).toBeLessThanOrEqual(most);
    };

    for (const cutBy of ["upstream", "client"] as const) {
      test(`by ${cutBy === "client" ? "its client" : "upstream"} at every event: price × what was delivered`, async () => {
        let before = 0n;
        for (let nth = 1; nth <= events.length; nth += 1) {
          const client = await play(events, nth, cutBy);
          const { charge, outcome, id } = await lastRow();
          const sent = events.slice(0, nth);
          const words = sent.filter((event) => textOf(event) !== "").length;
          const whole = sent.some((event) => chatUsage(event) !== undefined && chatUsage(event) !== null);
          if (cutBy === "upstream") {
            const text = new TextDecoder().decode(client.received());
            if (words > 0) expect(creditDigits(text)).toBe(creditsText(charge));
            if (words > 0) expect(idOf(client)).toBe(id);
            client.close();
            // Every choice has its finish reason from here on: the answer is whole.
            const finished = isFinished(sent);
            expect(outcome).toBe(finished ? "completed" : "upstream_error");
            if (words > 0 && !finished) expect(streamEvents(text).at(-2)).toHaveProperty("error");
          }
          if (words === 0 && cutBy === "upstream") expect(charge).toBe(0n);
          else if (whole && charge === priceOf(told, LUNA.rates)) expect(words).toBe(WORDS.length);
          else expectAbout(charge, words);
          // What goes on longer is never cheaper, but where the provider's own count takes over from ours.
          if (!whole) expect(charge >= before).toBe(true);
          before = charge;
        }
      }, 120_000);

      test(`by ${cutBy === "client" ? "its client" : "upstream"} right after it told its usage: exactly that`, async () => {
        for (const early of [1, 3, 5, WORDS.length]) {
          const soFar = usage(told.prompt_tokens, early * 3 + 1);
          // Beside the words that it counts.
          const all = events.with(early, { ...(events[early] as object), usage: soFar });
          await play(all, early + 1, cutBy);
          expect((await lastRow()).charge).toBe(priceOf(soFar, LUNA.rates));
          // What came after it was told is added by our count.
          const more = Math.min(12, WORDS.length - early);
          if (more === 0) continue;
          await play(all, early + 1 + more, cutBy);
          const beyond = Number((await lastRow()).charge - priceOf(soFar, LUNA.rates));
          const off = (COUNT_ERROR.share * more + COUNT_ERROR.tokens) * LUNA.rates.output;
          expect(Math.abs(beyond - more * LUNA.rates.output)).toBeLessThanOrEqual(off);
        }
      }, 120_000);
    }
  });
});
