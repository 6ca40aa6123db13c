import { filledText, isJsonObject, type JsonObject, objectsIn } from "../../core/json/json-value.ts";
import { errorWithin } from "../refusal.ts";
import type { EventRepairs } from "../stream.ts";
import { saysSomething } from "./empty.ts";

/**
 * Named repairs for vendors that are only compatible with chat completions. Each acts on evidence in the answer
 * alone, so none has to be switched on; an answer that needs none keeps its bytes. Evidence: the vendors table and
 * recorded traffic; each has a test in `repairs.test.ts`.
 */
export type RepairName =
  | "usage_in_choice"
  | "usage_in_x_groq"
  | "error_in_x_groq"
  | "error_in_base_resp"
  | "error_in_choice"
  | "error_without_wrapper"
  | "choices_null"
  | "chunk_object"
  | "choice_index"
  | "choice_delta"
  | "choice_message"
  | "first_role"
  | "finish_reason_word"
  | "second_finish"
  | "finish_after_tool_calls"
  | "content_parts"
  | "cumulative_details"
  | "tool_call_index"
  | "tool_call_id"
  | "tool_call_type"
  | "tool_call_repeated"
  | "arguments_object"
  | "empty_arguments";

type Repairs = Set<RepairName>;

/** Gives a member its value, and notes the repair where it had another one. */
function put(holder: JsonObject, name: string, value: unknown, repair: RepairName, repairs: Repairs): void {
  if (holder[name] === value) return;
  holder[name] = value;
  repairs.add(repair);
}

class ChoiceState {
  started = false;
  finished = false;
  /** Its text so far. */
  text = "";
  /** More of it. */
  readonly hear = (text: string): void => void (this.text += text);
  /** The text so far of MiniMax's reasoning, by item. */
  readonly details = new Map<string, string>();
  readonly calls: ToolCallState[] = [];
}

type States = Map<unknown, ChoiceState>;

/** What is known of a tool call of a stream. */
interface ToolCallState {
  readonly index: number;
  readonly upstreamIndex: unknown;
  readonly id: unknown;
  hasArguments: boolean;
}

/** Repairs for one stream: later chunks are read in the light of earlier ones. */
export function createChunkRepairs(): EventRepairs {
  return new ChunkRepairs();
}

class ChunkRepairs implements EventRepairs {
  more: EventRepairs["more"];
  readonly #applied = new Set<RepairName>();
  readonly #states: States = new Map();

  apply(text: string): readonly string[] | undefined {
    this.more = undefined;
    const chunk = parseObject(text);
    if (chunk === undefined) return undefined;
    const repairs: Repairs = new Set();
    const sent = repairChunk(chunk, this.#states, repairs);
    if (repairs.size === 0) {
      this.more = hearerOf(chunk, this.#states);
      return [text];
    }
    for (const name of repairs) this.#applied.add(name);
    return sent.map((each) => JSON.stringify(each));
  }

  applied(): readonly string[] {
    return [...this.#applied];
  }
}

/** Members of a delta that are text, of which `content` is remembered. */
const TEXTS = ["content", "reasoning_content", "reasoning", "refusal"];

/**
 * Takes the text of chunks that are like this one, which needed no repair. `undefined` unless the chunk says one text
 * of one choice, and nothing else whose reading depends on what came before.
 */
function hearerOf({ choices }: JsonObject, states: States): EventRepairs["more"] {
  const [choice, ...others] = objectsIn(choices);
  const delta = choice?.delta;
  if (choice === undefined || others.length > 0 || !isJsonObject(delta)) return undefined;
  const { finish_reason: finish, index } = choice;
  if (typeof finish === "string" || Array.isArray(delta.tool_calls) || Array.isArray(delta.reasoning_details))
    return undefined;
  const [said, ...more] = TEXTS.filter((name) => filledText(delta[name]) !== undefined);
  const state = states.get(index);
  if (said === undefined || more.length > 0 || state === undefined) return undefined;
  return said === "content" ? state.hear : hearNothing;
}

function hearNothing(): void {}

/** Returns what is to be sent for a chunk, which is repaired in place. */
function repairChunk(chunk: JsonObject, states: States, repairs: Repairs): readonly JsonObject[] {
  liftUsageAndError(chunk, repairs);
  if (chunk.error !== undefined && chunk.error !== null) return [chunk];
  if (chunk.choices === null) put(chunk, "choices", [], "choices_null", repairs);
  const given: unknown = chunk.choices;
  if (!Array.isArray(given)) return [chunk];
  put(chunk, "object", "chat.completion.chunk", "chunk_object", repairs);
  const said = given.map((choice: unknown, i) => {
    if (!isJsonObject(choice)) return [];
    put(choice, "index", typeof choice.index === "number" ? choice.index : i, "choice_index", repairs);
    const state = states.get(choice.index) ?? new ChoiceState();
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

/** Returns the choice, unless it says nothing, behind what must be sent before it. */
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
  repairFinish(choice, finishWord(choice.finish_reason), state.calls.length, repairs);
  if (choice.finish_reason === null) return [choice];
  if (state.finished) {
    put(choice, "finish_reason", null, "second_finish", repairs);
    return saysSomething(delta) ? [choice] : [];
  }
  state.finished = true;
  return [...fillArguments(choice, state.calls, repairs), choice];
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
    if (filledText(called.arguments) !== undefined) call.hasArguments = true;
    if (known === undefined || !("id" in fragment || "type" in fragment || "name" in called)) continue;
    delete fragment.id;
    delete fragment.type;
    delete called.name;
    repairs.add("tool_call_repeated");
  }
}

/**
 * The call that a fragment belongs to; `undefined` when it begins one. Where the vendor counts, its index decides, and
 * a new id under an old index is a new call. Where it does not, the id decides, and a fragment without one continues
 * the last call.
 */
function findCall(calls: readonly ToolCallState[], { id, index }: JsonObject): ToolCallState | undefined {
  const counted = typeof index === "number" ? calls.filter((call) => call.upstreamIndex === index) : calls;
  return filledText(id) === undefined ? counted.at(-1) : counted.find((call) => call.id === id);
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
  put(call, "id", filledText(call.id) ?? `call_${index}`, "tool_call_id", repairs);
  put(call, "type", call.type === "custom" ? "custom" : "function", "tool_call_type", repairs);
}

/** Says why a choice ended; one that calls tools ends for them, whatever its vendor's word for a good end. */
function repairFinish(choice: JsonObject, word: string | null, calls: number, repairs: Repairs): void {
  if (word === "stop" && calls > 0)
    put(choice, "finish_reason", "tool_calls", "finish_after_tool_calls", repairs);
  else put(choice, "finish_reason", word, "finish_reason_word", repairs);
}

/** Gives `{}` to calls that end without arguments: in the fragment that begins them here, else in a choice sent before. */
function fillArguments(choice: JsonObject, calls: readonly ToolCallState[], repairs: Repairs): JsonObject[] {
  const empty = calls.filter((call) => !call.hasArguments);
  if (empty.length > 0) repairs.add("empty_arguments");
  const here = objectsIn((choice.delta as JsonObject).tool_calls);
  const earlier = empty.filter((call) => {
    const fragment = here.find((candidate) => candidate.index === call.index);
    if (fragment !== undefined) (fragment.function as JsonObject).arguments = "{}";
    return fragment === undefined;
  });
  if (earlier.length === 0) return [];
  const fragments = earlier.map(({ index }) => ({ index, function: { arguments: "{}" } }));
  return [{ index: choice.index, delta: { tool_calls: fragments }, finish_reason: null }];
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
      put(call.function, "arguments", filledText(text) ?? "{}", "empty_arguments", repairs);
    });
    repairFinish(choice, finishWord(choice.finish_reason) ?? "stop", calls.length, repairs);
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

/** Usage and errors where the vendor put them, moved to where clients and we look. */
function liftUsageAndError(holder: JsonObject, repairs: Repairs): void {
  const groq = isJsonObject(holder.x_groq) ? holder.x_groq : {};
  // Groq's own SDK has the error as a string.
  const isError = isJsonObject(groq.error) || filledText(groq.error) !== undefined;
  if (isError && holder.error === undefined) put(holder, "error", groq.error, "error_in_x_groq", repairs);
  if (isJsonObject(groq.usage) && !isJsonObject(holder.usage))
    put(holder, "usage", groq.usage, "usage_in_x_groq", repairs);
  const error = errorWithin(holder);
  if (error !== undefined) put(holder, "error", error, errorPlace(holder), repairs);
  const [first] = Array.isArray(holder.choices) ? (holder.choices as readonly unknown[]) : [];
  if (!isJsonObject(first) || !isJsonObject(first.usage)) return;
  if (!isJsonObject(holder.usage)) holder.usage = first.usage;
  delete first.usage;
  repairs.add("usage_in_choice");
}

/** Where an error stands that is not in its place: MiniMax's `base_resp`, vLLM's chunk that is one, OpenRouter's choice. */
function errorPlace({ base_resp: base, object }: JsonObject): RepairName {
  if (isJsonObject(base) && base.status_code !== 0) return "error_in_base_resp";
  return object === "error" ? "error_without_wrapper" : "error_in_choice";
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
  // vLLM and SGLang, of a request that they gave up.
  abort: "error",
};

/** A vendor's reason to end in the interface's word; `null` where it gives none. */
function finishWord(reason: unknown): string | null {
  if (typeof reason !== "string" || reason === "") return null;
  return Object.hasOwn(FINISH_WORDS, reason) ? (FINISH_WORDS[reason] as string) : reason;
}

/** Arguments as text: some vendors send the object itself. */
function argumentsText(given: unknown): string | undefined {
  if (given === undefined || typeof given === "string") return given;
  return given === null ? "" : JSON.stringify(given);
}

/**
 * Content given as parts (Mistral): text joined into `content`, which clients join as text, thinking into
 * `reasoning_content`. Parts of any other kind stand whole in `content_parts`, so that nothing is lost.
 */
function joinContent(holder: JsonObject, repairs: Repairs): void {
  const parts: unknown = holder.content;
  if (!Array.isArray(parts)) return;
  repairs.add("content_parts");
  let text = "";
  let thinking = "";
  const others: unknown[] = [];
  for (const part of parts as readonly unknown[]) {
    if (isJsonObject(part) && part.type === "text") text += textIn(part.text);
    else if (isJsonObject(part) && part.type === "thinking") thinking += textIn(part.thinking);
    else others.push(part);
  }
  holder.content = text === "" && (thinking !== "" || others.length > 0) ? null : text;
  if (thinking !== "") holder.reasoning_content = thinking;
  if (others.length > 0) holder.content_parts = others;
}

/** A text, or those of the parts in its place. */
function textIn(said: unknown): string {
  if (typeof said === "string") return said;
  return objectsIn(said)
    .map(({ text }) => filledText(text) ?? "")
    .join("");
}

/** MiniMax sends an item's whole text again with every chunk; what has come already is taken out. */
function keepNewDetails(delta: JsonObject, seen: Map<string, string>, repairs: Repairs): void {
  for (const item of objectsIn(delta.reasoning_details)) {
    const { text, format } = item;
    if (typeof text !== "string" || typeof format !== "string" || !/^minimax/i.test(format)) continue;
    const key = JSON.stringify([item.id, item.index]);
    const before = seen.get(key) ?? "";
    const isWhole = before !== "" && text.startsWith(before);
    seen.set(key, isWhole ? text : before + text);
    if (isWhole) put(item, "text", text.slice(before.length), "cumulative_details", repairs);
  }
}
