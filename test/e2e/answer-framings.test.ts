import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from "node:zlib";
import { type Json, startGateway, type TestGateway, UPSTREAM_KEY } from "../gateway/gateway.ts";
import { type Charged, chargedFor } from "../gateway/spent.ts";
import type { Answer } from "../upstream/answer.ts";
import { sseAnswer } from "../upstream/answer.ts";
import { toBytes, toText } from "../upstream/bytes.ts";
import { chatAnswer, chatStream } from "../upstream/chat-bytes.ts";
import { startUpstreamDouble, type UpstreamDouble } from "../upstream/double.ts";
import { withHeader } from "../upstream/faults.ts";
import { geminiChunks, geminiPlain } from "../upstream/gemini-bytes.ts";
import { messageAnswer, messageStream } from "../upstream/messages-bytes.ts";
import { sse } from "../upstream/sse-bytes.ts";

// However a provider frames or compresses its answer, the client gets the same bytes for the same charge. What is no
// JSON is no answer. In each of the three formats, over real sockets.

let double: UpstreamDouble;
let gateway: TestGateway;

beforeAll(async () => {
  double = await startUpstreamDouble({ sleep: async () => undefined });
  const provider = (protocol: string, path: string, model: string): Json => ({
    protocol,
    base_url: `${double.url}${path}`,
    api_key: UPSTREAM_KEY,
    dialect: "native",
    models: [{ id: model, upstream_id: "m", max_output: 8_000, prices: { input: 1, output: 5 } }],
  });
  const providers = {
    chat: provider("chat_completions", "/v1", "a/chat"),
    messages: provider("messages", "", "a/messages"),
    gemini: provider("generate_content", "", "a/gemini"),
  };
  gateway = await startGateway({ settings: JSON.stringify({ providers }), credits: 100_000 });
});
afterAll(async () => {
  await gateway.close();
  await double.close();
});
beforeEach(() => double.reset());

const TEXT = "Grüße, 日本 — 🎈".repeat(200);
const messages = [{ role: "user", content: "Say hello." }];

const FORMATS: readonly {
  readonly name: string;
  readonly plain: Answer;
  /** A stream one event of which says HERE. */
  readonly stream: Uint8Array;
  readonly ask: (stream: boolean) => Promise<Response>;
}[] = [
  {
    name: "chat completions",
    plain: chatAnswer({
      words: [TEXT],
      usage: { prompt_tokens: 11, completion_tokens: 4, total_tokens: 15 },
    }),
    stream: chatStream({ words: ["BEFORE", "HERE"] }),
    ask: (stream) => gateway.chat({ model: "a/chat", max_tokens: 4_000, messages, stream }),
  },
  {
    name: "messages",
    plain: messageAnswer({ blocks: [{ type: "text", text: TEXT }] }),
    stream: messageStream({ blocks: [{ type: "text", text: "1234HERE" }] }),
    ask: (stream) =>
      gateway.post("/api/v1/messages", { model: "a/messages", max_tokens: 4_000, messages, stream }),
  },
  {
    name: "generateContent",
    plain: geminiPlain({ parts: [TEXT] }),
    stream: sse(geminiChunks({ parts: ["BEFORE", "HERE"] })),
    ask: (stream) =>
      gateway.post(
        `/api/v1/models/a/gemini:${stream ? "streamGenerateContent?alt=sse" : "generateContent"}`,
        {
          contents: [{ role: "user", parts: [{ text: "Say hello." }] }],
          generationConfig: { maxOutputTokens: 4_000 },
        },
      ),
  },
];

const compressed =
  (encoding: string, compress: (bytes: Uint8Array) => Uint8Array) =>
  (answer: Answer): Answer => ({
    ...withHeader(answer, "content-encoding", encoding),
    body: compress(toBytes(answer.body ?? "")),
  });
const gzip = compressed("gzip", gzipSync);

const FRAMINGS: Readonly<Record<string, (answer: Answer) => Answer>> = {
  "in chunks": (answer) => ({ ...answer, framing: "chunked", cut: { every: 7 } }),
  "closed at its end": (answer) => ({ ...answer, framing: "close" }),
  "compressed by gzip": gzip,
  "compressed by deflate": compressed("deflate", deflateSync),
  "compressed by Brotli": compressed("br", brotliCompressSync),
  "compressed by Zstandard": compressed("zstd", zstdCompressSync),
  "compressed in chunks": (answer) => ({ ...gzip(answer), framing: "chunked", cut: { every: 5 } }),
  "compressed and closed at its end": (answer) => ({ ...gzip(answer), framing: "close", cut: { every: 9 } }),
};

for (const { name, plain, stream, ask } of FORMATS) {
  describe(name, () => {
    test("a plain answer is the same, and costs the same, however it is framed or compressed", async () => {
      double.handle(() => plain);
      const whole = await chargedFor(gateway, () => ask(false));
      expect(whole.status).toBe(200);
      expect(whole.text).toContain(TEXT);
      expect(whole.credits).toBeGreaterThan(0);
      for (const [how, framed] of Object.entries(FRAMINGS)) {
        double.handle(() => framed(plain));
        expect<[string, Charged]>([how, await chargedFor(gateway, () => ask(false))]).toEqual([how, whole]);
      }
    });

    test("an event of a stream whose escape is none is passed on to nobody, and the stream is not complete", async () => {
      const good = toText(stream);
      for (const escape of ["\\uG123", "\\u12g4", "\\x41"]) {
        double.handle(() => sseAnswer(good.replace("HERE", escape)));
        const { text } = await chargedFor(gateway, () => ask(true));
        expect(text).not.toContain(escape);
        // A status of its own where nothing had come yet, else an event.
        expect(text).toContain('"error"');
        expect(text).not.toMatch(/message_stop|"stop"|"STOP"/);
      }
    });
  });
}
