import type { ChatEvent } from "../../core/chat.ts";
import { isJsonObject, type JsonObject } from "../../core/json-value.ts";
import { readCitations, type Sources } from "./citations.ts";
import { finishReason, finishWord } from "./finish-reasons.ts";
import { createPartWriter } from "./part-events.ts";

/** Reads one candidate of an answer, in as many pieces as it comes. */
export interface CandidateDecoder {
  /** The candidate as one chunk has it. */
  read(candidate: JsonObject): void;
  /** The answer has ended: what is open is closed, and the reason is told. */
  end(blocked: Blocked | undefined): void;
}

/** A prompt that was not answered, or not to its end. */
export interface Blocked {
  readonly message?: string;
}

/**
 * A decoder that hands its events to `say`. Pieces of one kind are one part, and a signature is told with its own part.
 * The finish waits for the end, because a provider can say more after it. `idOf` names a call that has no id.
 */
export function createCandidateDecoder(
  choice: number,
  say: (event: ChatEvent) => void,
  idOf: (call: string) => string,
): CandidateDecoder {
  const parts = createPartWriter(choice, say);
  let calls = 0;
  let word: string | undefined;
  let message: string | undefined;
  let sources: Sources = {};

  const readText = (said: string, isThought: boolean, signature: string | undefined): void => {
    parts.add(isThought ? "thinking" : "text", said);
    if (signature !== undefined) parts.signText(signature);
  };

  const readCall = (call: JsonObject, signature: string | undefined): void => {
    const name = typeof call.name === "string" ? call.name : "";
    const input = JSON.stringify(call.args ?? {});
    const id =
      typeof call.id === "string" && call.id !== "" ? call.id : idOf(`${choice} ${calls} ${name} ${input}`);
    calls += 1;
    parts.whole({ type: "tool_call", id, name }, signature, input);
  };

  const readPart = (part: JsonObject): void => {
    const signature =
      typeof part.thoughtSignature === "string" && part.thoughtSignature !== ""
        ? part.thoughtSignature
        : undefined;
    const isThought = part.thought === true;
    const { functionCall, inlineData, executableCode, codeExecutionResult } = part;
    if (isJsonObject(functionCall)) readCall(functionCall, signature);
    else if (isJsonObject(inlineData)) {
      const { mimeType, data } = inlineData;
      // An image among thoughts is a draft.
      if (isThought || typeof mimeType !== "string" || typeof data !== "string") return;
      if (/^image\//i.test(mimeType)) parts.whole({ type: "image", mediaType: mimeType, data }, signature);
    } else if (isJsonObject(executableCode)) parts.add("text", codeText(executableCode));
    else if (isJsonObject(codeExecutionResult)) parts.add("text", fence("", codeExecutionResult.output));
    else if (typeof part.text === "string") readText(part.text, isThought, signature);
    else if (Object.keys(part).every((name) => name === "thoughtSignature" || name === "thought"))
      readText("", isThought, signature);
  };

  return {
    read({ content, finishReason, finishMessage, groundingMetadata, citationMetadata }) {
      if (isJsonObject(content) && Array.isArray(content.parts))
        content.parts.filter(isJsonObject).forEach(readPart);
      word ??= finishWord(finishReason);
      if (typeof finishMessage === "string" && finishMessage !== "") message = finishMessage;
      if (isJsonObject(groundingMetadata)) sources = { ...sources, grounding: groundingMetadata };
      if (isJsonObject(citationMetadata)) sources = { ...sources, citations: citationMetadata };
    },
    end(blocked) {
      const { lastText: index } = parts;
      const cited = index === -1 ? [] : readCitations(parts.text, sources);
      for (const citation of cited) say({ type: "citation", choice, index, citation });
      parts.close();
      // An answer without a reason is one as far as it says something.
      const told = word ?? (blocked !== undefined ? "SAFETY" : parts.count > 0 ? "STOP" : "OTHER");
      const reason = finishReason(told, calls > 0);
      const refusal = reason === "content_filter" ? (message ?? blocked?.message) : undefined;
      say({ type: "finish", choice, reason, ...(refusal === undefined ? {} : { refusal }) });
    },
  };
}

function codeText({ language, code }: JsonObject): string {
  const isNamed = typeof language === "string" && /^[\w+#-]+$/.test(language);
  return fence(isNamed && language !== "LANGUAGE_UNSPECIFIED" ? language.toLowerCase() : "", code);
}

/** Code that ran and what came of it, as text shows it. */
function fence(word: string, content: unknown): string {
  const body = typeof content === "string" ? content : "";
  const ticks = "`".repeat(Math.max(3, ...[...body.matchAll(/`+/g)].map(([run]) => run.length + 1)));
  return `\n${ticks}${word}\n${body}${body.endsWith("\n") ? "" : "\n"}${ticks}\n`;
}
