import { isJsonObject, type JsonObject } from "../../core/json-value.ts";
import { contentHash } from "../../runtime/hash.ts";
import type { Ask, AskedTool } from "./ask.ts";
import { type Chance, createChance } from "./chance.ts";
import { answerImageOrder, type ImageOrder } from "./image-order.ts";
import { sampleValue } from "./sample.ts";
import type { Seal } from "./seal.ts";
import { fitText, tokensOf } from "./text-pieces.ts";
import { chooseSentence } from "./words.ts";

/** An answer in no format. */
export interface Answer {
  /** Hex digits that name it. */
  readonly id: string;
  readonly choices: readonly Choice[];
  readonly usage: SandboxUsage;
}

/** Tokens by what they are; output of all choices. */
export interface SandboxUsage {
  readonly input: number;
  readonly text: number;
  readonly thinking: number;
  readonly image: number;
}

/** One answer to the request, and why it ended. */
export interface Choice {
  readonly pieces: readonly Piece[];
  readonly finish: "stop" | "length" | "calls";
  /** The stop sequence that ended it. */
  readonly stopSequence?: string;
}

/** A part of an answer. Each has the signature that a model gives with such a part. */
export type Piece =
  | { readonly type: "thinking"; readonly text: string; readonly shown: boolean; readonly signature: string }
  | { readonly type: "text"; readonly text: string; readonly signature: string }
  | CallPiece
  | ImagePiece;

/** An image, in base64; empty until it has been drawn. */
export interface ImagePiece {
  readonly type: "image";
  readonly order: ImageOrder;
  readonly data: string;
  readonly signature: string;
}

/** A call of one of the client's tools. */
export interface CallPiece {
  readonly type: "call";
  /** Hex digits that name it. */
  readonly id: string;
  readonly name: string;
  readonly input: JsonObject;
  /** The tool takes text: the only member of the input. */
  readonly isText: boolean;
  readonly signature: string;
}

/** What an image comes to by its size: https://ai.google.dev/gemini-api/docs/pricing */
const IMAGE_TOKENS = { "1K": 1_120, "2K": 1_120, "4K": 2_000 } as const;

/** Calls in one answer at most. */
const MOST_CALLS = 8;

/** More of what was said is not repeated. */
const MOST_QUOTED = 160;

/** How the answer was ordered, beside what the request itself asks for. */
export interface AnswerOrders {
  readonly tokens?: number;
}

/** The answer to a request: the same for the same seed, within the bound on output, and honest about who gives it. */
export function composeAnswer(ask: Ask, orders: AnswerOrders, seal: Seal): Answer {
  const choices = Array.from({ length: ask.choices }, (_, i) => composeChoice(ask, orders, seal, i));
  const costOf = (piece: Piece): number => costOfPiece(piece, ask);
  const pieces = choices.flatMap((choice) => choice.pieces);
  const sum = (count: (piece: Piece) => number): number =>
    pieces.reduce((total, piece) => total + count(piece), 0);
  return {
    id: contentHash(`${ask.digest}/answer`).slice(0, 24),
    choices,
    usage: {
      input: ask.inputTokens,
      text: sum((piece) => (piece.type === "text" || piece.type === "call" ? costOf(piece) : 0)),
      thinking: sum((piece) => (piece.type === "thinking" ? costOf(piece) : 0)),
      image: sum((piece) => (piece.type === "image" ? costOf(piece) : 0)),
    },
  };
}

/** The answer with its images, made by `draw`. */
export async function drawImages(
  answer: Answer,
  draw: (order: ImageOrder) => Promise<Uint8Array>,
): Promise<Answer> {
  const drawn = async (piece: Piece): Promise<Piece> =>
    piece.type === "image" ? { ...piece, data: (await draw(piece.order)).toBase64() } : piece;
  const choices = answer.choices.map(async (choice) => ({
    ...choice,
    pieces: await Promise.all(choice.pieces.map(drawn)),
  }));
  return { ...answer, choices: await Promise.all(choices) };
}

function costOfPiece(piece: Piece, { imageSize = "1K" }: Ask): number {
  if (piece.type === "image") return IMAGE_TOKENS[imageSize];
  return piece.type === "call" ? tokensOf(piece.name, JSON.stringify(piece.input)) : tokensOf(piece.text);
}

/** A choice while it is being made. */
interface Draft {
  readonly pieces: Piece[];
  /** Tokens that there is room for. */
  room: number;
}

function composeChoice(ask: Ask, orders: AnswerOrders, seal: Seal, index: number): Choice {
  const chance = createChance(`${ask.seed}/${index}`);
  const draft: Draft = { pieces: [], room: ask.maxTokens ?? Infinity };
  const token = (part: string): string => seal.token(`${ask.digest.slice(0, 12)}/${index}/${part}`);
  const add = (piece: Piece): boolean => {
    const cost = costOfPiece(piece, ask);
    if (cost > draft.room) return false;
    draft.room -= cost;
    draft.pieces.push(piece);
    return true;
  };
  const ended = (finish: Choice["finish"]): Choice => ({ pieces: draft.pieces, finish });

  if (ask.thinking !== "none") {
    const thoughts = `The sandbox thinks of nothing in particular. ${sentences(chance.between(2, 4), chance)}`;
    const { text, whole } = fitText(thoughts, draft.room);
    const shown = ask.thinking === "shown";
    add({ type: "thinking", text, shown, signature: seal.sign(shown ? text : "") });
    if (!whole) return ended("length");
  }
  const calls = chooseTools(ask, chance).map((tool, i) =>
    composeCall(ask, tool, chance, { index, i, token }),
  );
  if (calls.length > 0) return ended(calls.every(add) ? "calls" : "length");
  if (ask.image !== "only") {
    const { text, whole, stopSequence } = composeText(ask, orders, chance, draft.room);
    add({ type: "text", text, signature: token("text") });
    if (!whole) return ended("length");
    if (stopSequence !== undefined) return { ...ended("stop"), stopSequence };
  }
  if (ask.image !== "none") {
    const order = answerImageOrder(ask, index);
    if (!add({ type: "image", order, data: "", signature: token("image") })) return ended("length");
  }
  return ended("stop");
}

function composeCall(
  { digest }: Ask,
  { name, schema, isText = false }: AskedTool,
  chance: Chance,
  place: { readonly index: number; readonly i: number; readonly token: (part: string) => string },
): CallPiece {
  const input = sampleValue(schema, chance);
  return {
    type: "call",
    id: contentHash(`${digest}/${place.index}/${place.i}`).slice(0, 24),
    name,
    input: isJsonObject(input) ? input : {},
    isText,
    signature: place.token(`call${place.i}`),
  };
}

/** The tools to call: what is forced, else what the user asks for, once; a tool's result is answered with text. */
function chooseTools(ask: Ask, chance: Chance): readonly AskedTool[] {
  const { tools, toolChoice } = ask;
  if (toolChoice === "none" || tools.length === 0) return [];
  if (typeof toolChoice === "object") return tools.filter(({ name }) => name === toolChoice.name).slice(0, 1);
  if (toolChoice === "auto" && ask.toolResults !== undefined) return [];
  const named = tools.filter((tool) => isMeant(tool, ask.userText));
  const asked = named.length > 0 || !/\b(tool|function)s?\b/i.test(ask.userText) ? named : tools.slice(0, 1);
  if (asked.length > 0) return asked.slice(0, ask.parallelCalls ? MOST_CALLS : 1);
  return toolChoice === "any" ? [chance.pick(tools)] : [];
}

/** Whether the text has the tool's name, or a word of it. */
function isMeant({ name }: AskedTool, text: string): boolean {
  const said = text.toLowerCase();
  if (said.includes(name.toLowerCase())) return true;
  const words = name
    .replace(/([a-z])([A-Z])/g, "$1 $2")
    .toLowerCase()
    .split(/[^a-z0-9]+/);
  const spoken = new Set(said.split(/[^a-z0-9]+/));
  return words.some((word) => word.length >= 4 && spoken.has(word));
}

interface ComposedText {
  readonly text: string;
  /** All of it had room. */
  readonly whole: boolean;
  readonly stopSequence?: string;
}

function composeText(ask: Ask, { tokens }: AnswerOrders, chance: Chance, room: number): ComposedText {
  const full = ask.form === undefined ? prose(ask, tokens, chance) : formed(ask.form, chance);
  const wanted = ask.form === undefined && tokens !== undefined ? fitText(full, tokens).text : full;
  const [at, stopSequence] = firstOf(ask.stop, wanted);
  const { text, whole } = fitText(at === -1 ? wanted : wanted.slice(0, at), room);
  return { text, whole, ...(whole && stopSequence !== undefined ? { stopSequence } : {}) };
}

function prose(ask: Ask, tokens: number | undefined, chance: Chance): string {
  const said =
    ask.toolResults === undefined
      ? [ask.userText].filter((text) => text !== "").map((text) => ` You said: "${short(text)}".`)
      : ask.toolResults.map((text) => ` A tool answered: "${short(text)}".`);
  let text = `This is the Switchyard sandbox in place of ${ask.model}: no model was asked.${said.join("")}`;
  const target = tokens ?? tokensOf(text) + chance.between(20, 60);
  for (let size = tokensOf(text); size < target;) {
    const sentence = ` ${chooseSentence(chance)}`;
    text += sentence;
    // Rounded down, so that what was added up is never more than the whole.
    size += Math.floor(sentence.length / 4);
  }
  return text;
}

function formed(form: JsonObject, chance: Chance): string {
  if (Object.keys(form).length === 0)
    return JSON.stringify({ answer: "This is the Switchyard sandbox: no model was asked." });
  return JSON.stringify(sampleValue(form, chance));
}

function sentences(count: number, chance: Chance): string {
  return Array.from({ length: count }, () => chooseSentence(chance)).join(" ");
}

function short(text: string): string {
  const points = Array.from(text.slice(0, MOST_QUOTED * 2));
  return points.length > MOST_QUOTED ? `${points.slice(0, MOST_QUOTED).join("")}…` : text;
}

/** Where the first of `stops` stands in the text, and which it is; -1 where none does. */
function firstOf(stops: readonly string[], text: string): readonly [number, string | undefined] {
  const found = stops
    .map((stop) => [text.indexOf(stop), stop] as const)
    .filter(([at, stop]) => at !== -1 && stop !== "")
    .toSorted(([a], [b]) => a - b)[0];
  return found ?? [-1, undefined];
}
