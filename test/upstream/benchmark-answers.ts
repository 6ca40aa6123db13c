import { type Answer, sseAnswer } from "./answer.ts";
import { chatAnswer, chatStreamAnswer } from "./chat-bytes.ts";
import { geminiPlain, geminiStream } from "./gemini-bytes.ts";
import { messageAnswer, messageEvents, namedEvents } from "./messages-bytes.ts";

/** The formats that the benchmark asks in. */
export const BENCHMARK_FORMATS = ["chat", "messages", "generate"] as const;
export type BenchmarkFormat = (typeof BENCHMARK_FORMATS)[number];

/** The answers of one format. */
interface BenchmarkAnswers {
  plain(text: string): Answer;
  /** One event of content for each word, and those that the format puts around them. */
  stream(words: readonly string[]): Answer;
}

/** What the vendor of each format would send. */
export const BENCHMARK_ANSWERS: Readonly<Record<BenchmarkFormat, BenchmarkAnswers>> = {
  chat: {
    plain: (text) => chatAnswer({ words: [text] }),
    stream: (words) => chatStreamAnswer({ words }),
  },
  messages: {
    plain: (text) => messageAnswer({ blocks: [{ type: "text", text }] }),
    stream: (words) => sseAnswer(messageStreamOf(words)),
  },
  generate: {
    plain: (text) => geminiPlain({ parts: [text] }),
    stream: (words) => geminiStream({ parts: words }),
  },
};

/** A block of text whose deltas are the words as they are. */
function messageStreamOf(words: readonly string[]): Uint8Array {
  const [start, begin, ...rest] = messageEvents({ blocks: [{ type: "text", text: "" }] });
  const deltas = words.map((text) => ({
    type: "content_block_delta",
    index: 0,
    delta: { type: "text_delta", text },
  }));
  return namedEvents([start ?? "", begin ?? "", ...deltas, ...rest]);
}
