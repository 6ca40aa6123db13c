import type { Json } from "../wire-json.ts";

/**
 * What a request means, in no format, as a reader of its wire format understands it. Calls are known by their place in
 * the conversation, so that ids may differ from wire to wire.
 */
export interface Meaning {
  /** Texts that stand before the conversation. */
  system: Item[];
  turns: MeantTurn[];
  tools: MeantTool[];
  choice: Json;
  /** Whether several calls at once are allowed. */
  parallel: boolean | undefined;
  most: number | undefined;
  temperature: number | undefined;
  topP: number | undefined;
  presence: number | undefined;
  frequency: number | undefined;
  seed: number | undefined;
  stop: string[];
  answers: number;
  logprobs: Json;
  thinking: MeantThinking | undefined;
  /** `json`, or a schema. */
  form: Json;
  user: string | undefined;
}

/** One side's turn: what was said in messages that follow one another is one turn. */
export interface MeantTurn {
  readonly role: "user" | "assistant";
  readonly items: Item[];
}

/** A piece of a turn: `text`, `image`, `document`, `audio`, `video`, `call`, `result`, `thinking`. */
export interface Item {
  readonly is: string;
  readonly [member: string]: Json;
}

/** A function that may be called. */
export interface MeantTool {
  readonly name: string;
  readonly description: string | undefined;
  readonly schema: Json;
  readonly strict: boolean;
  readonly cache?: Json;
}

/** How much shall be thought. */
export interface MeantThinking {
  readonly on?: boolean;
  readonly effort?: string;
  readonly budget?: number;
  /** Whether the thinking shall be shown. */
  readonly shown?: boolean;
}

/** A request that says nothing. */
export function noMeaning(): Meaning {
  return {
    system: [],
    turns: [],
    tools: [],
    choice: undefined,
    parallel: undefined,
    most: undefined,
    temperature: undefined,
    topP: undefined,
    presence: undefined,
    frequency: undefined,
    seed: undefined,
    stop: [],
    answers: 1,
    logprobs: undefined,
    thinking: undefined,
    form: undefined,
    user: undefined,
  };
}

/** Adds what a message says to the turn of its side. */
export function addTurn(meaning: Meaning, role: "user" | "assistant", items: readonly Item[]): void {
  const last = meaning.turns.at(-1);
  if (items.length === 0) return;
  if (last?.role === role) last.items.push(...items);
  else meaning.turns.push({ role, items: [...items] });
}

/** The calls of a conversation, numbered as they come; results find theirs by id, or by name where there is none. */
export function callNumbers(): {
  call(id: string | undefined, name: string): number;
  result(id: string | undefined, name?: string): number;
} {
  const calls: { id: string | undefined; name: string; answered: boolean }[] = [];
  return {
    call(id, name) {
      calls.push({ id, name, answered: false });
      return calls.length;
    },
    result(id, name) {
      const at = calls.findIndex(
        (call) => !call.answered && (id === undefined ? call.name === name : call.id === id),
      );
      const call = calls[at];
      if (call === undefined || (name !== undefined && call.name !== name))
        throw new Error(`a result of no call: ${id} ${name}`);
      call.answered = true;
      return at + 1;
    },
  };
}

/** The result of a tool, as its value: JSON where it is an object or a list, else the text. */
export function resultValue(text: string): Json {
  if (!/^\s*[{[]/.test(text)) return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** Fails for members that a reader does not know: what is not read is not compared. */
export function onlyKnown(fields: Json, known: string, where: string): void {
  const names = new Set(known.split(" "));
  const unknown = Object.keys(fields).filter((name) => !names.has(name));
  if (unknown.length > 0) throw new Error(`${where}: the reader does not know ${unknown.join(", ")}`);
}
