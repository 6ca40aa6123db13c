import type { Json } from "../gateway/gateway.ts";
import { type Answer, jsonAnswer, sseAnswer } from "../upstream/answer.ts";
import { joinBytes, toBytes } from "../upstream/bytes.ts";
import {
  endlessBody,
  gzipped,
  hugeHeader,
  interimStorm,
  lengthAndChunked,
  withHeader,
} from "../upstream/faults.ts";
import { FAILED, NEUTRAL, NONE_AT_ALL, type Row } from "./fault-matrix-rows.ts";
import {
  cutBehindContent,
  goodAnswer,
  SPEECH,
  type Spoken,
  streamBytes,
  streamWith,
  textOf,
  type Tokens,
  untilContent,
  USAGE,
} from "./fault-matrix.ts";

/** What becomes of a stream whose content has begun. */
export interface StreamRow {
  readonly id: string;
  readonly name: string;
  readonly answer: (spoken: Spoken) => Answer;
  /** Why it broke; absent where it is whole. */
  readonly broken?: string;
  /** Of a whole answer, where it is not "Hello.". */
  readonly text?: string;
  /** The credits of a whole answer; absent where the gateway counts itself. */
  readonly credit?: number;
  readonly state: Row["state"];
  /** An event of its end that a relay of messages passes on twice. */
  readonly twice?: string;
  /** Formats in which there is no such thing. */
  readonly not?: readonly Spoken[];
}

const more = (spoken: Spoken, events: readonly Json[]): Answer =>
  streamWith(spoken, untilContent(spoken), events);
const used = (spoken: Spoken, tokens: Tokens): Answer =>
  sseAnswer(streamBytes(spoken, SPEECH[spoken].used(tokens).events));
const rewritten = (spoken: Spoken, change: (text: string) => string): Answer =>
  sseAnswer(change(textOf(streamBytes(spoken))));
const begun = (spoken: Spoken): string =>
  textOf(streamBytes(spoken, SPEECH[spoken].events.slice(0, untilContent(spoken))));
const FULL = 0.2;
const MIB = 1024 * 1024;

/** The event of the first part of the text. */
const firstText = (spoken: Spoken): Json => SPEECH[spoken].events[untilContent(spoken) - 1];

/** The same stream with a usage before its last one, which counts: within content, twice, and growing. */
function growing(spoken: Spoken): readonly Json[] {
  const { events } = SPEECH[spoken];
  switch (spoken) {
    case "chat_completions":
      return events.flatMap((event, i) => {
        if (event.choices === undefined) return [event];
        const early = { ...event, usage: USAGE.chat_completions(10, i) };
        return event.choices.length > 0 ? [early] : [early, event];
      });
    case "messages":
      return events.flatMap((event) =>
        event.type === "message_delta"
          ? [{ type: event.type, delta: {}, usage: { output_tokens: 2 } }, event]
          : [event],
      );
    case "generate_content":
      return events.map((event, i) =>
        i === events.length - 1 ? event : { ...event, usageMetadata: USAGE.generate_content(10, i + 1) },
      );
    default:
      return events.map((event) =>
        event.type === "response.created"
          ? { ...event, response: { ...event.response, usage: { input_tokens: 10, output_tokens: 1 } } }
          : event,
      );
  }
}

export const DURING: readonly StreamRow[] = [
  {
    id: "U15",
    name: "an event that is a text",
    answer: (s) => more(s, ['"x"' as Json]),
    broken: "upstream_error",
    state: NONE_AT_ALL,
  },
  {
    id: "U31",
    name: "closed behind content",
    answer: cutBehindContent,
    broken: "upstream_error",
    state: NONE_AT_ALL,
  },
  {
    id: "U41",
    name: "a line of 2 MB",
    answer: (s) => more(s, [{ ...firstText(s), pad: "x".repeat(2 * MIB) }]),
    broken: "upstream_error",
    state: NONE_AT_ALL,
    not: ["messages", "generate_content", "responses"],
  },
  {
    id: "U41",
    name: "a line without an end",
    answer: (s) => endlessBody(sseAnswer(`${begun(s)}data: `)),
    broken: "upstream_error",
    state: NONE_AT_ALL,
  },
  {
    id: "U41",
    name: "an event of 9 MB in 18 lines",
    answer: (s) => sseAnswer(`${begun(s)}${`data: ${" ".repeat(MIB / 2)}\n`.repeat(18)}data: {}\n\n`),
    broken: "upstream_error",
    state: NONE_AT_ALL,
    not: ["messages", "generate_content", "responses"],
  },
  {
    id: "U43",
    name: "an event that is no JSON",
    answer: (s) => more(s, ["{no" as Json]),
    broken: "upstream_error",
    state: NONE_AT_ALL,
  },
  {
    id: "U44",
    name: "an error behind content",
    answer: (s) => more(s, [SPEECH[s].error("server_error")]),
    broken: "upstream_error",
    state: FAILED,
  },
  {
    id: "U44",
    name: "an overload behind content",
    answer: (s) => more(s, [SPEECH[s].error("overloaded_error")]),
    broken: "overloaded_error",
    state: FAILED,
  },
  {
    id: "U32",
    name: "closed without its goodbye",
    answer: (s) => ({ ...rewritten(s, (text) => text.replace("data: [DONE]\n\n", "")), framing: "close" }),
    credit: FULL,
    state: NEUTRAL,
  },
  { id: "U33", name: "no usage", answer: (s) => used(s, null), state: NEUTRAL },
  {
    id: "U34",
    name: "usage before its end, and twice",
    answer: (s) => sseAnswer(streamBytes(s, growing(s))),
    credit: FULL,
    twice: "message_delta",
    state: NEUTRAL,
  },
  {
    id: "U36",
    name: "more behind its end",
    answer: (s) => sseAnswer(streamBytes(s, [...SPEECH[s].events, ...SPEECH[s].used([10, 90]).events])),
    credit: FULL,
    state: NEUTRAL,
    not: ["generate_content"],
  },
  {
    id: "U37",
    name: "an event twice",
    answer: (s) => more(s, [firstText(s), ...SPEECH[s].events.slice(untilContent(s))]),
    text: "HelHello.",
    credit: FULL,
    state: NEUTRAL,
  },
  {
    id: "U42",
    name: "CRLF, and UTF-8 cut at each byte",
    answer: (s) => ({ ...rewritten(s, (text) => text.replaceAll("\n", "\r\n")), cut: { every: 1 } }),
    credit: FULL,
    state: NEUTRAL,
  },
  {
    id: "U42",
    name: "CR and LF in turns, and a BOM",
    answer: (s) =>
      rewritten(s, (text) => `\uFEFF${text.replaceAll("\n\n", "\r\n\r").replaceAll("\ndata", "\rdata")}`),
    credit: FULL,
    state: NEUTRAL,
  },
  {
    id: "U42",
    name: "no space behind the colon",
    answer: (s) => rewritten(s, (text) => text.replaceAll("data: ", "data:")),
    credit: FULL,
    state: NEUTRAL,
  },
  {
    id: "U42",
    name: "events of two lines",
    answer: (s) => rewritten(s, (text) => text.replaceAll(/^data: \{/gm, "data: {\ndata: ")),
    credit: FULL,
    state: NEUTRAL,
  },
  {
    id: "U42",
    name: "a byte that is no UTF-8",
    answer: (s) => {
      const [before, after] = textOf(streamBytes(s)).split('Hel"');
      return sseAnswer(joinBytes([toBytes(`${before}Hel`), Uint8Array.of(0xff), toBytes(`"${after}`)]));
    },
    text: "Hel\uFFFDlo.",
    credit: FULL,
    state: NEUTRAL,
  },
  {
    id: "U42",
    name: "a NUL",
    answer: (s) => rewritten(s, (text) => text.replace('Hel"', 'Hel\\u0000"')),
    text: "Hel\u0000lo.",
    credit: FULL,
    state: NEUTRAL,
  },
  ...(
    [
      ["below nothing", [-5, -5]],
      ["beyond all bounds", [10, 1e15]],
      ["of fractions", [10.5, 5.5]],
      ["of texts", ["10", "5"]],
      ["of nulls", [null, null]],
    ] as const
  ).map(([what, tokens]): StreamRow => ({
    id: "U35",
    name: `a usage ${what}`,
    answer: (s) => used(s, tokens),
    state: NEUTRAL,
  })),
];

/** What is an answer all the same. */
export interface TakenRow extends Pick<Row, "id" | "name" | "answer" | "only"> {
  /** The gateway counts itself. */
  readonly isCounted?: true;
}

const known = (event: Json): Json =>
  typeof event === "object" ? { ...event, novel: { deep: [1, "two"] } } : event;

export const TAKEN: readonly TakenRow[] = [
  { id: "U10", name: "1,000 times 103", answer: (s, t) => interimStorm(goodAnswer(s, t)) },
  { id: "U10", name: "1,000 times 100", answer: (s, t) => interimStorm(goodAnswer(s, t), 1_000, 100) },
  {
    id: "U16",
    name: "fields that nobody knows",
    answer: (s, t) =>
      t ? sseAnswer(streamBytes(s, SPEECH[s].events.map(known))) : jsonAnswer(200, known(SPEECH[s].plain)),
  },
  { id: "U45", name: "a header of 1 MB", answer: (s, t) => hugeHeader(goodAnswer(s, t)) },
  {
    id: "U45",
    name: "a cookie",
    answer: (s, t) => withHeader(goodAnswer(s, t), "set-cookie", "a=0123456789"),
  },
  { id: "U47", name: "a gzip", answer: (s, t) => gzipped(goodAnswer(s, t)) },
  {
    id: "U47",
    name: "1,000 encodings of a body that has none",
    answer: (s, t) => withHeader(goodAnswer(s, t), "content-encoding", Array(1_000).fill("gzip").join(", ")),
  },
  { id: "U48", name: "a length and chunks", answer: (s, t) => lengthAndChunked(goodAnswer(s, t)) },
  {
    id: "U48",
    name: "trailers",
    answer: (s, t) => ({
      ...goodAnswer(s, t),
      framing: "chunked",
      trailers: [["x-huge", "0123456789"]],
    }),
  },
  ...(
    [
      ["U35", "a usage below nothing", [-5, -5]],
      ["U35", "a usage beyond all bounds", [1e15, 1e15]],
      ["U35", "a usage of texts", ["10", "5"]],
      ["U33", "no usage", null],
    ] as const
  ).map(([id, name, tokens]): TakenRow => ({
    id,
    name,
    answer: (s) => jsonAnswer(200, SPEECH[s].used(tokens).plain),
    only: "plain",
    isCounted: true,
  })),
];
