import { isJsonObject, type JsonObject } from "../../core/json/json-value.ts";

// Bodies that reach the sandbox were checked by the gateway: what is missing in them here counts as left out.

/** The value where it is an object, else an empty one. */
export function objectOf(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {};
}

/** The value where it is a list, else an empty one. */
export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** The texts of a list; of a single text a list of it. */
export function textsOf(value: unknown): readonly string[] {
  const values: readonly unknown[] = Array.isArray(value) ? value : [value];
  return values.filter((text) => typeof text === "string");
}

/** The value where it is text, else "". */
export function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** The value where it is a finite number. */
export function numberOf(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}

/** Names that stand in a text with white space between them. */
export function fieldNames(text: string): ReadonlySet<string> {
  return new Set(text.trim().split(/\s+/));
}
