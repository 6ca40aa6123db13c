import { describe, expect, test } from "bun:test";
import { joinBytes } from "../core/bytes/bytes.ts";
import type { Model } from "../core/model.ts";
import { chatCompletions } from "./chat-completions/index.ts";
import { generateContent } from "./generate-content/index.ts";
import { messages } from "./messages/index.ts";
import type { AnswerContext, RelayProtocol, RelayTarget } from "./protocol.ts";
import { readRefusal, RefusalCause } from "./refusal.ts";
import { responses } from "./responses/index.ts";

const target = (model: Partial<Model> = {}): RelayTarget =>
  ({ model: { id: "v/m", ignoredParameters: [], ...model }, upstreamId: "up", native: true }) as never;

/** What is sent in place of `body`, and what the caller is told. */
function without(protocol: RelayProtocol, body: string, model?: Partial<Model>) {
  const bare = protocol.unsigned?.(new TextEncoder().encode(body), target(model));
  if (bare === undefined) return undefined;
  return { body: new TextDecoder().decode(joinBytes(bare.body)), warnings: bare.warnings };
}

const LEFT =
  "what earlier answers were signed with was left out: the provider refused it, or another one wrote it";

interface Row {
  readonly name: string;
  readonly body: string;
  /** Absent: nothing is signed. */
  readonly left?: string;
  readonly model?: Partial<Model>;
  readonly warnings?: readonly string[];
}

function rows(protocol: RelayProtocol, list: readonly Row[]): void {
  for (const { name, body, left, model, warnings = [LEFT] } of list)
    test(name, () => {
      expect(without(protocol, body, model)).toEqual(
        left === undefined ? undefined : { body: left, warnings: [...warnings] },
      );
      // What was left out once is not there to be left out again.
      if (left !== undefined) expect(without(protocol, left, model)).toBeUndefined();
    });
}

describe("chat completions", () => {
  const user = '{"role":"user", "content":"Hi","n":1.0}';
  rows(chatCompletions, [
    { name: "nothing is signed", body: `{"model":"m","messages":[${user}]}` },
    {
      name: "details of reasoning go, and its text stays, byte for byte",
      body: `{ "model":"m","messages":[${user},{"role":"assistant","reasoning_details":[{"signature":"x"}],"reasoning":"Hm.","content":"Yo", "k":1e2},${user}],"x":1.50}`,
      left: `{ "model":"m","messages":[${user},{"role":"assistant","reasoning":"Hm.","content":"Yo", "k":1e2},${user}],"x":1.50}`,
    },
    { name: "messages that are none", body: '{"model":"m","messages":"x"}' },
  ]);
});

describe("messages", () => {
  const user = '{"role":"user","content":"Hi"}';
  const thought = '{"type":"thinking","thinking":"Hm.","signature":"EuQB"}';
  const hidden = '{"type":"redacted_thinking","data":"EuQB"}';
  const call = '{"type":"tool_use","id":"a","name":"f","input":{"n":1.0}}';
  const result = '{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"x"}]}';
  const said = (...blocks: string[]): string => `{"role":"assistant","content":[${blocks.join(",")}]}`;
  const ask = (list: string, more = ""): string =>
    `{"model":"m","max_tokens":10,"messages":[${list}]${more}}`;
  const budget = ',"thinking":{"type":"enabled","budget_tokens":1024}';
  const SWITCHED_OFF =
    "thinking was left out: the answer that called tools came back without thinking that this model can read";
  rows(messages, [
    { name: "nothing is signed", body: ask(`${user},${said(call)},${result}`, budget) },
    {
      name: "both kinds of thinking go, and all else stays byte for byte",
      body: ask(`${user},${said(thought, '{"type":"text","text":"Yo"}', hidden)},${user}`),
      left: ask(`${user},${said('{"type":"text","text":"Yo"}')},${user}`),
    },
    {
      name: "thinking is switched off where calls are answered that began with it",
      body: ask(`${user},${said(thought, call)},${result}`, budget),
      left: ask(`${user},${said(call)},${result}`),
      warnings: [LEFT, SWITCHED_OFF],
    },
    {
      name: "but not where the model measures its thinking out itself",
      body: ask(`${user},${said(thought, call)},${result}`, ',"thinking":{"type":"adaptive"}'),
      left: ask(`${user},${said(call)},${result}`, ',"thinking":{"type":"adaptive"}'),
      model: { thinking: { style: "adaptive" } as never },
    },
    {
      name: "an answer of nothing but thinking goes",
      body: ask(`${user},${said(thought)},${user}`),
      left: ask(`${user},${user}`),
    },
  ]);
});

describe("generateContent", () => {
  const NO = "skip_thought_signature_validator";
  const ask = (...parts: string[]): string =>
    `{"contents":[{"role":"user","parts":[{"text":"Hi"}]},{"role":"model","parts":[${parts.join(",")}]}],"a":1.0}`;
  rows(generateContent, [
    { name: "nothing is signed", body: ask('{"text":"Yo"}') },
    {
      name: "a text loses its signature, and a call gets the vendor's word for none",
      body: ask(
        '{"text":"Yo","thoughtSignature":"AA=="}',
        '{"functionCall":{"name":"f","args":{"n":1.0}},"thoughtSignature":"AA=="}',
      ),
      left: ask('{"text":"Yo"}', `{"functionCall":{"name":"f","args":{"n":1.0}},"thoughtSignature":"${NO}"}`),
    },
    {
      name: "so does a call without one, which the vendor refuses",
      body: ask('{"functionCall":{"name":"f","args":{}}}'),
      left: ask(`{"functionCall":{"name":"f","args":{}},"thoughtSignature":"${NO}"}`),
    },
    {
      name: "in the other spelling, too",
      body: ask('{"function_call":{"name":"f"},"thought_signature":"AA=="}'),
      left: ask(`{"function_call":{"name":"f"},"thought_signature":"${NO}"}`),
    },
    {
      name: "a call that has the word already keeps its bytes",
      body: ask(`{"functionCall":{"name":"f"},"thoughtSignature":"${NO}"}`),
    },
    {
      name: "what the user sent is not touched",
      body: '{"contents":[{"role":"user","parts":[{"text":"Hi","thoughtSignature":"AA=="}]}]}',
    },
  ]);
});

describe("Responses", () => {
  const sealed = '{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gAAA"}';
  const open = '{"type":"reasoning","id":"rs_2","summary":[]}';
  const call = (id: string): string =>
    `{"type":"function_call",${id}"call_id":"c","name":"f","arguments":"{\\"n\\":1.0}"}`;
  const message = (id: string): string => `{"type":"message",${id}"role":"assistant","content":[]}`;
  const result = '{"type":"function_call_output","id":"fco_1","call_id":"c","output":"x"}';
  const user = '{"role":"user","content":"Hi"}';
  const ask = (...items: string[]): string => `{"model":"m","input":[${items.join(",")}], "x":1.0}`;
  rows(responses, [
    { name: "nothing is sealed", body: ask(user, open, call('"id":"fc_1",'), result) },
    { name: "an input that is a text", body: '{"model":"m","input":"Hi"}' },
    {
      name: "sealed reasoning goes, and the ids of what it led to, until somebody else speaks",
      body: ask(
        user,
        sealed,
        call('"id":"fc_1",'),
        message('"id":"msg_1",'),
        result,
        message('"id":"msg_2",'),
      ),
      left: ask(user, call(""), message(""), result, message('"id":"msg_2",')),
    },
    {
      name: "reasoning that is not sealed stays",
      body: ask(open, sealed, user),
      left: ask(open, user),
    },
  ]);
});

describe("a refusal is about signatures", () => {
  const context = { model: "v/m", secrets: [], nowSec: 1 } as unknown as AnswerContext;
  const isAbout = (status: number, error: object): boolean => {
    const body = new TextEncoder().encode(JSON.stringify({ error }));
    const { cause } = readRefusal({ status, body, retryAfter: null }, context);
    return cause instanceof RefusalCause && cause.aboutSignatures;
  };
  const sentences = [
    "messages.1.content.0: Invalid `signature` in `thinking` block",
    "messages.3.content.12: Invalid `data` in `redacted_thinking` block",
    "messages.1.content.0.thinking.signature: Field required",
    "Corrupted thought signature.",
    "Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly.",
    "Unable to submit request because function call `f` in the 2. content block is missing a `thought_signature`.",
  ];
  for (const message of sentences)
    test(message.slice(0, 60), () => {
      expect(isAbout(400, { message, type: "invalid_request_error" })).toBe(true);
      expect(isAbout(500, { message })).toBe(false);
      // A provider quotes its caller behind its own words.
      expect(isAbout(400, { message: `Bad text: ${message}` })).toBe(false);
    });

  test("by OpenAI's code", () => {
    const error = {
      message: "The encrypted content gAAA could not be verified.",
      code: "invalid_encrypted_content",
    };
    expect([isAbout(400, error), isAbout(400, { ...error, code: "invalid_value" })]).toEqual([true, false]);
  });

  test("and no other is", () => {
    for (const message of ["messages.1: bad", "signature", "thought_signature", ""])
      expect([message, isAbout(400, { message })]).toEqual([message, false]);
  });
});
