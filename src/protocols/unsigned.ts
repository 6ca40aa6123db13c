import { isJsonObject, type JsonObject } from "../core/json/json-value.ts";
import { type Changes, openChanges } from "./changes.ts";
import type { UpstreamBody } from "./protocol.ts";
import { readRequestJson } from "./request-json.ts";

const LEFT =
  "what earlier answers were signed with was left out: the provider refused it, or another one wrote it";

/** A body that was written for a provider, as `change` changes it; `undefined` where it changes nothing. */
export function unsignedBody(
  body: Uint8Array,
  change: (value: JsonObject, changes: Changes) => void,
): Pick<UpstreamBody, "body" | "warnings"> | undefined {
  const json = readRequestJson({ body });
  const changes = openChanges(() => "");
  change(json.value, changes);
  if (changes.count === 0) return undefined;
  return { body: changes.splice(json), warnings: [LEFT, ...changes.warnings] };
}

/** Calls `see` with each object of a list of a request, and with its place. */
export function eachObject(list: unknown, see: (item: JsonObject, i: number) => void): void {
  if (!Array.isArray(list)) return;
  for (const [i, item] of list.entries()) if (isJsonObject(item)) see(item, i);
}
