import { isJsonObject, type JsonObject } from "../../core/json-value.ts";

/**
 * Named repairs for vendors that are only compatible with chat completions. Each acts on evidence in the answer
 * alone, so none has to be switched on; an answer that needs none keeps its bytes. Evidence: the vendors table and
 * recorded traffic; each has a test in `repairs.test.ts`.
 */
export type RepairName =
  | "usage_in_choice"
  | "usage_in_x_groq"
  | "error_in_x_groq"
  | "chunk_object"
  | "choice_index"
  | "choice_delta"
  | "choice_message"
  | "first_role"
  | "finish_reason_word"
  | "second_finish"
  | "finish_after_tool_calls"
  | "content_parts"
  | "tool_call_index"
  | "tool_call_id"
  | "tool_call_type"
  | "tool_call_repeated"
  | "arguments_object"
  | "empty_arguments";

/** Repairs the chunks of one stream; later chunks are read in the light of earlier ones. */
export interface ChunkRepairs {
  /** The chunks to send for one that came: itself when nothing was wrong; `undefined` when it is no JSON object. */
  apply(text: string): readonly string[] | undefined;
  applied(): readonly RepairName[];
}

interface ToolCallState {
  readonly index: number;
  readonly upstreamIndex: unknown;
  readonly id: string;
  hasArguments: boolean;
}

interface ChoiceState {
  started: boolean;
  finished: boolean;
  readonly calls: ToolCallState[];
}

/** Vendors' words for the reasons of the interface. */
const FINISH_WORDS: Readonly<Record<string, string>> = {
  eos: "stop",
  stop_sequence: "stop",
  end_turn: "stop",
  model_length: "length",
  max_tokens: "length",
  sensitive: "content_filter",
  tool_use: "tool_calls",
  network_error: "error",
  insufficient_system_resource: "error",
};

/** Repairs for one stream. */
export function createChunkRepairs(): ChunkRepairs {
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
      liftUsage(chunk, mark);
      if (chunk.error !== undefined && chunk.error !== null)
        return [marks.changed ? JSON.stringify(chunk) : text];
      const given = Array.isArray(chunk.choices) ? chunk.choices.length : 0;
      const extra = Array.isArray(chunk.choices) ? repairChoices(chunk, choices, mark) : [];
      if (!marks.changed && applied.size === before) return [text];
      const silent = given > 0 && (chunk.choices as unknown[]).length === 0 && !isJsonObject(chunk.usage);
      return silent ? extra : [...extra, JSON.stringify(chunk)];
    },
    applied: () => [...applied],
  };
}

type Mark = (name: RepairName) => void;

/** Usage (and errors) where the vendor put them, moved to where clients and we look. */
function liftUsage(holder: JsonObject, mark: Mark): void {
  const groq = holder.x_groq;
  if (isJsonObject(groq)) {
    if (isJsonObject(groq.error) && holder.error === undefined) {
      holder.error = groq.error;
      mark("error_in_x_groq");
    }
    if (isJsonObject(groq.usage) && !isJsonObject(holder.usage)) {
      holder.usage = groq.usage;
      mark("usage_in_x_groq");
    }
  }
  const first: unknown = Array.isArray(holder.choices) ? holder.choices[0] : undefined;
  if (!isJsonObject(first) || !isJsonObject(first.usage)) return;
  if (!isJsonObject(holder.usage)) holder.usage = first.usage;
  delete first.usage;
  mark("usage_in_choice");
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
    const state = states.get(index) ?? { started: false, finished: false, calls: [] };
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
    choice.delta = isJsonObject(choice.message) ? { content: choice.message.content } : {};
    mark("choice_delta");
  }
  const delta = choice.delta as JsonObject;
  if (splitContent(delta)) mark("content_parts");
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
  if (Array.isArray(current.tool_calls)) repairFragments(current, state, mark);
  return repairFinish(choice, state, mark, before);
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

function finishWord(reason: unknown): string | null {
  if (typeof reason !== "string" || reason === "") return null;
  return Object.hasOwn(FINISH_WORDS, reason) ? (FINISH_WORDS[reason] as string) : reason;
}

function saysSomething(delta: JsonObject): boolean {
  return Object.entries(delta).some(
    ([key, value]) =>
      key !== "role" && value !== null && value !== "" && !(Array.isArray(value) && value.length === 0),
  );
}

/** Gives each fragment the form that clients join by: a contiguous index, and id, type and name exactly once. */
function repairFragments(delta: JsonObject, state: ChoiceState, mark: Mark): void {
  const fragments = (delta.tool_calls as unknown[]).filter(isJsonObject);
  delta.tool_calls = fragments.map((fragment) => {
    const id = typeof fragment.id === "string" && fragment.id !== "" ? fragment.id : undefined;
    const known = findCall(state.calls, id, fragment.index);
    const call = known ?? startCall(state, id, fragment, mark);
    if (fragment.index !== call.index) {
      fragment.index = call.index;
      mark("tool_call_index");
    }
    const called = isJsonObject(fragment.function) ? fragment.function : {};
    fragment.function = called;
    if (repairArguments(called)) mark("arguments_object");
    if (typeof called.arguments === "string" && called.arguments !== "") call.hasArguments = true;
    if (known !== undefined && dropRepeated(fragment, called)) mark("tool_call_repeated");
    return fragment;
  });
}

/**
 * The call that a fragment belongs to; `undefined` when it begins one. Where the vendor counts, its index decides, and
 * a new id under an old index is a new call; where it does not, the id decides, and without one the last call goes on.
 */
function findCall(
  calls: readonly ToolCallState[],
  id: string | undefined,
  index: unknown,
): ToolCallState | undefined {
  const counted = typeof index === "number" ? calls.filter((call) => call.upstreamIndex === index) : calls;
  return id === undefined ? counted.at(-1) : counted.find((call) => call.id === id);
}

function startCall(
  state: ChoiceState,
  id: string | undefined,
  fragment: JsonObject,
  mark: Mark,
): ToolCallState {
  const index = state.calls.length;
  if (id === undefined) {
    fragment.id = `call_${index}`;
    mark("tool_call_id");
  }
  if (fragment.type !== "function" && fragment.type !== "custom") {
    fragment.type = "function";
    mark("tool_call_type");
  }
  const call: ToolCallState = {
    index,
    upstreamIndex: fragment.index,
    id: fragment.id as string,
    hasArguments: fragment.type === "custom",
  };
  state.calls.push(call);
  return call;
}

/** Arguments as text: some vendors send the object itself. */
function repairArguments(called: JsonObject): boolean {
  if (called.arguments === undefined || typeof called.arguments === "string") return false;
  called.arguments = called.arguments === null ? "" : JSON.stringify(called.arguments);
  return true;
}

function dropRepeated(fragment: JsonObject, called: JsonObject): boolean {
  const repeated = "id" in fragment || "type" in fragment || "name" in called;
  delete fragment.id;
  delete fragment.type;
  delete called.name;
  return repeated;
}

/**
 * Content given as parts (Mistral): text joined into `content`, thinking into `reasoning_content`. Content with any
 * other kind of part is left as it is, so that nothing is lost.
 */
function splitContent(holder: JsonObject): boolean {
  const parts = holder.content;
  if (
    !Array.isArray(parts) ||
    !parts.every((part) => isJsonObject(part) && (part.type === "text" || part.type === "thinking"))
  ) {
    return false;
  }
  let text = "";
  let thinking = "";
  for (const part of parts as JsonObject[]) {
    if (part.type === "text") text += typeof part.text === "string" ? part.text : "";
    else thinking += thinkingText(part.thinking);
  }
  holder.content = text === "" && thinking !== "" ? null : text;
  if (thinking !== "") holder.reasoning_content = thinking;
  return true;
}

function thinkingText(thinking: unknown): string {
  if (typeof thinking === "string") return thinking;
  if (!Array.isArray(thinking)) return "";
  return thinking
    .map((part) => (isJsonObject(part) && typeof part.text === "string" ? part.text : ""))
    .join("");
}

/** Repairs a whole answer in place; returns the names of what was wrong. */
export function repairAnswer(answer: JsonObject): readonly RepairName[] {
  const applied = new Set<RepairName>();
  const mark: Mark = (name) => void applied.add(name);
  liftUsage(answer, mark);
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
