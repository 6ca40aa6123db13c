import { GatewayError } from "../../src/core/errors.ts";
import type { ProtocolId } from "../../src/core/model.ts";
import { servedBy } from "../../src/protocols/index.ts";
import type { AnswerContext } from "../../src/protocols/protocol.ts";
import { eventEnds, seededRandom } from "../upstream/cuts.ts";
import { toBytes } from "../upstream/bytes.ts";
import { ANSWER_CONTEXT } from "./answer-context.ts";

// Streams whose events repeat one another in nearly all, as those of vendors do, and what a stage makes of them.

/** The format that a client speaks, and its provider's. */
export type Way = readonly [client: ProtocolId, provider: ProtocolId];

const CHAT = "compat_chat_completions";
const MESSAGES = "compat_messages";
const GENERATE = "compat_generate_content";

/** Every relay and every translation. */
export const WAYS: readonly Way[] = [
  [CHAT, CHAT],
  [MESSAGES, MESSAGES],
  [GENERATE, GENERATE],
  [CHAT, MESSAGES],
  [CHAT, GENERATE],
];

/** How a stream is read. */
export interface StageForm {
  readonly native: boolean;
  readonly padding: readonly string[];
  readonly choices: number;
}

/** All that the gateway learns and sends of a stream, as text in which every byte can be told from every other. */
export function playStage(
  [client, provider]: Way,
  form: StageForm,
  bytes: Uint8Array,
  cuts: readonly number[],
): string {
  const context: AnswerContext = { ...ANSWER_CONTEXT, model: "vendor/shown", expectedInput: 11, ...form };
  const stage = servedBy(client, provider)?.openStream(context);
  if (stage === undefined) throw new Error(`there is no way from ${client} to ${provider}`);
  let out = "";
  const take = (piece: Uint8Array | undefined): void => {
    if (piece !== undefined) out += Buffer.from(piece).toString("latin1");
  };
  let from = 0;
  for (const cut of [...cuts, bytes.length]) {
    const piece = bytes.slice(from, cut);
    from = cut;
    take(stage.push(piece));
    // The runtime may use its buffer again as soon as the call is over.
    piece.fill(0x7d);
  }
  take(stage.end(false));
  const metered = stage.metered();
  const isWhole = stage.isComplete && stage.failure === undefined;
  const error = stage.failure ?? new GatewayError("upstream_error", "It ended early.");
  take(isWhole ? stage.tail(metered, 1_234_567n) : stage.failureTail(error, metered, 1_234_567n));
  const { hasContent, chunks, isDone, repairs } = stage;
  return `${out}\n${JSON.stringify({ metered, isWhole, failure: stage.failure?.message, hasContent, chunks, isDone, repairs })}`;
}

/** Cuts that leave no event whole within one read, so that each of them is scanned. */
export function cutsWithin(bytes: Uint8Array): number[] {
  return eventEnds(bytes).map((end) => end - 1);
}

interface Dice {
  chance(of: number): boolean;
  below(most: number): number;
  one<Item>(items: readonly Item[]): Item;
}

function dice(seed: number): Dice {
  const random = seededRandom(seed);
  const below = (most: number): number => Math.floor(random() * most);
  return {
    below,
    chance: (of) => random() < of,
    one: (items) => items[below(items.length)] as (typeof items)[number],
  };
}

/** The insides of JSON strings, most of them plain, and some that are no JSON at all; `\xff` stands for that byte. */
const TEXTS =
  ` the| fox|x|"|\\n\\n|\\"so\\"|\\\\|\\u00e9|\\ud83e\\udd8a|\\/|über|🦊|\u2028|\uFEFF|\uFEFFa|\u007f||a\tb|\\x|\\u12|\xff|\xc3|ab\xe2\x82|{}|"}|data: |\\`.split(
    "|",
  );

function textOf({ chance, one }: Dice): string {
  return chance(0.8) ? one([" quick", " brown", "s", " jumps over it all", "Der"]) : one(TEXTS);
}

/** One stream from a seed: its bytes, and how it is read. */
export function repeatedStream(
  [, provider]: Way,
  seed: number,
): { readonly form: StageForm; readonly bytes: Uint8Array } {
  const roll = dice(seed);
  const form = {
    native: provider !== CHAT || roll.chance(0.7),
    padding: roll.chance(0.6) ? ["obfuscation", "p"] : [],
    choices: roll.chance(0.85) ? 1 : 2,
  };
  const events =
    provider === CHAT
      ? chatEvents(roll, form)
      : provider === MESSAGES
        ? messagesEvents(roll)
        : generateEvents(roll);
  const eol = roll.one(["\n", "\n", "\n", "\n", "\r\n", "\r"]);
  const text =
    events.map((event) => spelled(event, roll, provider)).join("\n\n") + (roll.chance(0.9) ? "\n\n" : "");
  // Bytes beyond ASCII that are meant as such stand for themselves; the rest is written in UTF-8.
  const bytes = joined(text.replaceAll("\n", eol));
  return { form, bytes: roll.chance(0.25) ? damaged(bytes, roll) : bytes };
}

/** An event as its vendor writes it: its lines, and now and then what is seldom seen. */
function spelled(data: string, roll: Dice, provider: ProtocolId): string {
  const type = /^\{"type":"([a-z_]+)"/.exec(data)?.[1];
  const lines = [`data:${roll.chance(0.97) ? " " : ""}${data}`];
  if (provider === MESSAGES && type !== undefined) lines.unshift(`event: ${type}`);
  if (roll.chance(0.02)) lines.unshift(roll.one([": keep-alive", "id: 7", ": c\n", "retry: 5"]));
  if (roll.chance(0.01)) lines.push(roll.one([": behind", "id: 8", "data: "]));
  return lines.join("\n");
}

function joined(text: string): Uint8Array {
  const parts = text
    .split(/([\xff\xc3]|\xe2\x82)/)
    .map((part, i) => (i % 2 === 1 ? Buffer.from(part, "latin1") : toBytes(part)));
  return new Uint8Array(Buffer.concat(parts));
}

/** With a byte or two changed, lost or told twice. */
function damaged(bytes: Uint8Array, { below, chance, one }: Dice): Uint8Array {
  const list = [...bytes];
  const at = below(list.length);
  if (chance(0.4)) list.splice(at, 1 + below(2));
  else if (chance(0.5)) list[at] = one([0x22, 0x5c, 0x30, 0x0a, 0x20, 0x7d, 0x80, 0x00, below(256)]);
  else list.splice(at, 0, ...list.slice(at, at + below(200)));
  return new Uint8Array(list);
}

function chatEvents(roll: Dice, { choices, native }: StageForm): string[] {
  const { below, chance, one } = roll;
  const isReversed = chance(0.5);
  const isSpaced = chance(0.2);
  const hasPadding = chance(0.5);
  const id = one(["chatcmpl-1", "", "é"]);
  let member = one(["content", "reasoning_content"]);
  let extra = one(["", ',"logprobs":null', ',"content_filter_results":{}', ',"finish_reason":null']);
  const chunk = (delta: string, finish = "null", more: readonly string[] = []): string => {
    const index = choices > 1 && chance(0.3) ? 1 : 0;
    const members = [
      `"id":"${chance(0.98) ? id : "other"}"`,
      `"object":"chat.completion.chunk"`,
      ...(chance(0.99) ? [`"model":"gpt-x"`] : []),
      `"choices":[{"index":${index},"delta":${delta}${extra},"finish_reason":${finish}}]`,
      ...more,
      ...(hasPadding ? [`"obfuscation":"${"abcdefgh\\n".slice(0, below(12))}"`] : []),
    ];
    const text = `{${(isReversed ? members.toReversed() : members).join(",")}}`;
    return isSpaced ? text.replaceAll('":', '": ') : text;
  };
  const events = [chunk('{"role":"assistant","content":""}')];
  let whole = "";
  for (let n = below(14); n > 0; n -= 1) {
    const said = textOf(roll);
    events.push(chunk(`{"${member}":"${said}"}`));
    if (member === "content") whole += said;
    if (!native && chance(0.03))
      events.push(
        chunk(
          `{"reasoning_details":[{"type":"reasoning.text","format":"MiniMax-response-v1","index":0,"text":"${whole}"}]}`,
        ),
      );
    if (chance(0.05)) member = one(["content", "reasoning", "refusal", "other", "content_parts"]);
    if (chance(0.05)) extra = one(["", ',"x":1', ',"usage":{"prompt_tokens":3,"completion_tokens":4}']);
    if (chance(0.03)) events.push(chunk(`{"content":"${said}","reasoning_content":"${textOf(roll)}"}`));
    if (chance(0.03))
      events.push(
        chunk(`{"tool_calls":[{"index":0,"id":"c","function":{"name":"f","arguments":"${textOf(roll)}"}}]}`),
      );
    if (chance(0.02))
      events.push(
        chunk(`{"content":"${said}"}`, "null", [
          `"usage":{"prompt_tokens":1,"completion_tokens":${below(9)}}`,
        ]),
      );
    if (chance(0.02)) events.push(chunk("{}", one(['"stop"', '"length"', '""'])));
    if (chance(0.01)) events.push('{"error":{"message":"no","type":"x"}}');
    if (chance(0.01)) events.push(one(["[DONE]", "nonsense", "5", "{}"]));
  }
  // A vendor that says the whole message once more at the end: what of it has come is left out.
  if (!native && chance(0.3))
    events.push(
      `{"id":"${id}","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"${whole}, all"}}]}`,
    );
  if (chance(0.9))
    for (let index = 0; index < choices; index += 1)
      events.push(
        `{"id":"${id}","model":"m","choices":[{"index":${index},"delta":{},"finish_reason":"stop"}]}`,
      );
  if (chance(0.7))
    events.push(`{"id":"${id}","model":"m","choices":[],"usage":{"prompt_tokens":5,"completion_tokens":9}}`);
  if (chance(0.9)) events.push("[DONE]");
  return events;
}

function messagesEvents(roll: Dice): string[] {
  const { below, chance, one } = roll;
  const isPadded = chance(0.5);
  const pad = (): string => (isPadded ? " ".repeat(below(12)) : "");
  const events = [
    `{"type":"message_start","message":{"id":"msg_1","model":"c","role":"assistant","content":[],"usage":{"input_tokens":5,"output_tokens":1}}}`,
  ];
  for (let index = 0, blocks = below(4); index <= blocks; index += 1) {
    const [block, delta, member] = one([
      ['{"type":"text","text":""}', "text_delta", "text"],
      ['{"type":"thinking","thinking":"","signature":""}', "thinking_delta", "thinking"],
      ['{"type":"tool_use","id":"t","name":"f","input":{}}', "input_json_delta", "partial_json"],
      [
        '{"type":"server_tool_use","id":"t","name":"web_search","input":{}}',
        "input_json_delta",
        "partial_json",
      ],
      ['{"type":"text","text":""}', "text_delta", "thinking"],
    ]);
    const order = chance(0.8);
    const at = chance(0.98) ? index : one(["null", "{}", `"a"`, 7]);
    if (chance(0.95))
      events.push(`{"type":"content_block_start","index":${at},"content_block":${block}${pad()}}`);
    for (let n = below(10); n > 0; n -= 1) {
      const pair = [`"type":"${delta}"`, `"${member}":"${textOf(roll)}"`];
      events.push(
        `{"type":"content_block_delta","index":${at},"delta":{${(order ? pair : pair.toReversed()).join(",")}}${pad()}}`,
      );
      if (chance(0.04)) events.push(`{"type":"ping"${chance(0.3) ? ',"credit":4' : ""}}`);
      if (chance(0.02))
        events.push(
          `{"type":"content_block_delta","index":${at},"delta":{"type":"citations_delta","citation":{"url":"u"}}}`,
        );
      if (chance(0.02))
        events.push(
          `{"type":"content_block_delta","index":${at},"delta":{"type":"text_delta","text":"a","thinking":"b","signature":"s"}}`,
        );
      if (chance(0.02))
        events.push(
          `{"type":"message_delta","delta":{"stop_reason":${one(["null", '"end_turn"'])}},"usage":{"output_tokens":${below(20)}}}`,
        );
      if (chance(0.01))
        events.push(
          one([
            '{"type":"error","error":{"type":"overloaded_error","message":"x"}}',
            '{"type":"new_event","x":1}',
            "[DONE]",
            "{}",
          ]),
        );
    }
    if (member === "thinking" && chance(0.8))
      events.push(
        `{"type":"content_block_delta","index":${at},"delta":{"type":"signature_delta","signature":"AA=="}}`,
      );
    if (chance(0.95)) events.push(`{"type":"content_block_stop","index":${at}}`);
  }
  if (chance(0.9))
    events.push(
      `{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":31}}`,
    );
  if (chance(0.9)) events.push('{"type":"message_stop"}');
  return events;
}

function generateEvents(roll: Dice): string[] {
  const { below, chance, one } = roll;
  const hasUsage = chance(0.7);
  const [isFlat, isSpaced, isReversed] = [chance(0.5), chance(0.3), chance(0.5)];
  let thought = one(["", ',"thought":true']);
  let counts = below(50);
  const chunk = (part: string, more = ""): string => {
    counts += below(40);
    const usage = [
      `"promptTokenCount":${chance(0.98) ? 12 : one(["007", "-1", "1.05", "1e3", '"x"'])}`,
      `"candidatesTokenCount":${counts}`,
      `"totalTokenCount":${counts + 12}`,
      `"promptTokensDetails":[{"modality":"TEXT","tokenCount":12}]`,
    ];
    const content = `"content":{"parts":[${part}]${isFlat ? "" : ',"role":"model"'}}`;
    const members = [
      `"candidates":[{${content}${isFlat ? "" : ',"index":0'}${more}}]`,
      ...(hasUsage ? [`"usageMetadata":{${usage.join(",")}}`] : []),
      `"modelVersion":"gemini-x","responseId":"r1"`,
      ...(chance(0.01) ? ['"credit":5'] : []),
    ];
    const text = `{${(isReversed ? members.toReversed() : members).join(",")}}`;
    return isSpaced ? text.replaceAll('":', '": ') : text;
  };
  const events: string[] = [];
  for (let n = below(14); n > 0; n -= 1) {
    events.push(chunk(`{"text":"${textOf(roll)}"${thought}}`));
    if (chance(0.08)) thought = one(["", ',"thought":true', ',"thoughtSignature":"AA=="']);
    if (chance(0.03)) events.push(chunk(`{"functionCall":{"name":"f","args":{"a":${below(9)}}}}`));
    if (chance(0.03)) events.push(chunk(`{"text":"${textOf(roll)}"},{"text":"two"}`));
    if (chance(0.02)) events.push(chunk("{}"));
    if (chance(0.02)) events.push(chunk(`{"text":"x"}`, ',"finishReason":"STOP"'));
    if (chance(0.02)) events.push(chunk(`{"text":"x"}`, ',"groundingMetadata":{"webSearchQueries":["q"]}'));
    if (chance(0.02)) events.push(chunk(`{"inlineData":{"mimeType":"image/png","data":"AAAA"}}`));
    if (chance(0.01))
      events.push(
        one([
          '{"promptFeedback":{"blockReason":"SAFETY"}}',
          '{"error":{"code":500,"message":"x"}}',
          "[1]",
          "{}",
          '{"usageMetadata":{"totalTokenCount":5}}',
        ]),
      );
  }
  if (chance(0.85)) events.push(chunk('{"text":"."}', ',"finishReason":"STOP"'));
  return events;
}
