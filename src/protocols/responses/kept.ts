import { setMembers } from "../../core/json/json-splice.ts";
import { filledText, isJsonObject, type JsonObject, objectsIn, present } from "../../core/json/json-value.ts";
import { parseExact } from "../exact-json.ts";
import type { FoundState, RequestState } from "../protocol.ts";
import { type RequestJson, spanText } from "../request-json.ts";
import { noSuchItem } from "./not-kept.ts";

/** The type of an item, which clients leave out of messages and references, or write as null. */
export function itemType({ type, role, id }: JsonObject): string | undefined {
  if (typeof type === "string") return type;
  if (typeof role === "string") return "message";
  return typeof id === "string" ? "item_reference" : undefined;
}

/** What a request names of earlier answers, and whether its own is to be kept. */
export function stateOf(body: Readonly<JsonObject>): RequestState {
  const items: string[] = [];
  for (const item of objectsIn(body.input))
    if (itemType(item) === "item_reference") items.push(filledText(item.id) ?? "");
  const previous = filledText(body.previous_response_id);
  const state = { keeps: body.store !== false, ...present({ previous }) };
  const isNaming = previous !== undefined || items.length > 0;
  return isNaming ? { ...state, names: { items, ...present({ previous }) } } : state;
}

/** A body with all that it named in it, and its own items. */
export interface ResolvedBody {
  readonly bytes: Uint8Array;
  readonly own: string;
}

/** Puts what was found into a request: what was said before comes first, and items stand where they were named. */
export function resolveBody(json: RequestJson, { before, items }: FoundState): ResolvedBody {
  const own = ownItems(json, (id) => {
    const item = items[id];
    if (item === undefined) throw noSuchItem(id);
    return item;
  });
  const input = before === "" || own === "" ? before + own : `${before},${own}`;
  return { bytes: setMembers(json.bytes, { input: `[${input}]` }), own: `[${own}]` };
}

/** The items of a request that named none, as a JSON text. */
export function ownInput(json: RequestJson): string {
  const text = spanText(json, "input") ?? "[]";
  if (typeof json.value.input === "string") return `[${ownMessage(text)}]`;
  const { input } = json.value;
  // Nobody asks for a hand-over again by going on from it.
  return objectsIn(input).at(-1)?.type === "compaction_trigger" ? `[${ownItems(json, noSuch)}]` : text;
}

function noSuch(id: string): never {
  throw noSuchItem(id);
}

/** Own items as JSON texts with commas between them; each number keeps its digits. */
function ownItems(json: RequestJson, itemOf: (id: string) => string): string {
  const text = spanText(json, "input") ?? "[]";
  if (typeof json.value.input === "string") return ownMessage(text);
  return objectsIn(parseExact(text))
    .filter(({ type }) => type !== "compaction_trigger")
    .map((item) =>
      itemType(item) === "item_reference" ? itemOf(filledText(item.id) ?? "") : JSON.stringify(item),
    )
    .join(",");
}

function ownMessage(content: string): string {
  return `{"type":"message","role":"user","content":${content}}`;
}

/** An answer in the parts that are kept of it. */
export interface AnswerParts {
  readonly id: string;
  /** The items of its output as a JSON text, and their ids. */
  readonly output: string;
  readonly items: readonly string[];
  /** The response object without them. */
  readonly frame: string;
}

/** Takes a response object apart; `undefined` for one that cannot be named. */
export function partsOf(response: string): AnswerParts | undefined {
  const value = parseExact(response);
  const id = isJsonObject(value) ? filledText(value.id) : undefined;
  if (!isJsonObject(value) || id === undefined) return undefined;
  const output = objectsIn(value.output);
  return {
    id,
    output: JSON.stringify(output),
    items: output.flatMap((item) => filledText(item.id) ?? []),
    frame: JSON.stringify({ ...value, output: [] }),
  };
}

/** The response object that was taken apart. */
export function wholeAnswer({ frame, output }: Pick<AnswerParts, "frame" | "output">): Uint8Array {
  return setMembers(new TextEncoder().encode(frame), { output });
}

/** The items of a JSON text, each as one, by its id. */
export function itemsById(output: string): Readonly<Record<string, string>> {
  const items = objectsIn(parseExact(output));
  return Object.fromEntries(items.map((item) => [filledText(item.id) ?? "", JSON.stringify(item)]));
}

/** The item of an answer's input that our id of it names. */
export function inputItemNamed(
  id: string,
): { readonly response: string; readonly place: number } | undefined {
  const [, place = "", response = ""] = /^[a-z]{2,4}_(0|[1-9][0-9]{0,4})_(.+)$/.exec(id) ?? [];
  return place === "" ? undefined : { response, place: Number(place) };
}

/** Id of an item in an answer's input that came without one: the answer's own, and its place there. */
function inputItemId(item: JsonObject, place: number, response: string): string {
  const prefix = INPUT_PREFIXES[itemType(item) ?? ""] ?? "item";
  return `${prefix}_${place}_${response}`;
}

const INPUT_PREFIXES: Readonly<Record<string, string>> = {
  message: "msg",
  reasoning: "rs",
  function_call: "fc",
  function_call_output: "fco",
  custom_tool_call: "ctc",
  custom_tool_call_output: "ctco",
  compaction: "cmp",
};

/** The items of a list, each as a JSON text. */
export function itemsIn(list: string): readonly string[] {
  return objectsIn(parseExact(list)).map((item) => JSON.stringify(item));
}

/** An answer in a conversation. */
export interface Round {
  readonly id: string;
  /** Lists of items as JSON texts. */
  readonly input: string;
  readonly output: string;
}

/** The items that the last of these answers was given, oldest first, each with an id. */
export function itemsOfRounds(rounds: readonly Round[]): readonly JsonObject[] {
  return rounds.flatMap(({ id, input, output }, i) => {
    const asked = objectsIn(parseExact(input)).map((item, place) => listedItem(item, place, id));
    return i === rounds.length - 1 ? asked : [...asked, ...objectsIn(parseExact(output))];
  });
}

/** An item as lists have it: its id and its type told, and text as a part. */
export function listedItem(item: JsonObject, place: number, response: string): JsonObject {
  const id = filledText(item.id) ?? inputItemId(item, place, response);
  if (itemType(item) !== "message") return { ...item, id };
  const { content, role } = item;
  const type = role === "assistant" ? "output_text" : "input_text";
  const parts = typeof content === "string" ? [{ type, text: content }] : content;
  return { ...item, id, type: "message", status: item.status ?? "completed", content: parts };
}

/** What stands between the brackets of a list. */
export function inList(text: string): string {
  return text.trim().slice(1, -1).trim();
}
