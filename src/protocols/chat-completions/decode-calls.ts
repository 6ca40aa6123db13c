import { GatewayError } from "../../core/errors.ts";
import type { Part, ToolCallPart, ToolResultPart, Turn } from "../../core/chat.ts";
import { isJsonObject } from "../../core/json-value.ts";
import { type EmbeddedJson, openEmbeddedJson } from "../embedded-json.ts";
import { BOUNDS, invalid } from "../request-json.ts";
import { cacheOf, decodeContent, memberOf } from "./decode-parts.ts";
import type { ChatMessage } from "./schema.ts";

/** A call of the assistant's last message, and what came back for it. */
interface OpenCall {
  readonly part: ToolCallPart;
  readonly path: string;
  result?: ToolResultPart;
  /** The result's content as it was written, to know it again. */
  written?: ChatMessage["content"];
}

/** Pairs calls of tools with their results, message after message. */
export interface CallLedger {
  /** The calls of an assistant message, whose results must follow it. Throws a 400 for one that is none. */
  open(message: ChatMessage, path: string): readonly ToolCallPart[];
  /** A message with a result. Throws a 400 for one that answers no call of the message before. */
  answer(message: ChatMessage, path: string): void;
  /** The turn that holds the results of the last calls, in the order of the calls; `undefined` when there were none. */
  close(): Turn | undefined;
}

const NO_RESULT = "No result was given for this call.";

/**
 * A ledger for one request. A call without a result gets one that says so as an error; a result that is there twice
 * counts once.
 */
export function openCallLedger(warn: (sentence: string) => void): CallLedger {
  const json = openEmbeddedJson();
  let calls: OpenCall[] = [];
  let byId: ReadonlyMap<string, OpenCall> = new Map();
  let inOldForm: OpenCall | undefined;

  return {
    open(message, path) {
      const written = (message.tool_calls ?? []).map((call, j) =>
        readCall(call, json, `${path}.tool_calls[${j}]`),
      );
      const old = readOldCall(memberOf(message, "function_call"), json, `${path}.function_call`);
      if (old !== undefined && written.length > 0)
        throw invalid(`${path} has tool_calls and function_call: send one of them.`, `${path}.function_call`);
      const ids = new Map<string, OpenCall>();
      for (const call of written) {
        const { part, path: at } = call;
        if (ids.has(part.id)) throw invalid(`${at}.id stands twice in one message.`, `${at}.id`);
        ids.set(part.id, call);
      }
      byId = ids;
      inOldForm = old;
      calls = old === undefined ? written : [...written, old];
      return calls.map(({ part }) => part);
    },
    answer(message, path) {
      const isOld = message.role === "function" && inOldForm?.part.name === memberOf(message, "name");
      const call =
        message.role === "tool" ? byId.get(message.tool_call_id ?? "") : isOld ? inOldForm : undefined;
      const at = `${path}.${message.role === "tool" ? "tool_call_id" : "name"}`;
      if (call === undefined)
        throw invalid(
          `${at} answers no tool call of the assistant message before it: a result must follow its call.`,
          at,
        );
      if (call.result !== undefined) {
        if (JSON.stringify(call.written ?? null) !== JSON.stringify(message.content ?? null))
          throw invalid(`${at} was answered already, with another content: send one result for a call.`, at);
        warn(`${path} was left out: the same result stands before it`);
        return;
      }
      call.result = readResult(call.part.id, message, `${path}.content`);
      call.written = message.content;
    },
    close() {
      if (calls.length === 0) return undefined;
      const parts = calls.map(({ part, path, result }): ToolResultPart => {
        if (result !== undefined) return result;
        warn(`${path} has no result: the model was told so`);
        const said: Part = { type: "text", text: NO_RESULT };
        return { type: "tool_result", callId: part.id, parts: [said], isError: true };
      });
      calls = [];
      byId = new Map();
      inOldForm = undefined;
      return { role: "tool", parts };
    },
  };
}

function readResult(callId: string, message: ChatMessage, path: string): ToolResultPart {
  const parts = decodeContent(message.content, path);
  // A mark inside a result is a mark on the result: that is where all its text ends.
  const inner = parts.map((part) => ("cache" in part ? part.cache : undefined)).findLast((mark) => mark);
  const cache = cacheOf(message) ?? inner;
  return {
    type: "tool_result",
    callId,
    parts: parts.map(unmarked),
    isError: false,
    ...(cache === undefined ? {} : { cache }),
  };
}

function unmarked(part: Part): Part {
  if (!("cache" in part)) return part;
  const { cache: _cache, ...rest } = part;
  return rest;
}

type WireCall = NonNullable<ChatMessage["tool_calls"]>[number];

function readCall(call: WireCall, json: EmbeddedJson, path: string): OpenCall {
  if (call.type === "custom")
    throw invalid(
      `${path}.type must be function: this model's provider has no custom tools.`,
      `${path}.type`,
    );
  if (!call.function) throw invalid(`${path}.function is required.`, `${path}.function`);
  if (!call.id) throw invalid(`${path}.id is required.`, `${path}.id`);
  if (call.function.name === "") throw namelessCall(`${path}.function.name`);
  const signature = signatureOf(call);
  const part: ToolCallPart = {
    type: "tool_call",
    id: call.id,
    name: call.function.name,
    input: readArguments(call.function.arguments, json, `${path}.function.arguments`),
    ...(signature === undefined ? {} : { signature }),
  };
  return { part, path };
}

/** No format has one. */
function namelessCall(path: string): GatewayError {
  return invalid(`${path} must not be empty.`, path);
}

/** A call from before calls had ids. */
function readOldCall(called: unknown, json: EmbeddedJson, path: string): OpenCall | undefined {
  if (called === undefined || called === null) return undefined;
  if (!isJsonObject(called) || typeof called.name !== "string")
    throw invalid(`${path} must be an object with a name.`, path);
  if (called.name === "") throw namelessCall(`${path}.name`);
  const input = readArguments(called.arguments, json, `${path}.arguments`);
  return {
    part: { type: "tool_call", id: "call_function", name: called.name, input },
    path,
  };
}

/** The input as it was written, once it is known to be a JSON object; "" where there is none. */
function readArguments(written: unknown, json: EmbeddedJson, path: string): string {
  if (written === undefined || written === null) return "";
  if (typeof written !== "string") throw invalid(`${path} must be a string.`, path);
  if (written.trim() === "") return "";
  switch (json.read(written).kind) {
    case "object":
      return written;
    case "value":
    case "none":
      throw invalid(`${path} must be a JSON object, written as text.`, path);
    case "deep":
      throw invalid(`${path} nests deeper than ${BOUNDS.depth} levels.`, path);
    case "many":
      throw new GatewayError(
        "input_too_large",
        `The arguments of all tool calls have more than ${BOUNDS.values} JSON values.`,
        { param: path },
      );
  }
}

/** Source: "Thought signatures" of the Gemini API, as its own chat completions have it. */
function signatureOf(call: WireCall): string | undefined {
  const extra = memberOf(call, "extra_content");
  const google = isJsonObject(extra) ? extra.google : undefined;
  const signature = isJsonObject(google) ? google.thought_signature : undefined;
  return typeof signature === "string" && signature !== "" ? signature : undefined;
}
