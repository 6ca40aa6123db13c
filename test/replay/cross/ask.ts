import { expect } from "bun:test";
import OpenAI from "openai";
import { answerFrom } from "../../upstream/recordings.ts";
import type { Json } from "../wire-json.ts";
import { countedOf, expectChoice, expectUsage } from "./chat-answer.ts";
import type { Cross } from "./cross-gateway.ts";
import type { RecordedAnswer } from "./recorded-answers.ts";
import { textOf } from "./said.ts";

/** How an answer was read: as one that is good, one that was refused, or one that broke. */
export interface Asked {
  readonly how: "plain" | "streamed" | "refused" | "broken";
  /** The choices as the SDK has them. */
  readonly choices: readonly Json[];
  /** What the provider was sent. */
  readonly sent: Json;
  readonly warning: string | null;
}

/** Asks for a recorded answer by the official SDK and fails unless all that it says is read, and charged. */
export async function ask(cross: Cross, body: Json, answer: RecordedAnswer): Promise<Asked> {
  await cross.charged();
  return answer.stream ? askStreamed(cross, body, answer) : askPlain(cross, body, answer);
}

async function askPlain(
  cross: Cross,
  body: Json,
  { said, recording, chunks }: RecordedAnswer,
): Promise<Asked> {
  cross.answers(answerFrom(recording));
  const asked = cross.client.chat.completions.create(body).withResponse();
  if (said.blocked) {
    const error: Json = await asked.catch((thrown: unknown) => thrown);
    expect([error.status, error.type]).toEqual([400, "content_moderation"]);
    return { how: "refused", choices: [], sent: cross.received().json(), warning: null };
  }
  const { data, response }: Json = await asked;
  const sent = cross.received().json();
  expect(data.choices.map(({ index }: Json) => index)).toEqual(said.choices.map((_, index) => index));
  said.choices.forEach((choice, i) => {
    expectChoice(data.choices[i], choice, said.format);
    expect(data.choices[i].message.reasoning_content ?? "").toBe(textOf(choice.pieces, "thinking"));
  });
  expectUsage(data, countedOf(said, chunks), await cross.charged());
  return { how: "plain", choices: data.choices, sent, warning: response.headers.get("warning") };
}

async function askStreamed(cross: Cross, body: Json, answer: RecordedAnswer): Promise<Asked> {
  const { said, recording, chunks } = answer;
  cross.answers(answerFrom(recording));
  const stream = cross.client.chat.completions.stream({ ...body, stream: true });
  if (said.broke || said.choices.every(({ finish }) => finish === "error")) {
    const thrown: unknown = await stream.finalChatCompletion().catch((error: unknown) => error);
    expect(thrown).toBeInstanceOf(OpenAI.APIError);
    expect(await cross.charged()).toBeGreaterThan(0);
    return { how: "broken", choices: [], sent: cross.received().json(), warning: null };
  }
  const completion: Json = await stream.finalChatCompletion();
  const sent = cross.received().json();
  said.choices.forEach((choice, i) => expectChoice(completion.choices[i], choice, said.format));
  expectUsage(completion, countedOf(said, chunks), await cross.charged());
  const warning = await readRaw(cross, body, { answer, choices: completion.choices });
  return { how: "streamed", choices: completion.choices, sent, warning };
}

/** What a client that joins the chunks by hand reads is what the helper made of them. */
async function readRaw(
  cross: Cross,
  body: Json,
  { answer, choices }: { readonly answer: RecordedAnswer; readonly choices: readonly Json[] },
): Promise<string | null> {
  cross.answers(answerFrom(answer.recording, { cut: { seed: answer.chunks.length + 1, maxBytes: 300 } }));
  const { data, response }: Json = await cross.client.chat.completions
    .create({ ...body, stream: true })
    .withResponse();
  const texts: string[] = [];
  const thoughts: string[] = [];
  const details: Json[] = [];
  const credits: number[] = [];
  for await (const chunk of data) {
    for (const { index, delta } of chunk.choices) {
      texts[index] = (texts[index] ?? "") + (delta.content ?? "");
      thoughts[index] = (thoughts[index] ?? "") + (delta.reasoning_content ?? "");
      if (delta.reasoning_details !== undefined) details.push(delta.reasoning_details);
    }
    if (chunk.credit !== undefined) credits.push(chunk.credit);
  }
  expect(texts).toEqual(choices.map(({ message }: Json) => message.content ?? ""));
  expect(thoughts).toEqual(answer.said.choices.map(({ pieces }) => textOf(pieces, "thinking")));
  expect(details).toEqual(choices.flatMap(({ message }) => listed(message.reasoning_details)));
  expect(credits.map((credit) => Math.round(credit * 1e6))).toEqual([await cross.charged()]);
  return response.headers.get("warning");
}

function listed(details: Json): Json[] {
  return details === undefined ? [] : [details];
}
