import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { geminiAnswer, geminiPlain } from "../../upstream/gemini-bytes.ts";
import { message, messageAnswer, type MessageBlock, messageStream } from "../../upstream/messages-bytes.ts";
import { toText } from "../../upstream/bytes.ts";
import type { Recording } from "../../upstream/recordings.ts";
import type { Json } from "../wire-json.ts";
import { ask } from "./ask.ts";
import { type Cross, startCross } from "./cross-gateway.ts";
import { answerOf, type RecordedAnswer } from "./recorded-answers.ts";
import { afterAnswer, expectBlocksOfClaude, expectPartsOfGemini } from "./second-turn.ts";

// What no recording has: signed images, thinking between calls, several redacted thoughts. Held as recordings are.

let cross: Cross;
beforeAll(async () => {
  cross = await startCross();
});
afterAll(() => cross.close());

const PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
/** Base64 that has every character of the alphabet that a URI cannot hold, and padding. */
const SIGNATURE = "Es+/8/+z+A0=";

const IMAGES = [
  { text: "Let me draw.", thought: true },
  { text: "Here it is:", thoughtSignature: "QUJD" },
  { inlineData: { mimeType: "image/png", data: PIXEL }, thoughtSignature: SIGNATURE },
  { inlineData: { mimeType: "image/jpeg", data: "/9j/4AAQ" }, thoughtSignature: "RA==" },
];

const STEPS: readonly MessageBlock[] = [
  { type: "thinking", thinking: "First.", signature: "sig+/A==" },
  { type: "text", text: "I look" },
  { type: "tool_use", id: "toolu_1", name: "find", input: { n: 1 } },
  { type: "redacted_thinking", data: "b3BhcXVl+/==" },
  { type: "thinking", thinking: "", signature: "sig2" },
  { type: "text", text: "and look." },
  { type: "tool_use", id: "toolu_2", name: "find", input: {} },
];

function made(protocol: "messages" | "generate-content", body: Json): RecordedAnswer {
  const type = typeof body === "string" ? "text/event-stream" : "application/json";
  const recording: Recording = {
    path: "made-up",
    name: "made-up",
    provider: "made-up",
    protocol,
    model: "made-up",
    fidelity: "made-up",
    features: [],
    request: { method: "POST", url: "", headers: {}, body: null },
    response: { status: 200, headers: { "content-type": type }, body },
  };
  return answerOf(recording);
}

const HELLO = [{ role: "user", content: "Hello." }];

async function sentWith(body: Json, answer: Json): Promise<Json> {
  const messages = [...body.messages, answer, ...afterAnswer(answer)];
  cross.answers(body.model.startsWith("claude") ? messageAnswer() : geminiPlain());
  await cross.client.chat.completions.create({ ...body, messages });
  return cross.received().json();
}

describe("images that Gemini signed", () => {
  const body: Json = { model: "gemini/image", messages: HELLO, modalities: ["text", "image"] };
  const form = geminiAnswer({ parts: IMAGES });

  test("come out and go back with their signatures", async () => {
    const answer = made("generate-content", form);
    const { choices } = await ask(cross, body, answer);
    expectPartsOfGemini(await sentWith(body, choices[0].message), answer.said.choices[0] as never);
  });

  const spellings: Readonly<Record<string, (signature: string) => string>> = {
    "in quotes": (signature) => `"${signature}"`,
    "as plain base64": () => SIGNATURE,
    "as plain base64 in quotes": () => `"${SIGNATURE}"`,
    "percent-encoded": () => encodeURIComponent(SIGNATURE),
  };
  for (const [name, spell] of Object.entries(spellings)) {
    test(`go back with their signatures from a client that spells them ${name}`, async () => {
      const answer = made("generate-content", form);
      const { choices } = await ask(cross, body, answer);
      const { message: back } = structuredClone(choices[0]);
      const [{ image_url: first }] = back.images;
      first.url = first.url.replace(/(?<=thought_signature=)[^;]+/, spell);
      expectPartsOfGemini(await sentWith(body, back), answer.said.choices[0] as never);
    });
  }

  test("are images without a signature for a model that cannot read it", async () => {
    const { choices } = await ask(cross, body, made("generate-content", form));
    const sent = await sentWith({ model: "claude/opus", messages: HELLO }, choices[0].message);
    const images = sent.messages
      .flatMap(({ content }: Json) => content)
      .filter(({ type }: Json) => type === "image")
      .map(({ source }: Json) => source);
    expect(images).toEqual([
      { type: "base64", media_type: "image/png", data: PIXEL },
      { type: "base64", media_type: "image/jpeg", data: "/9j/4AAQ" },
    ]);
    expect(JSON.stringify(sent)).not.toContain("signature");
  });
});

describe("thinking between the calls of Claude", () => {
  const tools = [
    { type: "function", function: { name: "find", parameters: { type: "object", properties: {} } } },
  ];
  const body: Json = { model: "claude/opus", messages: HELLO, tools };
  const forms = { plain: message({ blocks: STEPS }), streamed: toText(messageStream({ blocks: STEPS })) };
  for (const [name, form] of Object.entries(forms)) {
    test(`comes out whole and goes back to its places, ${name}`, async () => {
      const answer = made("messages", form);
      const { choices } = await ask(cross, body, answer);
      expectBlocksOfClaude(await sentWith(body, choices[0].message), answer.said.choices[0] as never);
    });

    test(`is not sent to a model of another vendor, ${name}`, async () => {
      const { choices } = await ask(cross, body, made("messages", form));
      const sent = JSON.stringify(await sentWith({ ...body, model: "gemini/flash" }, choices[0].message));
      for (const secret of ["sig+/A==", "sig2", "b3BhcXVl", "First."]) expect(sent).not.toContain(secret);
    });
  }
});
