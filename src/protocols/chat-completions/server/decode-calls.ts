import type { Part, ToolCallPart, ToolResultPart, Turn } from "../../../core/chat.ts";
import { isJsonObject, type JsonObject, present } from "../../../core/json/json-value.ts";
import { readArguments } from "../../call-input.ts";
import { markedResult } from "../../call-results.ts";
import { type EmbeddedJson, openEmbeddedJson } from "../../embedded-json.ts";
import { createMadeOnce, isKept, keep } from "../../../core/json/kept.ts";
import { invalid, wrong } from "../../request-json.ts";
import type { Warn } from "../../warnings.ts";
import { cacheOf, decodeContent } from "./decode-parts.ts";
import type { ChatMessage, Open } from "../schema.ts";

/** A call of the assistant's last message, and what came back for it. */
interface OpenCall {
  /** Of the message that answers it. */
  readonly role: "tool" | "function";
  readonly part: ToolCallPart;
  readonly path: string;
  result?: ToolResultPart;
  /** The result's content as it was written, to know it again. */
  written?: ChatMessage["content"];
}

const NO_CALL = "answers no tool call of the assistant message before it: a result must follow its call";
const NO_RESULT: Part = { type: "text", text: "No result was given for this call." };

/**
 * Pairs calls of tools with their results, message after message of one request. A call without a result gets one that
 * says so as an error; a result that is there twice counts once. `earlierValues` are those in the arguments of calls that
 * are not gone over again.
 */
export function openCallLedger(warn: Warn, earlierValues: number) {
  const json = openEmbeddedJson();
  json.take(earlierValues);
  /** By the id that an answer names, or once the function. */
  const calls = new Map<string, OpenCall>();

  return {
    /** Values in the arguments of all calls so far. */
    get values(): number {
      return json.taken;
    },
    /** The calls of an assistant message, whose results must follow. Throws a 400 for one that is none. */
    open(message: ChatMessage, path: string): readonly ToolCallPart[] {
      message.tool_calls?.forEach((call, i) => {
        const at = `${path}.tool_calls[${i}]`;
        const part = readCall(call, isKept(message), json, at);
        if (calls.has(part.id)) throw wrong(`${at}.id`, "stands twice in one message");
        calls.set(part.id, { role: "tool", part, path: at });
      });
      const at = `${path}.function_call`;
      const old = readOldCall(message.function_call, json, at);
      if (old !== undefined && calls.size > 0)
        throw invalid(`${path} has tool_calls and function_call: send one of them.`, at);
      if (old !== undefined) calls.set(old.name, { role: "function", part: old, path: at });
      return [...calls.values()].map(({ part }) => part);
    },
    /** A message with a result. Throws a 400 for one that answers no call of the message before. */
    answer(message: ChatMessage, path: string): void {
      const name = message.role === "tool" ? "tool_call_id" : "name";
      const at = `${path}.${name}`;
      const call = calls.get(String(message[name]));
      if (call?.role !== message.role) throw wrong(at, NO_CALL);
      if (call.result === undefined) {
        call.result = readResult(call.part.id, message, `${path}.content`);
        call.written = message.content;
      } else if (JSON.stringify(call.written ?? null) === JSON.stringify(message.content ?? null))
        warn(`${path} was left out: the same result stands before it`);
      else throw wrong(at, "was answered already, with another content: send one result for a call");
    },
    /** The turn with the results of the last calls, in their order; `undefined` when there were none. */
    close(): Turn | undefined {
      if (calls.size === 0) return undefined;
      const parts = [...calls.values()].map(({ part, path, result }): ToolResultPart => {
        if (result !== undefined) return result;
        warn(`${path} has no result: the model was told so`);
        return { type: "tool_result", callId: part.id, parts: [NO_RESULT], isError: true };
      });
      calls.clear();
      return { role: "tool", parts };
    },
  };
}

const keptResults = createMadeOnce<ChatMessage, ToolResultPart>();

function readResult(callId: string, message: ChatMessage, path: string): ToolResultPart {
  const known = keptResults.get(message);
  if (known?.callId === callId) return known;
  const result = decodeResult(callId, message, path);
  // What is no text names its place in the request.
  return result.parts.every(({ type }) => type === "text") ? keptResults.add(message, result) : result;
}

function decodeResult(callId: string, message: ChatMessage, path: string): ToolResultPart {
  return markedResult(callId, decodeContent(message.content, path), cacheOf(message));
}

type WireCall = Open<NonNullable<ChatMessage["tool_calls"]>[number]>;

/** Calls that come again, and how many values their arguments have. */
const keptCalls = new WeakMap<object, { readonly part: ToolCallPart; readonly values: number }>();

/** A call; `isAgain`: it comes again with other requests. */
function readCall(call: WireCall, isAgain: boolean, json: EmbeddedJson, path: string): ToolCallPart {
  const known = isAgain ? keptCalls.get(call) : undefined;
  if (known !== undefined && json.take(known.values)) return known.part;
  const before = json.taken;
  const part = decodeCall(call, json, path);
  if (isAgain) keptCalls.set(call, { part: keep(part), values: json.taken - before });
  return part;
}

function decodeCall(call: WireCall, json: EmbeddedJson, path: string): ToolCallPart {
  const { id, type, function: called, custom } = call;
  const isCustom = type === "custom";
  if (isCustom ? !isJsonObject(custom) : !called)
    throw wrong(`${path}.${isCustom ? "custom" : "function"}`, "is required");
  if (!id) throw wrong(`${path}.id`, "is required");
  return {
    ...(isCustom
      ? readCustom(id, custom, `${path}.custom`)
      : readFunction(id, called ?? { name: "" }, json, `${path}.function`)),
    ...present({ signature: signatureOf(call) }),
  };
}

/** A call from before calls had ids. */
function readOldCall(called: unknown, json: EmbeddedJson, path: string): ToolCallPart | undefined {
  if (called === undefined || called === null) return undefined;
  if (isJsonObject(called) && typeof called.name === "string")
    return readFunction("call_function", { ...called, name: called.name }, json, path);
  throw wrong(path, "must be an object with a name");
}

/** A call of a custom tool: its input is any text. */
function readCustom(id: string, called: unknown, path: string): ToolCallPart {
  const { name, input }: JsonObject = isJsonObject(called) ? called : {};
  if (typeof name !== "string" || name === "") throw wrong(`${path}.name`, "must be a name");
  if (input !== undefined && input !== null && typeof input !== "string")
    throw wrong(`${path}.input`, "must be a string");
  return { type: "tool_call", id, name, input: input ?? "", custom: true };
}

interface CalledFunction {
  readonly name: string;
  readonly arguments?: unknown;
}

function readFunction(id: string, called: CalledFunction, json: EmbeddedJson, path: string): ToolCallPart {
  // No format has a call without a name.
  if (called.name === "") throw wrong(`${path}.name`, "must not be empty");
  const input = readArguments(called.arguments, `${path}.arguments`, json);
  return { type: "tool_call", id, name: called.name, input };
}

/** Source: "Thought signatures" of the Gemini API, as its own chat completions have it. */
function signatureOf({ extra_content: extra }: WireCall): string | undefined {
  const google = isJsonObject(extra) ? extra.google : undefined;
  const signature = isJsonObject(google) ? google.thought_signature : undefined;
  return typeof signature === "string" && signature !== "" ? signature : undefined;
}
