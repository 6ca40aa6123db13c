import type { BegunPart, ChatEvent, FinishReason } from "../../../core/chat.ts";
import { filledText, isJsonObject, type JsonObject, present } from "../../../core/json/json-value.ts";
import { openPartWriter } from "../../part-writer.ts";
import { partsOf } from "../answer.ts";
import { readLogprobs } from "../logprobs.ts";
import { readCitations, type Sources } from "./citations.ts";

/** Reads one candidate of an answer, in as many pieces as it comes. */
export type CandidateDecoder = ReturnType<typeof openCandidate>;

const THINKING: BegunPart = { type: "thinking", issuer: "google" };

/** What a part has that is no more than a signature. */
const SIGNS: ReadonlySet<string> = new Set(["thoughtSignature", "thought"]);

/**
 * A decoder that hands its events to `say`. Pieces of one kind are one part, and a signature is told with its own part.
 * The finish waits for the end, because a provider can say more after it. `idOf` names a call that has no id.
 */
export function openCandidate(
  choice: number,
  say: (event: ChatEvent) => void,
  idOf: (call: string) => string,
) {
  const parts = openPartWriter(choice, say);
  let text = "";
  let lastText = -1;
  let calls = 0;
  let word: string | undefined;
  let message: string | undefined;
  let sources: Sources = {};

  const addText = (said: string): void => {
    if (said === "") return;
    if (parts.open !== "text") parts.begin({ type: "text" });
    parts.add(said);
    text += said;
    lastText = parts.count - 1;
  };

  const addThinking = (said: string, signature = ""): void => {
    if (parts.open !== "thinking" && said + signature !== "") parts.begin(THINKING);
    parts.add(said);
    parts.sign(signature);
    if (signature !== "") parts.end();
  };

  const addWhole = (part: BegunPart, signature = "", input = ""): void => {
    parts.begin(part);
    parts.add(input);
    parts.sign(signature);
    parts.end();
  };

  const addCall = (call: JsonObject, signature: string | undefined): void => {
    const [name, input] = [filledText(call.name) ?? "", JSON.stringify(call.args ?? {})];
    const id = filledText(call.id) ?? idOf(`${choice} ${calls} ${name} ${input}`);
    calls += 1;
    addWhole({ type: "tool_call", id, name }, signature, input);
  };

  const readPart = (part: JsonObject): void => {
    const signature = filledText(part.thoughtSignature);
    const { thought, functionCall, inlineData, executableCode, codeExecutionResult } = part;
    if (isJsonObject(functionCall)) addCall(functionCall, signature);
    else if (isJsonObject(inlineData)) {
      const { mimeType, data } = inlineData;
      // An image among thoughts is a draft.
      if (thought === true || typeof mimeType !== "string" || typeof data !== "string") return;
      if (/^image\//i.test(mimeType)) addWhole({ type: "image", mediaType: mimeType, data }, signature);
    } else if (isJsonObject(executableCode)) addText(codeText(executableCode));
    else if (isJsonObject(codeExecutionResult)) addText(fence("", codeExecutionResult.output));
    else if (typeof part.text === "string" || Object.keys(part).every((name) => SIGNS.has(name))) {
      const said = filledText(part.text) ?? "";
      if (thought !== true) addText(said);
      // A text has no place for a signature where it goes: it comes as thinking behind.
      addThinking(thought === true ? said : "", signature);
    }
  };

  return {
    /** Tells more text as that of `part` was told, which is a text alone. */
    moreLike:
      ({ thought }: JsonObject) =>
      (said: string): void =>
        thought === true ? addThinking(said) : addText(said),
    /** The candidate as one chunk has it. */
    read(candidate: JsonObject): void {
      partsOf(candidate).forEach(readPart);
      for (const tokens of readLogprobs(candidate.logprobsResult)) say({ type: "logprobs", choice, tokens });
      word ??= finishWord(candidate.finishReason);
      message = filledText(candidate.finishMessage) ?? message;
      const { groundingMetadata: grounding, citationMetadata: citations } = candidate;
      if (isJsonObject(grounding)) sources = { ...sources, grounding };
      if (isJsonObject(citations)) sources = { ...sources, citations };
    },
    /** The answer has ended, `blocked` with these words for it: what is open is closed, and the reason is told. */
    end(blocked: string | undefined): void {
      if (lastText !== -1)
        for (const citation of readCitations(text, sources)) parts.cite(citation, lastText);
      parts.end();
      // An answer without a reason is one as far as it says something.
      const told = word ?? (blocked !== undefined ? "SAFETY" : parts.count > 0 ? "STOP" : "OTHER");
      const reason = finishReason(told, calls > 0);
      const refusal = reason === "content_filter" ? (message ?? filledText(blocked)) : undefined;
      say({ type: "finish", choice, reason, ...present({ refusal }) });
    },
  };
}

/** The one part of a candidate whose one part is a text, and nothing else. */
export function textAlone(candidate: JsonObject): JsonObject | undefined {
  const [part, ...others] = partsOf(candidate);
  if (part === undefined || others.length > 0 || filledText(part.text) === undefined) return undefined;
  return Object.keys(part).every((name) => name === "text" || name === "thought") ? part : undefined;
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

const FILTERED = new Set(
  "SAFETY RECITATION BLOCKLIST PROHIBITED_CONTENT SPII LANGUAGE MODEL_ARMOR IMAGE_SAFETY IMAGE_PROHIBITED_CONTENT IMAGE_RECITATION IMAGE_OTHER".split(
    " ",
  ),
);

/** Some servers write the enumeration's numbers; two versions of it agree on these and no more. */
const NUMBERED: Readonly<Record<number, string>> = {
  1: "STOP",
  2: "MAX_TOKENS",
  3: "SAFETY",
  4: "RECITATION",
  6: "BLOCKLIST",
  7: "BLOCKLIST",
  8: "SPII",
  11: "IMAGE_SAFETY",
};

/** The reason of a candidate as a word; `undefined` while it has none. */
function finishWord(reason: unknown): string | undefined {
  if (typeof reason === "number") return reason > 0 ? (NUMBERED[reason] ?? "OTHER") : undefined;
  const word = filledText(reason);
  return word?.endsWith("_UNSPECIFIED") === true ? undefined : word;
}

/**
 * What a reason means. A call ends with the same word as a text does. Whatever is not known to be an end is an error: an
 * answer that broke off never looks whole.
 */
function finishReason(word: string, hasCalls: boolean): FinishReason {
  if (word === "STOP") return hasCalls ? "tool_calls" : "stop";
  if (word === "MAX_TOKENS" || word === "CONTINUATION") return "length";
  return FILTERED.has(word) ? "content_filter" : "error";
}
