import type { JsonObject } from "../../core/json-value.ts";
import type { Model } from "../../core/model.ts";

/** What a request asks of the sandbox, whichever format it came in. */
export interface Ask {
  /** The model of the catalogue that the sandbox stands for. */
  readonly model: string;
  readonly vendor: string;
  /** Names the request: the same request is answered with the same words. */
  readonly digest: string;
  /** What the words are chosen by; the digest unless the caller gave a seed. */
  readonly seed: string;
  /** The last that the user said. */
  readonly userText: string;
  /** What tools have answered since; absent while none has. */
  readonly toolResults?: readonly string[] | undefined;
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

/** A tool of the client's. */
export interface AskedTool {
  readonly name: string;
  readonly schema: unknown;
  /** It takes text: the only member of what the schema describes. */
  readonly isText?: boolean;
}

/** What the caller said of calling tools; an object names the one that is to be called. */
export type ToolWish = "auto" | "none" | "any" | { readonly name: string };

/** What is said of an image's shape, as far as it is known. */
export function readImageShape(ratio: unknown, size: unknown): Pick<Ask, "aspectRatio" | "imageSize"> {
  return {
    aspectRatio: typeof ratio === "string" && ratio !== "" ? ratio : undefined,
    imageSize: IMAGE_SIZES.find((known) => known === size),
  };
}

const IMAGE_SIZES = ["1K", "2K", "4K"] as const;

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

/** Refuses a request for the first of its faults, which are in its vendor's words. */
export function refuseFirst(faults: Iterable<string>): void {
  for (const fault of faults) throw new Refusal(400, "invalid", fault);
}

/** Refuses an input that is longer than the model's context, in the words of its vendor. */
export function refuseTooLong(
  { totalContext }: Model,
  inputTokens: number,
  words: (tokens: number, most: number) => string,
): void {
  if (totalContext !== null && inputTokens > totalContext)
    throw new Refusal(400, "too_long", words(inputTokens, totalContext));
}
