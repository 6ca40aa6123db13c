import type { ChatEvent, ChatRequest, ToolCallPart, ToolDefinition, Turn } from "../core/chat.ts";
import { isJsonObject, type JsonObject, present } from "../core/json/json-value.ts";
import { makeOnce } from "../core/json/kept.ts";
import { parseExact } from "./exact-json.ts";

// The model calls a custom tool with a text. A format that has no custom tools is told a function whose one member is
// that text. What its model calls that function with comes back as the text.

/** The member of such a function's input. */
const MEMBER = "input";

/** How a model that goes by the book begins such an input. */
const OPENING = /^\s*\{\s*"input"\s*:\s*"/;

/** The names of a request's custom tools. */
export function customNames({ tools }: Pick<ChatRequest, "tools">): readonly string[] {
  return tools.filter(({ custom }) => custom !== undefined).map(({ name }) => name);
}

/** The request with its custom tools, and earlier calls of such, as functions; itself where it has neither. */
export function withoutCustom(chat: ChatRequest): ChatRequest {
  const hasTools = chat.tools.some(({ custom }) => custom !== undefined);
  const hasCalls = chat.turns.some(hasCustomCall);
  if (!hasTools && !hasCalls) return chat;
  return {
    ...chat,
    tools: chat.tools.map((tool) => (tool.custom === undefined ? tool : asFunction(tool))),
    turns: chat.turns.map((turn) => (hasCustomCall(turn) ? asCalls(turn) : turn)),
  };
}

function hasCustomCall({ role, parts }: Turn): boolean {
  return role === "assistant" && parts.some((part) => part.type === "tool_call" && part.custom === true);
}

const asFunction = makeOnce(writeFunction);
const asCall = makeOnce(writeCall);

function writeFunction({ custom, description = "", ...tool }: ToolDefinition): ToolDefinition {
  const { grammar } = custom ?? {};
  const told = [
    description,
    `Raw text, not JSON, goes into ${MEMBER}.`,
    grammar && `It must be of this ${grammar.syntax} grammar:\n${grammar.definition}`,
  ];
  return {
    ...tool,
    description: told.filter(Boolean).join("\n\n"),
    parameters: { type: "object", properties: { [MEMBER]: { type: "string" } }, required: [MEMBER] },
  };
}

function asCalls({ role, parts }: Turn): Turn {
  return {
    role,
    parts: parts.map((part) => (part.type === "tool_call" && part.custom === true ? asCall(part) : part)),
  };
}

function writeCall({ type, id, name, input, signature }: ToolCallPart): ToolCallPart {
  return { type, id, name, input: JSON.stringify({ [MEMBER]: input }), ...present({ signature }) };
}

/** What an answer's reader must know of its request; see `AnswerContext.echo`. */
export function noteCustom(echo: JsonObject | undefined, names: readonly string[]): JsonObject | undefined {
  return names.length === 0 ? echo : { ...echo, [NOTE]: names };
}

const NOTE = "custom_tools";

/** Hands events on to `say`, calls of the functions that stand for custom tools as calls of these. */
export function backToCustom(
  echo: JsonObject | undefined,
  say: (event: ChatEvent) => void,
): (event: ChatEvent) => void {
  const names = echo?.[NOTE];
  if (!Array.isArray(names)) return say;
  const custom = new Set<unknown>(names);
  /** The calls that are open, by choice: one choice has one open part. */
  const open = new Map<number, InputText>();
  return (event) => {
    if (event.type === "part_start" && event.part.type === "tool_call" && custom.has(event.part.name)) {
      if (event.part.custom !== true) open.set(event.choice, new InputText());
      return say({ ...event, part: { ...event.part, custom: true } });
    }
    const reader = event.type === "start" ? undefined : open.get(event.choice);
    if (reader === undefined) return say(event);
    if (event.type === "delta") {
      const text = reader.add(event.text);
      if (text !== "") say({ ...event, text });
    } else if (event.type === "part_end") {
      const { choice, index } = event;
      const text = reader.rest();
      if (text !== "") say({ type: "delta", choice, index, text });
      open.delete(choice);
      say(event);
    } else say(event);
  };
}

/** The text within the JSON that such a function is called with, as it comes. */
class InputText {
  #json = "";
  /** Where the text goes on that was not said yet; -1 before it has begun. */
  #at = -1;
  #hasEnded = false;

  /** More of the JSON in, what of the text is certain out. */
  add(json: string): string {
    this.#json += json;
    if (this.#at === -1) this.#at = OPENING.exec(this.#json)?.[0].length ?? -1;
    return this.#at === -1 || this.#hasEnded ? "" : this.#read();
  }

  /** No more comes: the text of an input that was not by the book. */
  rest(): string {
    return this.#at === -1 ? oddText(this.#json) : "";
  }

  #read(): string {
    const start = this.#at;
    let end = start;
    while (end < this.#json.length) {
      const unit = this.#json[end];
      if (unit === '"') {
        this.#hasEnded = true;
        break;
      }
      const length = unit === "\\" ? escapeLength(this.#json, end) : 1;
      if (length === undefined) break;
      end += length;
    }
    this.#at = end;
    return textOf(this.#json.slice(start, end));
  }
}

/** The units of an escape, of two where a character has two; `undefined` while it is not whole. */
function escapeLength(json: string, at: number): number | undefined {
  const kind = json[at + 1];
  if (kind === undefined) return undefined;
  if (kind !== "u") return 2;
  if (json.length < at + 6) return undefined;
  if (!/^[dD][89abAB]/.test(json.slice(at + 2, at + 6))) return 6;
  // Half a character: clients join texts, not halves.
  if (json.length < at + 8 && "\\u".startsWith(json.slice(at + 6))) return undefined;
  if (json.slice(at + 6, at + 8) !== "\\u") return 6;
  return json.length < at + 12 ? undefined : 12;
}

/** The text of a piece of a JSON string; one that is no JSON is text as it stands. */
function textOf(piece: string): string {
  if (!piece.includes("\\")) return piece;
  const text = parseExact(`"${piece.replaceAll(/\p{Cc}/gu, escaped)}"`);
  return typeof text === "string" ? text : piece;
}

function escaped(control: string): string {
  return JSON.stringify(control).slice(1, -1);
}

/** A model that knows the tool by another form calls it so: its only text, else all that it wrote. */
function oddText(json: string): string {
  const value = parseExact(json);
  if (typeof value === "string") return value;
  if (!isJsonObject(value)) return json;
  const values = Object.values(value);
  if (values.length === 0) return "";
  if (typeof value[MEMBER] === "string") return value[MEMBER];
  const [text, ...others] = values.filter((one) => typeof one === "string");
  return text !== undefined && others.length === 0 ? text : json;
}
