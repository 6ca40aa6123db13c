import { isJsonObject, type JsonObject } from "../../core/json-value.ts";
import type { EventRepairs } from "../stream.ts";
import { repairFragments, type ToolCallState } from "./repair-calls.ts";
import {
  finishWord,
  liftUsageAndError,
  type Mark,
  repairArguments,
  type RepairName,
  splitContent,
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

/** Repairs for one stream: later chunks are read in the light of earlier ones. */
export function createChunkRepairs(): EventRepairs {
  const applied = new Set<RepairName>();
  const choices = new Map<number, ChoiceState>();
  const note = (name: RepairName): void => {
    applied.add(name);
  };

  return {
    apply(text) {
      const chunk = parseObject(text);
      if (chunk === undefined) return undefined;
      const before = applied.size;
      const marks = { changed: false };
      const mark = (name: RepairName): void => {
        marks.changed = true;
        note(name);
      };
      liftUsageAndError(chunk, mark);
      if (chunk.error !== undefined && chunk.error !== null)
        return [marks.changed ? JSON.stringify(chunk) : text];
      if (chunk.choices === null) {
        chunk.choices = [];
        mark("choices_null");
      }
      const given = Array.isArray(chunk.choices) ? chunk.choices.length : 0;
      const extra = Array.isArray(chunk.choices) ? repairChoices(chunk, choices, mark) : [];
      if (!marks.changed && applied.size === before) return [text];
      const silent = given > 0 && (chunk.choices as unknown[]).length === 0 && !isJsonObject(chunk.usage);
      return silent ? extra : [...extra, JSON.stringify(chunk)];
    },
    applied: () => [...applied],
  };
}

/** Repairs the choices of a chunk in place; returns chunks that must go before it. */
function repairChoices(chunk: JsonObject, states: Map<number, ChoiceState>, mark: Mark): string[] {
  const extra: string[] = [];
  if (chunk.object !== "chat.completion.chunk") {
    chunk.object = "chat.completion.chunk";
    mark("chunk_object");
  }
  const kept = (chunk.choices as unknown[]).filter((choice, i): choice is JsonObject => {
    if (!isJsonObject(choice)) return false;
    if (typeof choice.index !== "number") {
      choice.index = i;
      mark("choice_index");
    }
    const index = choice.index as number;
    const state = states.get(index) ?? {
      started: false,
      finished: false,
      text: "",
      details: new Map(),
      calls: [],
    };
    states.set(index, state);
    return repairChoice(choice, state, mark, (fragment) =>
      extra.push(JSON.stringify({ ...chunk, usage: undefined, choices: [fragment] })),
    );
  });
  chunk.choices = kept;
  return extra;
}

/** Repairs one choice of a chunk in place; `false` when nothing of it is left to say. */
function repairChoice(
  choice: JsonObject,
  state: ChoiceState,
  mark: Mark,
  before: (choice: JsonObject) => void,
): boolean {
  if (!isJsonObject(choice.delta)) {
    choice.delta = isJsonObject(choice.message) ? deltaOf(choice.message, state) : {};
    delete choice.message;
    mark("choice_delta");
  }
  const delta = choice.delta as JsonObject;
  if (splitContent(delta)) mark("content_parts");
  if (typeof delta.content === "string") state.text += delta.content;
  if (onlyNewDetails(delta, state.details)) mark("cumulative_details");
  if (!state.started && delta.role !== "assistant") {
    choice.delta = {
      role: "assistant",
      ...delta,
      ...(delta.role === undefined ? {} : { role: "assistant" }),
    };
    mark("first_role");
  }
  state.started = true;
  const current = choice.delta as JsonObject;
  if (Array.isArray(current.tool_calls)) repairFragments(current, state.calls, mark);
  return repairFinish(choice, state, mark, before);
}

/** A whole message at the end of a stream (MiniMax): what of it has not come yet. */
function deltaOf({ content, tool_calls: calls }: JsonObject, state: ChoiceState): JsonObject {
  const text =
    typeof content === "string" && content.startsWith(state.text) ? content.slice(state.text.length) : "";
  return {
    ...(text === "" ? {} : { content: text }),
    ...(Array.isArray(calls) && state.calls.length === 0 ? { tool_calls: calls } : {}),
  };
}

/** MiniMax sends an item's whole text again with every chunk; what has come already is taken out. */
function onlyNewDetails(delta: JsonObject, seen: Map<string, string>): boolean {
  const items = Array.isArray(delta.reasoning_details) ? delta.reasoning_details.filter(isJsonObject) : [];
  let repeated = false;
  for (const item of items) {
    if (typeof item.text !== "string" || typeof item.format !== "string" || !/^minimax/i.test(item.format))
      continue;
    const key = JSON.stringify([item.id, item.index]);
    const before = seen.get(key) ?? "";
    const whole = before !== "" && item.text.startsWith(before);
    seen.set(key, whole ? item.text : before + item.text);
    if (!whole) continue;
    item.text = item.text.slice(before.length);
    repeated = true;
  }
  return repeated;
}

function repairFinish(
  choice: JsonObject,
  state: ChoiceState,
  mark: Mark,
  before: (choice: JsonObject) => void,
): boolean {
  if (!("finish_reason" in choice) || choice.finish_reason === null) return true;
  let reason = finishWord(choice.finish_reason);
  if (reason === "stop" && state.calls.length > 0) {
    reason = "tool_calls";
    mark("finish_after_tool_calls");
  } else if (reason !== choice.finish_reason) mark("finish_reason_word");
  choice.finish_reason = reason;
  if (reason === null) return true;
  if (state.finished) {
    mark("second_finish");
    choice.finish_reason = null;
    return saysSomething(choice.delta as JsonObject);
  }
  state.finished = true;
  const empty = state.calls.filter((call) => !call.hasArguments);
  if (empty.length > 0) {
    mark("empty_arguments");
    fillArguments(choice, empty, before);
  }
  return true;
}

/** Gives `{}` to calls that end without arguments: in the fragment that begins them here, else in one sent before. */
function fillArguments(
  choice: JsonObject,
  empty: readonly ToolCallState[],
  before: (choice: JsonObject) => void,
): void {
  const fragments = (choice.delta as JsonObject).tool_calls;
  const here = Array.isArray(fragments) ? (fragments as JsonObject[]) : [];
  const earlier = empty.filter((call) => {
    const fragment = here.find((candidate) => candidate.index === call.index);
    if (fragment === undefined) return true;
    (fragment.function as JsonObject).arguments = "{}";
    return false;
  });
  if (earlier.length === 0) return;
  before({
    index: choice.index,
    delta: { tool_calls: earlier.map((call) => ({ index: call.index, function: { arguments: "{}" } })) },
    finish_reason: null,
  });
}

function saysSomething(delta: JsonObject): boolean {
  return Object.entries(delta).some(
    ([key, value]) =>
      key !== "role" && value !== null && value !== "" && !(Array.isArray(value) && value.length === 0),
  );
}

/** Repairs a whole answer in place; returns the names of what was wrong. */
export function repairAnswer(answer: JsonObject): readonly RepairName[] {
  const applied = new Set<RepairName>();
  const mark: Mark = (name) => void applied.add(name);
  liftUsageAndError(answer, mark);
  if (answer.object !== "chat.completion") {
    answer.object = "chat.completion";
    mark("chunk_object");
  }
  (answer.choices as unknown[])
    .filter(isJsonObject)
    .forEach((choice, i) => repairWholeChoice(choice, i, mark));
  return [...applied];
}

function repairWholeChoice(choice: JsonObject, i: number, mark: Mark): void {
  if (typeof choice.index !== "number") {
    choice.index = i;
    mark("choice_index");
  }
  if (!isJsonObject(choice.message)) {
    choice.message = { role: "assistant", content: null };
    mark("choice_message");
  }
  const message = choice.message as JsonObject;
  if (splitContent(message)) mark("content_parts");
  if (message.role !== "assistant") {
    message.role = "assistant";
    mark("first_role");
  }
  const calls = Array.isArray(message.tool_calls) ? message.tool_calls.filter(isJsonObject) : [];
  calls.forEach((call, at) => repairWholeCall(call, at, mark));
  const word = finishWord(choice.finish_reason) ?? "stop";
  const reason = word === "stop" && calls.length > 0 ? "tool_calls" : word;
  if (reason !== choice.finish_reason)
    mark(reason === "tool_calls" ? "finish_after_tool_calls" : "finish_reason_word");
  choice.finish_reason = reason;
}

function repairWholeCall(call: JsonObject, at: number, mark: Mark): void {
  if (typeof call.id !== "string" || call.id === "") {
    call.id = `call_${at}`;
    mark("tool_call_id");
  }
  if (call.type !== "function" && call.type !== "custom") {
    call.type = "function";
    mark("tool_call_type");
  }
  if (!isJsonObject(call.function)) return;
  if (repairArguments(call.function)) mark("arguments_object");
  if (call.function.arguments === "" || call.function.arguments === undefined) {
    call.function.arguments = "{}";
    mark("empty_arguments");
  }
}

function parseObject(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

export type { RepairName } from "./repair-parts.ts";
