import { isJsonObject, type JsonObject } from "../../../core/json/json-value.ts";
import type { AnswerContext } from "../../protocol.ts";
import { mintId } from "./ids.ts";

/** The call item that answers a tool of the caller's: its own name there, and how it is written. */
export interface CalledAs {
  readonly name: string;
  readonly namespace?: string;
  /** Absent: `function_call`, or `custom_tool_call` where its input is no JSON. */
  readonly item?: BuiltInCall;
}

/** Tools that run at the caller's, whose calls have items of their own. */
export type BuiltInCall = "shell_call" | "local_shell_call" | "apply_patch_call" | "tool_search_call";

/** What an answer's writer knows of its request. Plain JSON: it is handed to other threads. */
export interface Echo {
  /** Members of the response object that repeat the request. */
  readonly asked: JsonObject;
  /** Tools whose calls are not written by the name that the model was told, by that name. */
  readonly calls: Readonly<Record<string, CalledAs>>;
  /** The answer is a hand-over summary, and goes out sealed. */
  readonly compacts: boolean;
}

/** How the caller's tool is called that the model knows by this name, which may be one that every object has. */
export function calledAs({ calls }: Pick<Echo, "calls">, name: string): CalledAs | undefined {
  return Object.hasOwn(calls, name) ? calls[name] : undefined;
}

/** The members of a body that the response object repeats, as clients that parse strictly want them. */
export function echoOf(body: Readonly<JsonObject>): JsonObject {
  const { text, reasoning, tools } = body;
  const told = isJsonObject(text) ? text : {};
  const thinking = isJsonObject(reasoning) ? reasoning : {};
  return {
    instructions: body.instructions ?? null,
    max_output_tokens: body.max_output_tokens ?? null,
    max_tool_calls: body.max_tool_calls ?? null,
    parallel_tool_calls: body.parallel_tool_calls ?? true,
    previous_response_id: body.previous_response_id ?? null,
    prompt_cache_key: body.prompt_cache_key ?? null,
    reasoning: { effort: thinking.effort ?? null, summary: thinking.summary ?? null },
    safety_identifier: body.safety_identifier ?? null,
    service_tier: "default",
    store: body.store ?? true,
    temperature: body.temperature ?? 1,
    text: { format: told.format ?? { type: "text" }, verbosity: told.verbosity ?? "medium" },
    tool_choice: body.tool_choice ?? "auto",
    tools: Array.isArray(tools) ? tools.map(echoTool) : [],
    top_logprobs: body.top_logprobs ?? 0,
    top_p: body.top_p ?? 1,
    user: body.user ?? null,
    metadata: body.metadata ?? {},
  };
}

/** A tool as it was sent; of a function every member is there, as strict readers want it. */
function echoTool(tool: unknown): unknown {
  if (!isJsonObject(tool) || tool.type !== "function") return tool;
  return {
    ...tool,
    description: tool.description ?? null,
    parameters: tool.parameters ?? null,
    strict: tool.strict ?? null,
  };
}

/** What came back of a request; of one that was not decoded here, that it asked for nothing. */
export function readEcho({ echo }: AnswerContext): Echo {
  return (echo as Echo | undefined) ?? NOTHING_ASKED;
}

const NOTHING_ASKED: Echo = { asked: echoOf({}), calls: {}, compacts: false };

/** What a response object has beside the request's echo. */
export interface ResponseState {
  readonly status: "in_progress" | "completed" | "incomplete" | "failed";
  readonly output: readonly JsonObject[];
  readonly usage: JsonObject | null;
  readonly error?: JsonObject;
  /** Why it is incomplete. */
  readonly reason?: string;
}

/** The response object, whole, in the order of the reference; the charge comes behind it. */
export function responseObject(
  context: AnswerContext,
  asked: JsonObject,
  { status, output, usage, error, reason }: ResponseState,
): JsonObject {
  return {
    id: mintId("resp", context.requestId),
    object: "response",
    created_at: context.nowSec,
    status,
    background: false,
    completed_at: status === "completed" ? context.nowSec : null,
    error: error ?? null,
    incomplete_details: reason === undefined ? null : { reason },
    instructions: asked.instructions,
    max_output_tokens: asked.max_output_tokens,
    max_tool_calls: asked.max_tool_calls,
    model: context.model,
    output,
    parallel_tool_calls: asked.parallel_tool_calls,
    previous_response_id: asked.previous_response_id,
    prompt_cache_key: asked.prompt_cache_key,
    reasoning: asked.reasoning,
    safety_identifier: asked.safety_identifier,
    service_tier: asked.service_tier,
    store: asked.store,
    temperature: asked.temperature,
    text: asked.text,
    tool_choice: asked.tool_choice,
    tools: asked.tools,
    top_logprobs: asked.top_logprobs,
    top_p: asked.top_p,
    truncation: "disabled",
    usage,
    user: asked.user,
    metadata: asked.metadata,
    frequency_penalty: 0,
    presence_penalty: 0,
  };
}
