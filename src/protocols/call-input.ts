import type { ToolCallPart } from "../core/chat.ts";
import { GatewayError } from "../core/errors.ts";
import { isJsonObject, type JsonObject } from "../core/json/json-value.ts";
import { parseExact } from "./exact-json.ts";
import type { EmbeddedJson } from "./embedded-json.ts";
import type { Losses } from "./losses.ts";
import { BOUNDS, wrong } from "./request-json.ts";

/** The input of a tool call as an object, to be written as JSON again; none is an empty one. */
export function callInput({ input, name }: ToolCallPart, losses: Losses): JsonObject {
  const text = input.trim();
  if (text === "") return {};
  const value = parseExact(text);
  // A number that keeps its digits is an object too.
  if (isJsonObject(value) && text.startsWith("{")) return value;
  throw losses.refusal({ place: "callInput", why: "no_object", name });
}

/** A call's arguments as they were written, once they are known to be a JSON object; "" where there are none. */
export function readArguments(written: unknown, path: string, json: Pick<EmbeddedJson, "read">): string {
  if (written === undefined || written === null) return "";
  if (typeof written !== "string") throw wrong(path, "must be a string");
  if (written.trim() === "") return "";
  const { kind } = json.read(written);
  if (kind === "object") return written;
  if (kind === "deep") throw wrong(path, `nests deeper than ${BOUNDS.depth} levels`);
  if (kind !== "many") throw wrong(path, "must be a JSON object, written as text");
  const sentence = `The arguments of all tool calls have more than ${BOUNDS.values} JSON values.`;
  throw new GatewayError("input_too_large", sentence, { param: path });
}
