import { isJsonObject, type JsonObject } from "../../core/json-value.ts";
import type { EventRepairs } from "../stream.ts";
import { saysSomething } from "./empty.ts";
import {
  argumentsText,
  finishWord,
  givenText,
  joinContent,
  keepNewDetails,
  liftUsageAndError,
  objectsIn,
  put,
  type RepairName,
  type Repairs,
} from "./repair-parts.ts";

interface ChoiceState {
  started: boolean;
  finished: boolean;
  /** Its text so far. */
  text: string;
  /** The text so far of MiniMax's reasoning, by item. */
  readonly details: Map<string, string>;
  readonly calls: ToolCallState[];
}

/** What is known of a tool call of a stream. */
interface ToolCallState {
  readonly index: number;
  readonly upstreamIndex: unknown;
  readonly id: unknown;
  hasArguments: boolean;
}

/** Repairs for one stream: later chunks are read in the light of earlier ones. */
export function createChunkRepairs(): EventRepairs {
  const applied = new Set<RepairName>();
  const states = new Map<unknown, ChoiceState>();
  return {
    apply(text) {
      const chunk = parseObject(text);
      if (chunk === undefined) return undefined;
      const repairs: Repairs = new Set();
      const sent = repairChunk(chunk, states, repairs);
      for (const name of repairs) applied.add(name);
      return repairs.size === 0 ? [text] : sent.map((each) => JSON.stringify(each));
    },
    applied: () => [...applied],
  };
}

/** Repairs a chunk in place; returns what is to be sent for it. */
function repairChunk(
  chunk: JsonObject,
  states: Map<unknown, ChoiceState>,
  repairs: Repairs,
): readonly JsonObject[] {
  liftUsageAndError(chunk, repairs);
  if (chunk.error !== undefined && chunk.error !== null) return [chunk];
  if (chunk.choices === null) put(chunk, "choices", [], "choices_null", repairs);
  const given: unknown = chunk.choices;
  if (!Array.isArray(given)) return [chunk];
  put(chunk, "object", "chat.completion.chunk", "chunk_object", repairs);
  const said = given.map((choice: unknown, i) => {
    if (!isJsonObject(choice)) return [];
    put(choice, "index", typeof choice.index === "number" ? choice.index : i, "choice_index", repairs);
    const state = states.get(choice.index) ?? {
      started: false,
      finished: false,
      text: "",
      details: new Map(),
      calls: [],
    };
    states.set(choice.index, state);
    return repairChoice(choice, state, repairs);
  });
  chunk.choices = said.flatMap((list) => list.slice(-1));
  const before = said
    .flatMap((list) => list.slice(0, -1))
    .map((choice) => Object.assign({}, chunk, { usage: undefined, choices: [choice] }));
  const isSilent = given.length > 0 && said.every((list) => list.length === 0) && !isJsonObject(chunk.usage);
  return isSilent ? [] : [...before, chunk];
}

/** Repairs one choice of a chunk in place; returns it, unless it says nothing, behind what must be sent before it. */
function repairChoice(choice: JsonObject, state: ChoiceState, repairs: Repairs): readonly JsonObject[] {
  if (!isJsonObject(choice.delta)) {
    choice.delta = isJsonObject(choice.message) ? deltaOf(choice.message, state) : {};
    delete choice.message;
    repairs.add("choice_delta");
  }
  const delta = choice.delta as JsonObject;
  joinContent(delta, repairs);
  if (typeof delta.content === "string") state.text += delta.content;
  keepNewDetails(delta, state.details, repairs);
  if (!state.started) put(delta, "role", "assistant", "first_role", repairs);
  state.started = true;
  if (Array.isArray(delta.tool_calls)) repairFragments(delta, state.calls, repairs);
  if (choice.finish_reason === undefined || choice.finish_reason === null) return [choice];
  repairFinish(choice, finishWord(choice.finish_reason), state.calls, repairs);
  if (choice.finish_reason === null) return [choice];
  if (state.finished) {
    put(choice, "finish_reason", null, "second_finish", repairs);
    return saysSomething(delta) ? [choice] : [];
  }
  state.finished = true;
  return [...fillArguments(choice, delta, state.calls, repairs), choice];
}

/** A whole message at the end of a stream (MiniMax): what of it has not come yet. */
function deltaOf({ content, tool_calls: calls }: JsonObject, state: ChoiceState): JsonObject {
  const isMore = typeof content === "string" && content.startsWith(state.text);
  const text = isMore ? content.slice(state.text.length) : "";
  return {
    ...(text === "" ? {} : { content: text }),
    ...(Array.isArray(calls) && state.calls.length === 0 ? { tool_calls: calls } : {}),
  };
}

/** Gives each fragment the form that clients join by: a contiguous index, and id, type and name exactly once. */
function repairFragments(delta: JsonObject, calls: ToolCallState[], repairs: Repairs): void {
  const fragments = objectsIn(delta.tool_calls);
  delta.tool_calls = fragments;
  for (const fragment of fragments) {
    const known = findCall(calls, fragment);
    const call = known ?? startCall(calls, fragment, repairs);
    put(fragment, "index", call.index, "tool_call_index", repairs);
    const called = isJsonObject(fragment.function) ? fragment.function : {};
    fragment.function = called;
    put(called, "arguments", argumentsText(called.arguments), "arguments_object", repairs);
    if (givenText(called.arguments) !== undefined) call.hasArguments = true;
    if (known === undefined || !("id" in fragment || "type" in fragment || "name" in called)) continue;
    delete fragment.id;
    delete fragment.type;
    delete called.name;
    repairs.add("tool_call_repeated");
  }
}

/**
 * The call that a fragment belongs to; `undefined` when it begins one. Where the vendor counts, its index decides, and
 * a new id under an old index is a new call; where it does not, the id decides, and without one the last call goes on.
 */
function findCall(calls: readonly ToolCallState[], { id, index }: JsonObject): ToolCallState | undefined {
  const counted = typeof index === "number" ? calls.filter((call) => call.upstreamIndex === index) : calls;
  return givenText(id) === undefined ? counted.at(-1) : counted.find((call) => call.id === id);
}

function startCall(calls: ToolCallState[], fragment: JsonObject, repairs: Repairs): ToolCallState {
  const index = calls.length;
  nameCall(fragment, index, repairs);
  const { id, index: upstreamIndex, type } = fragment;
  const call = { index, upstreamIndex, id, hasArguments: type === "custom" };
  calls.push(call);
  return call;
}

function nameCall(call: JsonObject, index: number, repairs: Repairs): void {
  put(call, "id", givenText(call.id) ?? `call_${index}`, "tool_call_id", repairs);
  put(call, "type", call.type === "custom" ? "custom" : "function", "tool_call_type", repairs);
}

/** Says why a choice ended; one that calls tools ends for them, whatever its vendor's word for a good end. */
function repairFinish(
  choice: JsonObject,
  word: string | null,
  calls: readonly unknown[],
  repairs: Repairs,
): void {
  if (word === "stop" && calls.length > 0)
    put(choice, "finish_reason", "tool_calls", "finish_after_tool_calls", repairs);
  else put(choice, "finish_reason", word, "finish_reason_word", repairs);
}

/** Gives `{}` to calls that end without arguments: in the fragment that begins them here, else in a choice sent before. */
function fillArguments(
  { index }: JsonObject,
  delta: JsonObject,
  calls: readonly ToolCallState[],
  repairs: Repairs,
): readonly JsonObject[] {
  const empty = calls.filter((call) => !call.hasArguments);
  if (empty.length > 0) repairs.add("empty_arguments");
  const earlier = empty.filter((call) => {
    const fragment = objectsIn(delta.tool_calls).find((candidate) => candidate.index === call.index);
    if (fragment !== undefined) (fragment.function as JsonObject).arguments = "{}";
    return fragment === undefined;
  });
  if (earlier.length === 0) return [];
  const fragments = earlier.map((call) => ({ index: call.index, function: { arguments: "{}" } }));
  return [{ index, delta: { tool_calls: fragments }, finish_reason: null }];
}

/** Repairs a whole answer in place; returns the names of what was wrong. */
export function repairAnswer(answer: JsonObject): readonly RepairName[] {
  const repairs: Repairs = new Set();
  liftUsageAndError(answer, repairs);
  put(answer, "object", "chat.completion", "chunk_object", repairs);
  objectsIn(answer.choices).forEach((choice, i) => {
    put(choice, "index", typeof choice.index === "number" ? choice.index : i, "choice_index", repairs);
    const message = isJsonObject(choice.message) ? choice.message : { role: "assistant", content: null };
    put(choice, "message", message, "choice_message", repairs);
    joinContent(message, repairs);
    put(message, "role", "assistant", "first_role", repairs);
    const calls = objectsIn(message.tool_calls);
    calls.forEach((call, at) => {
      nameCall(call, at, repairs);
      if (!isJsonObject(call.function)) return;
      const text = argumentsText(call.function.arguments);
      put(call.function, "arguments", text, "arguments_object", repairs);
      put(call.function, "arguments", givenText(text) ?? "{}", "empty_arguments", repairs);
    });
    repairFinish(choice, finishWord(choice.finish_reason) ?? "stop", calls, repairs);
  });
  return [...repairs];
}

function parseObject(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
