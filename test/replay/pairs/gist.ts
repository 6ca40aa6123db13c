import { sseData } from "../../upstream/sse-bytes.ts";
import type { Recording } from "../../upstream/recordings.ts";
import { foldRecorded } from "../chat/fold.ts";
import { type Said, textOf, piecesOf } from "../cross/said.ts";
import { saidByClaude } from "../cross/said-by-claude.ts";
import { saidByGemini } from "../cross/said-by-gemini.ts";
import { paddingOf } from "../vendors.ts";
import type { Json } from "../wire-json.ts";

/** What people and programs read of an answer, whatever its format: read from the recording, and by nothing of ours. */
export interface Gist {
  readonly text: string;
  /** `undefined` where it stands in items of the vendor's own alone. */
  readonly thinking: string | undefined;
  readonly calls: readonly { readonly name: string; readonly input: Json }[];
  /** The model declined to go on: other formats have its reason as text. */
  readonly isDeclined?: true;
}

/** Why a recording says nothing that another format could be compared by. */
export type Silent =
  | "no answer"
  | "refused"
  | "cut"
  | "several answers"
  | "media"
  | "tools of the provider"
  | "tools of the caller alone";

/** The gist of a recorded answer of a format. */
export function gistOf(wire: string, recording: Recording): Gist | Silent {
  const { body } = recording.response;
  switch (wire) {
    case "chat completions":
      return gistOfChat(body, paddingOf(recording));
    case "messages":
      if (typeof body === "object" && !Array.isArray((body as Json).content)) return "no answer";
      return gistOfSaid(saidByClaude(body));
    case "generateContent":
      if (/"mimeType": ?"audio\//.test(JSON.stringify(body))) return "media";
      return gistOfSaid(saidByGemini(body));
    default:
      return gistOfResponse(body);
  }
}

function gistOfSaid({ choices, blocked, broke }: Said): Gist | Silent {
  if (blocked) return "refused";
  const [choice, other] = choices;
  if (broke || choice === undefined || choice.finish === "error" || choice.finish.startsWith("unknown"))
    return "cut";
  if (other !== undefined) return "several answers";
  const { pieces, finish } = choice;
  if (pieces.some(({ kind }) => kind === "image")) return "media";
  if (pieces.some(({ kind }) => kind === "code")) return "tools of the provider";
  return {
    text: textOf(pieces, "text"),
    thinking: textOf(pieces, "thinking"),
    calls: piecesOf(pieces, "call").map(({ name, args: input }) => ({ name, input })),
    ...(finish === "content_filter" ? { isDeclined: true } : {}),
  };
}

function gistOfChat(body: Json, padding: readonly string[]): Gist | Silent {
  const { choices, error } = foldRecorded(body, padding);
  const [choice, other] = Object.values(choices);
  if (error !== undefined || choice === undefined || choice.finish === null) return "cut";
  if (other !== undefined) return "several answers";
  if (choice.parts.images !== undefined || choice.parts.audio !== undefined) return "media";
  const { content = "", refusal = "", reasoning_content: thoughts = "", reasoning = "" } = choice.texts;
  const { functionCall: old, calls } = choice;
  // Before calls had ids there was one.
  const all = old.name === "" ? calls : [...calls, old];
  return {
    text: content + refusal,
    thinking:
      thoughts + reasoning === "" && choice.parts.reasoning_details ? undefined : thoughts || reasoning,
    calls: all.map(({ name, arguments: text }) => ({ name, input: text === "" ? {} : JSON.parse(text) })),
  };
}

function gistOfResponse(body: Json): Gist | Silent {
  const response = typeof body === "string" ? endOf(body) : body;
  if (response === undefined || !["completed", "incomplete"].includes(response.status)) return "cut";
  const items: Json[] = response.output;
  if (items.some(({ type }) => type === "custom_tool_call" || type === "apply_patch_call"))
    return "tools of the caller alone";
  const texts = (type: string, member: string, between = ""): string =>
    items
      .filter((item) => item.type === type)
      .map((item) => (item[member] ?? []).map(({ text, refusal }: Json) => text ?? refusal).join(between))
      .join("");
  // Parts of a summary are paragraphs.
  const summary = texts("reasoning", "summary", "\n\n");
  const called = items.filter(({ type }) => type === "function_call");
  // The bound on output has cut a call.
  if (called.some(({ arguments: input }) => objectIn(input).length === 0)) return "cut";
  return {
    text: texts("message", "content"),
    thinking: summary === "" ? texts("reasoning", "content") : summary,
    calls: called.map(({ name, arguments: text }) => ({ name, input: JSON.parse(text) })),
  };
}

/** The response that a stream ends with, its items as they were told one by one where the end has none. */
function endOf(text: string): Json {
  const events = sseData(text).flatMap(objectIn);
  // Some recordings have several streams one after another.
  if (events.filter(({ type }) => type === "response.created").length > 1) return undefined;
  const end = events.findLast(({ type }) => /^response\.(completed|incomplete)$/.test(type))?.response;
  if (end === undefined || end.output?.length > 0) return end;
  const items = events.filter(({ type }) => type === "response.output_item.done").map(({ item }) => item);
  return { ...end, output: items };
}

/** An event's data; nothing of one that the recording has cut. */
function objectIn(data: string): Json[] {
  try {
    return data.startsWith("{") ? [JSON.parse(data)] : [];
  } catch {
    return [];
  }
}
