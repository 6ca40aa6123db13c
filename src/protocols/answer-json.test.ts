import { expect, test } from "bun:test";
import { ANSWER_CONTEXT } from "../../test/protocols/answer-context.ts";
import { readAnswer } from "./chat-completions/answer.ts";
import type { AnswerContext } from "./protocol.ts";

const CONTEXT: AnswerContext = {
  ...ANSWER_CONTEXT,
  model: "v/shown",
  padding: ["system_padding"],
};
const CHOICES = `"choices": [{"index":0, "message":{"role":"assistant","content":"\u00fc \\u00fc { \\"model\\":1 }"},"finish_reason":"stop"}]`;
const USAGE = `"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}`;

/** An answer with these members, and what becomes of it at a charge of 1.5 credits. */
function written(members: string): string {
  const answer = readAnswer(new TextEncoder().encode(members), CONTEXT);
  return new TextDecoder().decode(answer.encode(1_500_000n));
}

const cases: readonly { readonly name: string; readonly sent: string; readonly got: string }[] = [
  {
    name: "the model stands amid others, between spaces",
    sent: `{ "id":"a" , "model" : "up" ,${CHOICES}, ${USAGE} }\n`,
    got: `{ "id":"a" , "model" : "v/shown" ,${CHOICES}, ${USAGE},"credit":1.5 }\n`,
  },
  {
    name: "the model stands at the end",
    sent: `{${CHOICES},${USAGE},"model":"up" }`,
    got: `{${CHOICES},${USAGE},"model":"v/shown","credit":1.5 }`,
  },
  {
    name: "the model stands twice",
    sent: `{"model":"up","model":"up2",${CHOICES},${USAGE}}`,
    got: `{"model":"v/shown","model":"v/shown",${CHOICES},${USAGE},"credit":1.5}`,
  },
  {
    name: "the model is missing",
    sent: `{${CHOICES},${USAGE}}`,
    got: `{${CHOICES},${USAGE},"model":"v/shown","credit":1.5}`,
  },
  {
    name: "a name that is a number stands before the model",
    sent: `{"id":"a","7":1,"model":"up",${CHOICES},${USAGE}}`,
    got: `{"id":"a","7":1,"model":"v/shown",${CHOICES},${USAGE},"credit":1.5}`,
  },
  {
    name: "a credit of the provider's own and padding stand there",
    sent: `{"credit":7,"model":"up","system_padding":"x",${CHOICES},${USAGE}}`,
    got: `{"model":"v/shown",${CHOICES},${USAGE},"credit":1.5}`,
  },
];

for (const { name, sent, got } of cases)
  test(`the bytes of an answer stay but for model and credit: ${name}`, () =>
    expect(written(sent)).toBe(got));
