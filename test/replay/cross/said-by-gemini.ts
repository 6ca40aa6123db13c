import { chunksOf } from "../generate/chunks.ts";
import type { Json } from "../wire-json.ts";
import type { Piece, Said, SaidChoice } from "./said.ts";

/** Source: `Candidate.FinishReason` and `PromptFeedback` of the generateContent reference. */
const FILTERED = /^(SAFETY|RECITATION|BLOCKLIST|PROHIBITED_CONTENT|SPII|LANGUAGE|IMAGE_\w+|MODEL_ARMOR)$/;

/** Reads an answer in the generateContent format: an object, or the events of a stream. */
export function saidByGemini(body: Json): Said {
  const chunks: Json[] = typeof body === "string" ? chunksOf(body) : [body];
  const candidates = new Map<number, Json[]>();
  for (const chunk of chunks) {
    (chunk.candidates ?? []).forEach((candidate: Json, place: number) => {
      const index = candidate.index ?? place;
      candidates.set(index, [...(candidates.get(index) ?? []), candidate]);
    });
  }
  const blocked = chunks.some(({ promptFeedback }) => promptFeedback?.blockReason !== undefined);
  const choices = [...candidates].sort(([a], [b]) => a - b).map(([, pieces]) => choiceOf(pieces));
  return {
    format: "google-gemini-v1",
    choices,
    usage: chunks.findLast(({ usageMetadata }) => usageMetadata !== undefined)?.usageMetadata,
    blocked: blocked && choices.length === 0,
    broke: chunks.some(({ error }) => error !== undefined),
  };
}

function choiceOf(candidates: readonly Json[]): SaidChoice {
  const parts: Json[] = candidates.flatMap(({ content }) => content?.parts ?? []);
  const pieces: Piece[] = [];
  for (const part of parts) for (const piece of piecesOf(part)) add(pieces, piece);
  const reason = candidates.findLast(({ finishReason }) => finishReason !== undefined)?.finishReason;
  const grounding = candidates.flatMap(({ groundingMetadata }) => groundingMetadata?.groundingChunks ?? []);
  const cited = candidates.flatMap(({ citationMetadata }) => citationMetadata?.citations ?? []);
  const pages = [...grounding.map(({ web, retrievedContext }) => web ?? retrievedContext), ...cited];
  return { pieces, finish: finishOf(reason, pieces), cited: pages.flatMap((page) => page?.uri ?? []) };
}

function finishOf(reason: Json, pieces: readonly Piece[]): string {
  if (reason === "STOP" || reason === undefined)
    return pieces.some(({ kind }) => kind === "call") ? "tool_calls" : "stop";
  if (reason === "MAX_TOKENS") return "length";
  return FILTERED.test(reason) ? "content_filter" : "error";
}

/** What follows of one kind is one piece, up to a signature. */
function add(pieces: Piece[], piece: Piece): void {
  const last = pieces.at(-1);
  if (piece.kind === "text" && last?.kind === "text")
    pieces[pieces.length - 1] = { kind: "text", text: last.text + piece.text };
  else if (piece.kind === "thinking" && last?.kind === "thinking" && last.signature === "")
    pieces[pieces.length - 1] = { ...piece, text: last.text + piece.text };
  else pieces.push(piece);
}

function piecesOf(part: Json): Piece[] {
  const { thoughtSignature: signature = "", thought = false, text, functionCall: call, inlineData } = part;
  if (call !== undefined)
    return [{ kind: "call", id: call.id ?? "", name: call.name, args: call.args ?? {}, signature }];
  if (inlineData !== undefined) {
    const { mimeType: mime, data } = inlineData;
    // An image among thoughts is a draft; a chat has no place for audio.
    return thought || !mime.startsWith("image/") ? [] : [{ kind: "image", mime, data, signature }];
  }
  if (part.executableCode !== undefined) return [{ kind: "code", text: part.executableCode.code }];
  if (part.codeExecutionResult !== undefined)
    return [{ kind: "code", text: part.codeExecutionResult.output ?? "" }];
  if (part.toolCall !== undefined || part.toolResponse !== undefined) return [];
  if (thought) return text || signature ? [{ kind: "thinking", text: text ?? "", signature }] : [];
  const said: Piece[] = text ? [{ kind: "text", text }] : [];
  return signature === "" ? said : [...said, { kind: "signature", signature }];
}
