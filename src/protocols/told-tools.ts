import type { ChatRequest, ToolDefinition } from "../core/chat.ts";
import { closedSchema } from "./closed-schema.ts";
import type { Losses } from "./losses.ts";

// What formats have in common where they tell a model its tools.

/** Tools as a model is told them. */
export interface ToldTools {
  readonly tools: readonly ToolDefinition[];
  /** The names of those that may be called now; absent: of all. */
  readonly allowed: readonly string[] | undefined;
}

/**
 * The tools of a request, and which of them may be called. Only the reference (`isReference`) knows tools that are there
 * and may not be called now: elsewhere they are not there.
 */
export function toldTools(chat: ChatRequest, isReference: boolean, losses: Losses): ToldTools {
  for (const { cache, strict, parameters } of chat.tools) {
    if (cache !== undefined) losses.note({ place: "cache", why: "caches_itself" });
    if (strict === true && parameters !== undefined && closedSchema(parameters) === undefined)
      losses.note({ place: "strict", why: "optional_members" });
  }
  const { tools, allowedTools } = chat;
  if (isReference || allowedTools === undefined) return { tools, allowed: allowedTools };
  const here = new Set(allowedTools);
  return { tools: tools.filter(({ name }) => here.has(name)), allowed: undefined };
}

/** Refuses a tool by whose name the provider would refuse the whole request. */
export function checkNames(tools: readonly ToolDefinition[], names: RegExp, losses: Losses): void {
  const refused = tools.find(({ name }) => !names.test(name));
  if (refused !== undefined)
    throw losses.refusal({ place: "toolName", at: refused.at, why: "tool_name", pattern: names.source });
}

/** The schema of a function's parameters, and whether the model is bound to it. */
export function schemaOf({ parameters, strict }: ToolDefinition) {
  const schema = { type: "object", ...(parameters ?? { properties: {} }) };
  const bound = strict === true ? closedSchema(schema) : undefined;
  return { parameters: bound ?? schema, isBound: bound !== undefined };
}
