import { afterAll, beforeAll, describe, test } from "bun:test";
import { geminiPlain } from "../../upstream/gemini-bytes.ts";
import { messageAnswer } from "../../upstream/messages-bytes.ts";
import { recordingsFor } from "../../upstream/recordings.ts";
import type { Json } from "../wire-json.ts";
import { ask } from "./ask.ts";
import { type Cross, startCross } from "./cross-gateway.ts";
import { type RecordedAnswer, recordedAnswers } from "./recorded-answers.ts";
import { piecesOf } from "./said.ts";
import { afterAnswer, expectBlocksOfClaude, expectPartsOfGemini } from "./second-turn.ts";

// Every recorded answer of Claude and Gemini, asked for as chat completions and read by the official SDK, helper
// included. All that it says comes out. Sent back it reaches the provider as the blocks that the provider gave.

const available = recordingsFor("recorded answers");

const { answers, leftOut } = recordedAnswers();
const held = { claude: 0, gemini: 0, back: 0, plain: 0, streamed: 0, refused: 0, broken: 0 };
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
      const { how, choices } = await ask(cross, madeUp(answer), answer);
      if (choices.length > 0) await sendBack(answer, choices[0]);
      held[answer.vendor] += 1;
      held[how] += 1;
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
    `  plain ${held.plain}, streamed ${held.streamed} (raw and by the helper)`,
    `  errors as they must be: blocked or unreadable ${held.refused}, broken streams ${held.broken}`,
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
  held.back += 1;
}
