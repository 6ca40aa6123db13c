import type { JsonObject } from "../../../core/json/json-value.ts";
import type { Model } from "../../../core/model.ts";
import { formOf } from "./form-in-words.ts";
import { inputTokensOf } from "./input-tokens.ts";
import { numberOf, textOf } from "../members.ts";
import type { Seal } from "../seal.ts";

/** What a request asks of the sandbox, whichever format it came in. */
export interface Ask {
  /** The model of the catalogue that the sandbox stands for. */
  readonly model: string;
  /** Names the request: the same request is answered with the same words. */
  readonly digest: string;
  /** What the words are chosen by; the digest unless the caller gave a seed. */
  readonly seed: string;
  /** The last that the user said. */
  readonly userText: string;
  /** What tools have answered since. */
  readonly toolResults: readonly string[];
  readonly tools: readonly AskedTool[];
  readonly toolChoice: ToolWish;
  readonly parallelCalls: boolean;
  /** The form of the answer: a JSON Schema, or any JSON object. */
  readonly form?: JsonObject | undefined;
  /** The most output of each choice, thinking included. */
  readonly maxTokens?: number | undefined;
  readonly stop: readonly string[];
  readonly choices: number;
  /** Whether thinking comes before the answer, and whether its text is shown. */
  readonly thinking: "none" | "hidden" | "shown";
  readonly image: "none" | "only" | "with_text";
  /** Of an image that the answer has: `16:9`, where one was asked for. */
  readonly aspectRatio?: string | undefined;
  /** How large it is; absent: small, as it goes along in the answer. */
  readonly imageSize?: "1K" | "2K" | "4K" | undefined;
  /** Images that came with what the user said last: addresses, or data URIs. */
  readonly images: readonly string[];
  readonly inputTokens: number;
}

export interface AskedTool {
  readonly name: string;
  readonly schema: unknown;
  /** It takes text: the only member of what the schema describes. */
  readonly isText?: boolean;
}

/** What the caller said of calling tools; an object names the one that is to be called. */
export type ToolWish = "auto" | "none" | "any" | { readonly name: string };

export interface AskContext {
  readonly model: Model;
  readonly digest: string;
  readonly seal: Seal;
}

/** What many requests say nothing of. */
const UNSAID = {
  toolResults: [],
  parallelCalls: true,
  stop: [],
  choices: 1,
  image: "none",
  images: [],
} as const;

/** A request as its format reads it. */
interface AskParts
  extends
    Pick<Ask, "tools" | "toolChoice" | "maxTokens" | "thinking">,
    Partial<Pick<Ask, keyof typeof UNSAID>> {
  readonly seed?: unknown;
  readonly aspectRatio?: unknown;
  readonly imageSize?: unknown;
  /** What it is counted by: its turns, and its tools and forms as they stand in it. */
  readonly turns: readonly unknown[];
  readonly schemas: readonly unknown[];
  /** What the user said last, then the instructions. */
  readonly texts: readonly string[];
  /** The form that the answer shall have; without one it may be any JSON. */
  readonly schema: unknown;
  readonly isJson: boolean;
  /** The refusal of an input that is longer than the model's context. */
  readonly tooLong: (tokens: number, most: number) => string;
}

const IMAGE_SIZES = ["1K", "2K", "4K"] as const;

/** What a request asks. Throws a 400 where it is longer than the model's context. */
export function completeAsk(parts: AskParts, { model, digest }: AskContext): Ask {
  const { seed, aspectRatio, imageSize, turns, schemas, texts, schema, isJson, tooLong, ...asked } = parts;
  const inputTokens = inputTokensOf(model, turns, schemas);
  const most = model.totalContext;
  if (most !== null && inputTokens > most) throw new Refusal(400, "too_long", tooLong(inputTokens, most));
  return {
    ...UNSAID,
    ...asked,
    model: model.id,
    digest,
    seed: numberOf(seed)?.toString() ?? digest,
    userText: texts[0] ?? "",
    form: formOf(texts, { schema, isJson, hasTools: asked.tools.length > 0 }),
    aspectRatio: textOf(aspectRatio) === "" ? undefined : textOf(aspectRatio),
    imageSize: IMAGE_SIZES.find((known) => known === imageSize),
    inputTokens,
  };
}

/** The texts of turns, blocks or parts, those without text left out. */
export function joined(texts: readonly unknown[]): string {
  return texts
    .map(textOf)
    .filter((text) => text !== "")
    .join("\n");
}

/** A refusal as a provider words it; each format puts it in its own shape. */
export class Refusal extends Error {
  readonly status: number;
  /** What the format's own codes stand for. */
  readonly meaning: "invalid" | "too_long" | "moderation" | "overloaded" | "timeout" | "not_found";
  readonly param: string | undefined;

  constructor(status: number, meaning: Refusal["meaning"], message: string, param?: string) {
    super(message);
    this.name = "Refusal";
    this.status = status;
    this.meaning = meaning;
    this.param = param;
  }
}

/** What each format calls a refusal: OpenAI's code, Anthropic's type and Google's status. */
export const REFUSAL_WORDS: Readonly<Record<Refusal["meaning"], readonly [string | null, string, string]>> = {
  invalid: [null, "invalid_request_error", "INVALID_ARGUMENT"],
  too_long: ["context_length_exceeded", "invalid_request_error", "INVALID_ARGUMENT"],
  moderation: ["content_policy_violation", "invalid_request_error", "INVALID_ARGUMENT"],
  overloaded: ["server_overloaded", "overloaded_error", "UNAVAILABLE"],
  timeout: [null, "timeout_error", "DEADLINE_EXCEEDED"],
  not_found: ["model_not_found", "not_found_error", "NOT_FOUND"],
};

/** Refuses a request in its vendor's words; `param` is the parameter that they name. */
export function refuse(message: string, param?: string): never {
  throw new Refusal(400, "invalid", message, param);
}
