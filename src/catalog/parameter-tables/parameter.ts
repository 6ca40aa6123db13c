import { present } from "../../core/json/json-value.ts";
import type { Model } from "../../core/model.ts";

/** A JSON Schema as data. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** What of a model decides its parameters. */
export type ParameterFacts = Pick<
  Model,
  | "id"
  | "maxOutput"
  | "inputModalities"
  | "outputModalities"
  | "ignoredParameters"
  | "thinking"
  | "sampling"
  | "chatLimits"
  | "media"
  | "embedding"
>;

/** A field of a request, or one inside another when its name has a dot. */
export interface Parameter {
  readonly name: string;
  readonly schema: JsonSchema;
  /** What it does, as a sentence without its full stop. */
  readonly does: string;
  /** Values that are taken beside those of `schema`: other spellings of the same. */
  readonly also?: JsonSchema;
  readonly required?: true;
}

/** The upper bound of a number, where there is one. */
export const atMost = (maximum?: number | null): JsonSchema =>
  maximum === undefined || maximum === null ? {} : { maximum };
/** One of these words. */
export const oneOf = (...values: readonly string[]): JsonSchema => ({ type: "string", enum: values });
/** An object of any members. */
export const object: JsonSchema = { type: "object" };
/** Any text. */
export const text: JsonSchema = { type: "string" };
/** Whether the model's answers can hold images. */
export function givesImages({ outputModalities }: ParameterFacts): boolean {
  return outputModalities.includes("image");
}

/** Values of either schema; default and description are said of the whole. */
export function eitherWay(
  { default: otherwise, description, ...schema }: JsonSchema,
  also: JsonSchema,
): JsonSchema {
  return { anyOf: [schema, also], ...present({ default: otherwise, description }) };
}
