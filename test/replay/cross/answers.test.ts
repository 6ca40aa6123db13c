import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import OpenAI from "openai";
import { geminiPlain } from "../../upstream/gemini-bytes.ts";
import { messageAnswer } from "../../upstream/messages-bytes.ts";
import { answerFrom, recordingsAvailable, recordingsFolder } from "../../upstream/recordings.ts";
import type { Json } from "../wire-json.ts";
import { countedOf, expectChoice, expectUsage } from "./chat-answer.ts";
import { type Cross, startCross } from "./cross-gateway.ts";
import { type RecordedAnswer, recordedAnswers } from "./recorded-answers.ts";
import { piecesOf, textOf } from "./said.ts";
import { afterAnswer, expectBlocksOfClaude, expectPartsOfGemini } from "./second-turn.ts";

// Every recorded answer of Claude and Gemini, asked for as chat completions and read by the official SDK, helper
// included: all that it says comes out, and sent back it reaches the provider as the blocks that the provider gave.

const available = recordingsAvailable();
if (!available && process.env.SWITCHYARD_REQUIRE_ALL === "1")
  throw new Error(`There are no recordings at ${recordingsFolder()}.`);
if (!available) console.log(`Recorded answers skipped: there are none at ${recordingsFolder()}.`);

const { answers, leftOut } = recordedAnswers();
const held = { claude: 0, gemini: 0, back: 0, plain: 0, stream: 0, refused: 0, broke: 0 };
let cross: Cross;

describe.skipIf(!available)("recorded answers as chat completions", () => {
  beforeAll(async () => {
    cross = await startCross();
  });
  afterAll(async () => {
    console.log(tableOf());
    await cross.close();
  });

  for (const answer of answers) {
    test(answer.recording.path, async () => {
      await cross.charged();
      const choices = answer.stream ? await readStreamed(answer) : await readPlain(answer);
      if (choices !== undefined) await sendBack(answer, choices[0]);
      held[answer.vendor] += 1;
    });
  }
});

function tableOf(): string {
  const of = (vendor: string): number => answers.filter((answer) => answer.vendor === vendor).length;
  return [
    "",
    "Recorded answers read by the openai SDK as chat completions:",
    `  Claude: ${held.claude} of ${of("claude")}`,
    `  Gemini: ${held.gemini} of ${of("gemini")}`,
    `  plain ${held.plain}, streamed ${held.stream} (raw and by the helper)`,
    `  errors as they must be: blocked or unreadable ${held.refused}, broken streams ${held.broke}`,
    `  sent back in a second turn: ${held.back}`,
    "Left out:",
    ...leftOut.map(({ path, reason }) => `  ${path}: ${reason}`),
  ].join("\n");
}

/** A request of our own making that the recorded answer could be one to. */
function madeUp({ vendor, said }: RecordedAnswer): Json {
  const pieces = said.choices.flatMap((choice) => choice.pieces);
  const makesImages = pieces.some(({ kind }) => kind === "image");
  const names = new Set(piecesOf(pieces, "call").map(({ name }) => name));
  return {
    model: vendor === "claude" ? "claude/opus" : makesImages ? "gemini/image" : "gemini/flash",
    messages: [{ role: "user", content: "A request of our own making." }],
    ...(names.size === 0 ? {} : { tools: [...names].map(toolNamed) }),
    ...(makesImages ? { modalities: ["text", "image"] } : {}),
    ...(said.choices.length > 1 ? { n: said.choices.length } : {}),
  };
}

function toolNamed(name: string): Json {
  return { type: "function", function: { name, parameters: { type: "object", properties: {} } } };
}

async function readPlain(answer: RecordedAnswer): Promise<Json[] | undefined> {
  const { said, recording, chunks } = answer;
  cross.answers(answerFrom(recording));
  const asked = cross.client.chat.completions.create(madeUp(answer));
  if (said.blocked) {
    const error: Json = await asked.catch((thrown: unknown) => thrown);
    expect([error.status, error.type]).toEqual([400, "content_moderation"]);
    held.refused += 1;
    await cross.charged();
    return undefined;
  }
  const completion: Json = await asked;
  cross.received();
  expect(completion.choices.map(({ index }: Json) => index)).toEqual(said.choices.map((_, index) => index));
  said.choices.forEach((choice, i) => {
    expectChoice(completion.choices[i], choice, said.format);
    expect(completion.choices[i].message.reasoning_content ?? "").toBe(textOf(choice.pieces, "thinking"));
  });
  expectUsage(completion, countedOf(said, chunks), await cross.charged());
  held.plain += 1;
  return completion.choices;
}

async function readStreamed(answer: RecordedAnswer): Promise<Json[] | undefined> {
  const { said, recording, chunks } = answer;
  cross.answers(answerFrom(recording));
  const stream = cross.client.chat.completions.stream(madeUp(answer));
  const failed = said.broke || said.choices.every(({ finish }) => finish === "error");
  if (failed) {
    const thrown: unknown = await stream.finalChatCompletion().catch((error: unknown) => error);
    expect(thrown).toBeInstanceOf(OpenAI.APIError);
    cross.received();
    expect(await cross.charged()).toBeGreaterThan(0);
    held.broke += 1;
    return undefined;
  }
  const completion: Json = await stream.finalChatCompletion();
  cross.received();
  said.choices.forEach((choice, i) => expectChoice(completion.choices[i], choice, said.format));
  expectUsage(completion, countedOf(said, chunks), await cross.charged());
  await readRaw(answer, completion);
  held.stream += 1;
  return completion.choices;
}

/** What a client that joins the chunks by hand reads is what the helper made of them. */
async function readRaw(answer: RecordedAnswer, completion: Json): Promise<void> {
  cross.answers(answerFrom(answer.recording, { cut: { seed: answer.chunks.length + 1, maxBytes: 300 } }));
  const chunks: Json = await cross.client.chat.completions.create({ ...madeUp(answer), stream: true });
  const texts: string[] = [];
  const thoughts: string[] = [];
  const details: Json[] = [];
  const credits: number[] = [];
  for await (const chunk of chunks) {
    for (const { index, delta } of chunk.choices) {
      texts[index] = (texts[index] ?? "") + (delta.content ?? "");
      thoughts[index] = (thoughts[index] ?? "") + (delta.reasoning_content ?? "");
      if (delta.reasoning_details !== undefined) details.push(delta.reasoning_details);
    }
    if (chunk.credit !== undefined) credits.push(chunk.credit);
  }
  expect(texts).toEqual(completion.choices.map(({ message }: Json) => message.content ?? ""));
  expect(thoughts).toEqual(answer.said.choices.map(({ pieces }) => textOf(pieces, "thinking")));
  expect(details).toEqual(
    completion.choices.flatMap(({ message }: Json) =>
      message.reasoning_details ? [message.reasoning_details] : [],
    ),
  );
  expect(credits.map((credit) => Math.round(credit * 1e6))).toEqual([await cross.charged()]);
}

/** Sends the answer back as the SDK has it, with what follows on it. */
async function sendBack(answer: RecordedAnswer, { message, finish_reason: finish }: Json): Promise<void> {
  const [said] = answer.said.choices;
  if (said === undefined || said.pieces.length === 0 || finish === "error") return;
  const request = madeUp(answer);
  cross.answers(answer.vendor === "claude" ? messageAnswer() : geminiPlain());
  await cross.client.chat.completions.create({
    ...request,
    n: 1,
    messages: [...request.messages, message, ...afterAnswer(message)],
  });
  const sent: Json = cross.received().json();
  if (answer.vendor === "claude") expectBlocksOfClaude(sent, said);
  else expectPartsOfGemini(sent, said);
  await cross.charged();
  held.back += 1;
}
