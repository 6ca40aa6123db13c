import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { creditsText } from "../../src/core/money/credits.ts";
import { describeOnEngineOfSuite } from "../gateway/engines.ts";
import { type Json } from "../gateway/gateway.ts";
import { type Answer, sseAnswer } from "../upstream/answer.ts";
import { eventEnds } from "../upstream/cuts.ts";
import { finAt, gateAt } from "../upstream/faults.ts";
import { createGate } from "../upstream/gate.ts";
import { geminiChunks, geminiPlain } from "../upstream/gemini-bytes.ts";
import { messageAnswer, messageEvents, namedEvents } from "../upstream/messages-bytes.ts";
import { openRawClient, postBytes, type RawClient } from "../upstream/raw-client.ts";
import { sse, type SseData } from "../upstream/sse-bytes.ts";
import { creditDigits, ledgerDigits, PROMPT, PROMPT_TOKENS, WORDS } from "./billed.ts";
import { type Bank, openBank } from "./money.ts";

// The bill of messages and generateContent, as `bill.engines.test.ts` has it for chat completions. It is one number
// everywhere, the same streamed and not. For an answer that is cut it is price × what was delivered, within a stated
// error.

/** How far our count of text may be from the provider's, as a share of it, and in tokens for what is short. */
const COUNT_ERROR = { share: 0.35, tokens: 4 };

interface BilledFormat {
  readonly name: string;
  path(stream: boolean): string;
  body(stream: boolean): object;
  /** What a request must have beside it for some of the usages. */
  readonly more: object;
  plain(usage: Json): Answer;
  events(usage: Json): readonly SseData[];
  bytes(events: readonly SseData[]): Uint8Array;
  textOf(event: Json): string;
  /** Whether the event ends the answer: it says why it stopped, and what it used. */
  isEnd(event: Json): boolean;
  /** Usage of the prompt and so many words. */
  usage(words: number): Json;
  /** Micro-credits, by a formula that shares nothing with the gateway's. */
  priceOf(usage: Json): bigint;
  readonly rates: { readonly input: number; readonly output: number };
  readonly usages: Readonly<Record<string, Json>>;
}

/** Claude Haiku 4.5: 1, 0.1, 1.25, 2 and 5 USD per million, and 10 USD for a thousand searches. */
const messages: BilledFormat = {
  name: "messages",
  path: () => "/api/v1/messages",
  body: (stream) => ({
    model: "anthropic/claude-haiku-4.5",
    messages: [{ role: "user", content: PROMPT }],
    max_tokens: 64,
    stream,
  }),
  more: { tools: [{ type: "web_search_20250305", name: "web_search", max_uses: 2 }] },
  plain: (usage) => messageAnswer({ blocks: [{ type: "text", text: WORDS.join("") }], usage }),
  events(usage) {
    const all = messageEvents({ blocks: [{ type: "text", text: "x" }], usage });
    const words = WORDS.map((text) => ({
      type: "content_block_delta",
      index: 0,
      delta: { type: "text_delta", text },
    }));
    return [...all.slice(0, 2), ...words, ...all.slice(-3)];
  },
  bytes: (events) => namedEvents(events),
  textOf: ({ delta }) => delta?.text ?? "",
  isEnd: ({ type }) => type === "message_delta",
  usage: (words) => ({ input_tokens: PROMPT_TOKENS, output_tokens: words }),
  priceOf(usage) {
    const long = usage.cache_creation?.ephemeral_1h_input_tokens ?? 0;
    return BigInt(
      usage.input_tokens * 10_000 +
        (usage.cache_read_input_tokens ?? 0) * 1_000 +
        ((usage.cache_creation_input_tokens ?? 0) - long) * 12_500 +
        long * 20_000 +
        usage.output_tokens * 50_000 +
        (usage.server_tool_use?.web_search_requests ?? 0) * 100_000_000,
    );
  },
  rates: { input: 10_000, output: 50_000 },
  usages: {
    "plain tokens": { input_tokens: 11, output_tokens: 4 },
    "cached and written input": {
      input_tokens: 3,
      cache_read_input_tokens: 4_096,
      cache_creation_input_tokens: 512,
      output_tokens: 17,
    },
    "input written for an hour and for five minutes": {
      input_tokens: 3,
      cache_creation_input_tokens: 512,
      cache_creation: { ephemeral_5m_input_tokens: 112, ephemeral_1h_input_tokens: 400 },
      output_tokens: 17,
    },
    thinking: { input_tokens: 9, output_tokens: 60, output_tokens_details: { thinking_tokens: 41 } },
    searches: { input_tokens: 30_011, output_tokens: 9, server_tool_use: { web_search_requests: 2 } },
  },
};

/** Gemini 3 Pro Image: 2 and 12 USD per million, 120 for images; it has no price of its own for cached input. */
const generateContent: BilledFormat = {
  name: "generateContent",
  path: (stream) =>
    `/api/v1/models/google/gemini-3-pro-image:${stream ? "streamGenerateContent?alt=sse" : "generateContent"}`,
  body: () => ({
    contents: [{ role: "user", parts: [{ text: PROMPT }] }],
    generationConfig: { maxOutputTokens: 2_000 },
  }),
  more: {},
  plain: (usage) => geminiPlain({ parts: WORDS, usage }),
  events(usage) {
    const chunks = geminiChunks({ parts: [...WORDS, ""], usage: null });
    return [...chunks.slice(0, -1), { ...chunks.at(-1), usageMetadata: usage }];
  },
  bytes: (events) => sse(events),
  textOf: ({ candidates }) => candidates?.[0]?.content.parts[0].text ?? "",
  isEnd: ({ usageMetadata }) => usageMetadata !== undefined,
  usage: (words) => ({
    promptTokenCount: PROMPT_TOKENS,
    candidatesTokenCount: words,
    totalTokenCount: PROMPT_TOKENS + words,
  }),
  priceOf(usage) {
    const images = usage.candidatesTokensDetails?.[0].tokenCount ?? 0;
    const input = usage.promptTokenCount + (usage.toolUsePromptTokenCount ?? 0);
    const output = usage.candidatesTokenCount - images + (usage.thoughtsTokenCount ?? 0);
    return BigInt(input * 20_000 + output * 120_000 + images * 1_200_000);
  },
  rates: { input: 20_000, output: 120_000 },
  usages: {
    "plain tokens": { promptTokenCount: 11, candidatesTokenCount: 4, totalTokenCount: 15 },
    "cached input": {
      promptTokenCount: 5_000,
      cachedContentTokenCount: 4_096,
      candidatesTokenCount: 4,
      totalTokenCount: 5_004,
    },
    "thinking, and what tools read": {
      promptTokenCount: 11,
      toolUsePromptTokenCount: 70,
      candidatesTokenCount: 4,
      thoughtsTokenCount: 41,
      totalTokenCount: 126,
    },
    images: {
      promptTokenCount: 11,
      candidatesTokenCount: 1_130,
      candidatesTokensDetails: [{ modality: "IMAGE", tokenCount: 1_120 }],
      totalTokenCount: 1_141,
    },
  },
};

describeOnEngineOfSuite("the bill of other formats", (engine) => {
  let bank: Bank;
  beforeAll(async () => {
    bank = await openBank(engine, { credits: 10_000_000 });
  });
  afterAll(() => bank.close());
  beforeEach(() => bank.double.reset());

  const lastRow = async () => {
    await bank.gateway.settled();
    const query = bank.books.selectFrom("requests").selectAll().orderBy("seq", "desc").limit(1);
    return query.executeTakeFirstOrThrow();
  };

  for (const format of [messages, generateContent]) {
    for (const [name, told] of Object.entries(format.usages)) {
      test(`${format.name}, ${name}: the same plain and streamed, price × the double's usage, one number everywhere`, async () => {
        const want = creditsText(format.priceOf(told));
        for (const stream of [false, true]) {
          bank.double.handle(() =>
            stream ? sseAnswer(format.bytes(format.events(told))) : format.plain(told),
          );
          const response = await bank.gateway.post(format.path(stream), {
            ...format.body(stream),
            ...format.more,
          });
          expect(creditDigits(await response.text())).toBe(want);
          const { id, charge, outcome } = await lastRow();
          expect([id, creditsText(charge), outcome]).toEqual([
            response.headers.get("x-request-id") ?? "",
            want,
            "completed",
          ]);
          expect(await ledgerDigits(bank, id)).toBe(want);
        }
      });
    }

    test(`${format.name}: output that its usage does not name costs the same plain and streamed, and not nothing`, async () => {
      const told = format.usage(0);
      const charges: bigint[] = [];
      for (const stream of [false, true]) {
        bank.double.handle(() =>
          stream ? sseAnswer(format.bytes(format.events(told))) : format.plain(told),
        );
        const response = await bank.gateway.post(format.path(stream), format.body(stream));
        const { charge } = await lastRow();
        expect(creditDigits(await response.text())).toBe(creditsText(charge));
        charges.push(charge);
      }
      expect(charges[0]).toBe(charges[1] ?? 0n);
      expect(charges[0]).toBeGreaterThan(format.priceOf(told));
    });

    describe(`of a stream of ${format.name} that is cut`, () => {
      const told = format.usage(WORDS.length);
      const events = format.events(told);
      const textOf = (event: SseData | undefined): string => format.textOf((event ?? {}) as Json);

      /** Plays the answer up to its n-th event, waits until the client has it, and lets the stream go on to its cut. */
      const play = async (nth: number, cutBy: "upstream" | "client"): Promise<RawClient> => {
        const bytes = format.bytes(events);
        const at = eventEnds(bytes)[nth - 1] ?? 0;
        const gate = createGate();
        const gated = gateAt(sseAnswer(bytes), at, gate);
        bank.double.reset();
        bank.double.handle(() => (cutBy === "upstream" ? finAt(gated, at) : gated));
        const client = await openRawClient(bank.gateway.url);
        const headers = [`Authorization: Bearer ${bank.gateway.key}`];
        client.send(postBytes(format.path(true), JSON.stringify(format.body(true)), headers));
        await gate.reached;
        const sent = events.slice(0, nth);
        const text = sent.findLast((event) => textOf(event) !== "");
        if (text !== undefined) await client.waitFor(JSON.stringify(textOf(text)));
        if (cutBy === "client") {
          client.reset();
          await bank.double.waitForClientGone(await bank.double.waitForRequest(1));
          return client;
        }
        gate.release();
        const whole = sent.some((event) => format.isEnd(event as Json));
        await client.waitFor(whole ? '"credit"' : '"error"');
        return client;
      };

      for (const cutBy of ["upstream", "client"] as const) {
        test(`by ${cutBy === "client" ? "its client" : "upstream"} at every event: price × what was delivered`, async () => {
          let before = 0n;
          for (let nth = 1; nth <= events.length; nth += 1) {
            const client = await play(nth, cutBy);
            const { charge, outcome } = await lastRow();
            const sent = events.slice(0, nth);
            const words = sent.filter((event) => textOf(event) !== "").length;
            const whole = sent.some((event) => format.isEnd(event as Json));
            if (cutBy === "upstream") {
              const text = new TextDecoder().decode(client.received());
              client.close();
              // The gateway holds the end back, so the test cannot wait for it. Where the connection breaks in the same
              // moment the end may be lost with it, and then the answer was cut before it.
              const isRead = whole && outcome === "completed";
              expect([nth, outcome]).toEqual([nth, isRead ? "completed" : "upstream_error"]);
              if (words > 0) expect(creditDigits(text)).toBe(creditsText(charge));
              if (isRead) expect(charge).toBe(format.priceOf(told));
              if (words === 0) expect(charge).toBe(0n);
            }
            if (cutBy === "client" || words > 0) {
              const { input, output } = format.rates;
              const off = (count: number): number => COUNT_ERROR.share * count + COUNT_ERROR.tokens;
              const right = PROMPT_TOKENS * input + words * output;
              const most = off(PROMPT_TOKENS) * input + off(words) * output;
              expect([nth, Math.abs(Number(charge) - right) <= most]).toEqual([nth, true]);
            }
            // An answer that goes on longer is never cheaper, but where the provider's own count takes over from ours.
            // That is at the start, which a client that leaves may be ahead of, and at the end.
            if (words > 1 && !whole) expect(charge >= before).toBe(true);
            before = charge;
          }
        }, 120_000);
      }
    });
  }
});
