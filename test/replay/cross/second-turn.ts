import { expect } from "bun:test";
import type { Json } from "../wire-json.ts";
import { type Piece, piecesOf, type SaidChoice, textOf } from "./said.ts";

/** The messages that follow an answer: a result for each call, else the user's word. */
export function afterAnswer(message: Json): Json[] {
  const calls: Json[] = message.tool_calls ?? [];
  if (calls.length === 0) return [{ role: "user", content: "Go on." }];
  return calls.map(({ id }, nth) => ({ role: "tool", tool_call_id: id, content: `result ${nth}` }));
}

/** Fails unless Claude was sent exactly the blocks that it gave, and the results of its calls in one message. */
export function expectBlocksOfClaude(sent: Json, { pieces }: SaidChoice): void {
  const [, answer, after] = sent.messages;
  const blocks: Json[] = answer.content;
  expect(blocks).toEqual(stepsOf(pieces).flatMap(blocksOf));
  const calls = piecesOf(pieces, "call");
  if (calls.length === 0) return;
  expect(after.role).toBe("user");
  expect(after.content).toEqual(
    calls.map(({ id }, nth) => ({
      type: "tool_result",
      tool_use_id: id,
      content: [{ type: "text", text: `result ${nth}` }],
    })),
  );
}

/** The pieces parted where thinking begins: a chat has no order within what is said and done after one thought. */
function stepsOf(pieces: readonly Piece[]): Piece[][] {
  const steps: Piece[][] = [[]];
  for (const piece of pieces) {
    if (piece.kind === "thinking" || piece.kind === "redacted") steps.push([]);
    steps.at(-1)?.push(piece);
  }
  return steps;
}

/** A thought, the text after it as one, the calls after it. The provider refuses text of white space only. */
function blocksOf(step: readonly Piece[]): Json[] {
  const text = textOf(step, "text");
  const said = text.trim() === "" ? [] : [{ type: "text", text }];
  const blocks = step.flatMap(blockOf);
  const calls = blocks.filter(({ type }) => type === "tool_use");
  return [...blocks.filter(({ type }) => type !== "tool_use"), ...said, ...calls];
}

function blockOf(piece: Piece): Json[] {
  switch (piece.kind) {
    case "thinking":
      return piece.signature === ""
        ? []
        : [{ type: "thinking", thinking: piece.text, signature: piece.signature }];
    case "redacted":
      return [{ type: "redacted_thinking", data: piece.data }];
    case "call":
      return [{ type: "tool_use", id: piece.id, name: piece.name, input: piece.args }];
    default:
      return [];
  }
}

/** What the reference of thought signatures has for an image, and the first call of a step, that nobody signed. */
const PLACEHOLDER = "skip_thought_signature_validator";

/** Fails unless Gemini was sent its calls, images and signatures on the parts that they came with. */
export function expectPartsOfGemini(sent: Json, { pieces }: SaidChoice): void {
  const [, answer, after] = sent.contents;
  const parts: Json[] = answer.parts;
  expect(answer.role).toBe("model");
  const carried = parts.flatMap(({ functionCall, inlineData, thoughtSignature = "" }): Json[] => {
    if (functionCall !== undefined) {
      const { name, args, id } = functionCall;
      return [{ name, args, id, signature: thoughtSignature }];
    }
    return inlineData === undefined ? [] : [{ ...inlineData, signature: thoughtSignature }];
  });
  const calls = piecesOf(pieces, "call");
  expect(carried).toEqual([
    ...piecesOf(pieces, "image").map(({ mime, data, signature }) => ({
      mimeType: mime,
      data,
      signature: signature === "" ? PLACEHOLDER : signature,
    })),
    ...calls.map(({ id, name, args, signature }, nth) => ({
      name,
      args,
      id: id === "" ? expect.any(String) : id,
      signature: signature === "" && nth === 0 ? PLACEHOLDER : signature,
    })),
  ]);
  const texts = parts.filter(({ text }) => text !== undefined);
  if (!pieces.some(({ kind }) => kind === "code"))
    expect(texts.map(({ text }) => text).join("")).toBe(textOf(pieces, "text"));
  const loose = pieces.flatMap((piece) =>
    (piece.kind === "thinking" || piece.kind === "signature") && piece.signature !== ""
      ? [piece.signature]
      : [],
  );
  expect(texts.flatMap(({ thoughtSignature }) => thoughtSignature ?? [])).toEqual(loose);
  expect(parts.filter(({ thought }) => thought === true)).toEqual([]);
  if (calls.length === 0) return;
  expect(after.parts.map(({ functionResponse: { name, response } }: Json) => ({ name, response }))).toEqual(
    calls.map(({ name }, nth) => ({ name, response: { output: `result ${nth}` } })),
  );
  const ids = (list: readonly Json[], member: string): Json[] =>
    list.flatMap((part) => part[member]?.id ?? []);
  expect(ids(after.parts, "functionResponse")).toEqual(ids(parts, "functionCall"));
}
