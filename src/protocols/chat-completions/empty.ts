import type { JsonObject } from "../../core/json/json-value.ts";

/** Whether a value says nothing, so that nobody misses it. */
export function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null || value === "") return true;
  if (Array.isArray(value)) return value.length === 0;
  return typeof value === "object" && Object.keys(value).length === 0;
}

/** Whether a message or a delta says more than whose it is. */
export function saysSomething(message: JsonObject): boolean {
  return Object.entries(message).some(([name, value]) => name !== "role" && !isEmpty(value));
}
