import { isJsonObject, type JsonObject } from "../../core/json-value.ts";
import { type Mark, repairArguments } from "./repair-parts.ts";

/** What is known of a tool call of a stream. */
export interface ToolCallState {
  readonly index: number;
  readonly upstreamIndex: unknown;
  readonly id: string;
  hasArguments: boolean;
}

/** Gives each fragment the form that clients join by: a contiguous index, and id, type and name exactly once. */
export function repairFragments(delta: JsonObject, calls: ToolCallState[], mark: Mark): void {
  const fragments = (delta.tool_calls as unknown[]).filter(isJsonObject);
  delta.tool_calls = fragments.map((fragment) => {
    const id = typeof fragment.id === "string" && fragment.id !== "" ? fragment.id : undefined;
    const known = findCall(calls, id, fragment.index);
    const call = known ?? startCall(calls, id, fragment, mark);
    if (fragment.index !== call.index) {
      fragment.index = call.index;
      mark("tool_call_index");
    }
    const called = isJsonObject(fragment.function) ? fragment.function : {};
    fragment.function = called;
    if (repairArguments(called)) mark("arguments_object");
    if (typeof called.arguments === "string" && called.arguments !== "") call.hasArguments = true;
    if (known !== undefined && dropRepeated(fragment, called)) mark("tool_call_repeated");
    return fragment;
  });
}

/**
 * The call that a fragment belongs to; `undefined` when it begins one. Where the vendor counts, its index decides, and
 * a new id under an old index is a new call; where it does not, the id decides, and without one the last call goes on.
 */
function findCall(
  calls: readonly ToolCallState[],
  id: string | undefined,
  index: unknown,
): ToolCallState | undefined {
  const counted = typeof index === "number" ? calls.filter((call) => call.upstreamIndex === index) : calls;
  return id === undefined ? counted.at(-1) : counted.find((call) => call.id === id);
}

function startCall(
  calls: ToolCallState[],
  id: string | undefined,
  fragment: JsonObject,
  mark: Mark,
): ToolCallState {
  const index = calls.length;
  if (id === undefined) {
    fragment.id = `call_${index}`;
    mark("tool_call_id");
  }
  if (fragment.type !== "function" && fragment.type !== "custom") {
    fragment.type = "function";
    mark("tool_call_type");
  }
  const call: ToolCallState = {
    index,
    upstreamIndex: fragment.index,
    id: fragment.id as string,
    hasArguments: fragment.type === "custom",
  };
  calls.push(call);
  return call;
}

function dropRepeated(fragment: JsonObject, called: JsonObject): boolean {
  const repeated = "id" in fragment || "type" in fragment || "name" in called;
  delete fragment.id;
  delete fragment.type;
  delete called.name;
  return repeated;
}
