import { isJsonObject, type JsonObject } from "../../core/json/json-value.ts";
import { contentHash } from "../../runtime/hash.ts";
import type { Ask, AskedTool } from "./formats/ask.ts";
import { type Chance, createChance } from "./chance.ts";
import { answerImageOrder, type ImageOrder } from "./media/image-order.ts";
import type { Orders } from "./orders.ts";
import { sampleValue } from "./samples/sample.ts";
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
  /** In this order: thinking, then calls, or text and an image. */
  readonly pieces: readonly Piece[];
  readonly finish: "stop" | "length" | "calls";
  /** The stop sequence that ended it. */
  readonly stopSequence?: string;
}

/** A part of an answer. Each has the signature that a model gives with such a part. */
export type Piece = { readonly signature: string } & (
  | {
      readonly type: "thinking";
      readonly text: string;
      readonly shown: boolean;
      /** A signature that needs no text beside it. */
      readonly token: string;
    }
  | { readonly type: "text"; readonly text: string }
  | Call
  /** `data` is in base64, once it is drawn. */
  | { readonly type: "image"; readonly order: ImageOrder; readonly data: string }
);

export interface Call {
  readonly type: "call";
  /** Hex digits that name it. */
  readonly id: string;
  readonly name: string;
  readonly input: JsonObject;
  /** The tool takes text: the only member of the input. */
  readonly isText: boolean;
}

/** What an image comes to by its size: https://ai.google.dev/gemini-api/docs/pricing */
const IMAGE_TOKENS = { "1K": 1_120, "2K": 1_120, "4K": 2_000 } as const;

const MOST_CALLS = 8;

/** More of what was said is not repeated. */
const MOST_QUOTED = 160;

type TextOrders = Pick<Orders, "tokens">;

/** The answer to a request: the same for the same seed, within the bound on output, and honest about who gives it. */
export function composeAnswer(ask: Ask, orders: TextOrders, seal: Seal): Answer {
  const choices = Array.from({ length: ask.choices }, (_, i) => composeChoice(ask, orders, seal, i));
  const usage = { input: ask.inputTokens, text: 0, thinking: 0, image: 0 };
  for (const piece of choices.flatMap(({ pieces }) => pieces))
    usage[piece.type === "call" ? "text" : piece.type] += costOf(piece, ask);
  return { id: contentHash(`${ask.digest}/answer`).slice(0, 24), choices, usage };
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

function costOf(piece: Piece, { imageSize = "1K" }: Ask): number {
  if (piece.type === "image") return IMAGE_TOKENS[imageSize];
  return piece.type === "call" ? tokensOf(piece.name, JSON.stringify(piece.input)) : tokensOf(piece.text);
}

function composeChoice(ask: Ask, orders: TextOrders, seal: Seal, index: number): Choice {
  const chance = createChance(`${ask.seed}/${index}`);
  const token = (part: string): string => seal.token(`${ask.digest.slice(0, 12)}/${index}/${part}`);
  const pieces: Piece[] = [];
  let room = ask.maxTokens ?? Infinity;
  const add = (piece: Piece): boolean => {
    const cost = costOf(piece, ask);
    if (cost > room) return false;
    room -= cost;
    pieces.push(piece);
    return true;
  };

  if (ask.thinking !== "none") {
    const sentences = Array.from({ length: chance.between(2, 4) }, () => chooseSentence(chance));
    const thoughts = ["The sandbox thinks of nothing in particular.", ...sentences].join(" ");
    const { text, whole } = fitText(thoughts, room);
    const shown = ask.thinking === "shown";
    add({ type: "thinking", text, shown, signature: seal.sign(shown ? text : ""), token: token("thinking") });
    if (!whole) return { pieces, finish: "length" };
  }
  const calls = chooseTools(ask, chance).map(({ name, schema, isText = false }, i): Piece => {
    const input = sampleValue(schema, chance);
    return {
      type: "call",
      id: contentHash(`${ask.digest}/${index}/${i}`).slice(0, 24),
      name,
      input: isJsonObject(input) ? input : {},
      isText,
      signature: token(`call${i}`),
    };
  });
  if (calls.length > 0) return { pieces, finish: calls.every(add) ? "calls" : "length" };
  if (ask.image !== "only") {
    const { text, whole, stopSequence } = composeText(ask, orders, chance, room);
    add({ type: "text", text, signature: token("text") });
    if (!whole) return { pieces, finish: "length" };
    if (stopSequence !== undefined) return { pieces, finish: "stop", stopSequence };
  }
  if (ask.image !== "none") {
    const order = answerImageOrder(ask, index);
    if (!add({ type: "image", order, data: "", signature: token("image") }))
      return { pieces, finish: "length" };
  }
  return { pieces, finish: "stop" };
}

/** The tools to call: what is forced, else what the user asks for, once; a tool's result is answered with text. */
function chooseTools(ask: Ask, chance: Chance): readonly AskedTool[] {
  const { tools, toolChoice } = ask;
  if (toolChoice === "none" || tools.length === 0) return [];
  if (typeof toolChoice === "object") return tools.filter(({ name }) => name === toolChoice.name).slice(0, 1);
  if (toolChoice === "auto" && ask.toolResults.length > 0) return [];
  const named = tools.filter((tool) => isMeant(tool, ask.userText));
  const asked = named.length > 0 || !/\b(tool|function)s?\b/i.test(ask.userText) ? named : tools.slice(0, 1);
  if (asked.length > 0) return asked.slice(0, ask.parallelCalls ? MOST_CALLS : 1);
  return toolChoice === "any" ? [chance.pick(tools)] : [];
}

/** Whether the text has the tool's name, or a word of it. */
function isMeant({ name }: AskedTool, text: string): boolean {
  const wordsIn = (said: string): readonly string[] => said.toLowerCase().split(/[^a-z0-9]+/);
  const spoken = new Set(wordsIn(text));
  const words = wordsIn(name.replace(/([a-z])([A-Z])/g, "$1 $2"));
  return (
    text.toLowerCase().includes(name.toLowerCase()) ||
    words.some((word) => word.length >= 4 && spoken.has(word))
  );
}

/** The text as far as there is room, whether that is all, and the stop sequence that ends it. */
function composeText(
  ask: Ask,
  { tokens }: TextOrders,
  chance: Chance,
  room: number,
): ReturnType<typeof fitText> & { readonly stopSequence: string | undefined } {
  const full = ask.form === undefined ? prose(ask, tokens, chance) : formed(ask.form, chance);
  const wanted = ask.form === undefined && tokens !== undefined ? fitText(full, tokens).text : full;
  const [stop] = ask.stop
    .filter((word) => word !== "" && wanted.includes(word))
    .toSorted((a, b) => wanted.indexOf(a) - wanted.indexOf(b));
  const fitted = fitText(stop === undefined ? wanted : wanted.slice(0, wanted.indexOf(stop)), room);
  return { ...fitted, stopSequence: fitted.whole ? stop : undefined };
}

function prose(ask: Ask, tokens: number | undefined, chance: Chance): string {
  const { model, userText, toolResults } = ask;
  const said = toolResults.map((text) => ` A tool answered: "${short(text)}".`);
  if (said.length === 0 && userText !== "") said.push(` You said: "${short(userText)}".`);
  let text = `This is the Switchyard sandbox in place of ${model}: no model was asked.${said.join("")}`;
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
  const isAny = Object.keys(form).length === 0;
  const any = { answer: "This is the Switchyard sandbox: no model was asked." };
  return JSON.stringify(isAny ? any : sampleValue(form, chance));
}

function short(text: string): string {
  const points = Array.from(text.slice(0, MOST_QUOTED * 2));
  return points.length > MOST_QUOTED ? `${points.slice(0, MOST_QUOTED).join("")}…` : text;
}
