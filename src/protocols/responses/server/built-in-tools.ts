import type { JsonObject } from "../../../core/json/json-value.ts";
import type { BuiltInCall } from "./echo.ts";

/** A tool that runs at the caller's and whose calls the model of another vendor makes as those of a function. */
export interface BuiltInTool {
  /** The name it is told by. */
  readonly name: string;
  /** The item that its calls are. */
  readonly item: BuiltInCall;
  readonly description: string;
  readonly parameters: JsonObject;
}

const text = { type: "string" };
const count = { type: "integer", minimum: 1 };
const object = (properties: JsonObject, ...required: readonly string[]): JsonObject => ({
  type: "object",
  properties,
  required,
  additionalProperties: false,
});

/** By the type of the tool. Source: the actions of their calls as of openai-node 7.57. */
export const BUILT_IN: Readonly<Record<string, BuiltInTool>> = {
  shell: {
    name: "shell",
    item: "shell_call",
    description:
      "Runs shell commands on the user's machine, each in a shell of its own, and returns what they print.",
    parameters: object(
      {
        commands: { type: "array", items: text, description: "The commands, which may run at the same time" },
        timeout_ms: { ...count, description: "The most milliseconds that they may take" },
        max_output_length: { ...count, description: "The most characters of output to return" },
      },
      "commands",
    ),
  },
  local_shell: {
    name: "local_shell",
    item: "local_shell_call",
    description: "Runs one command on the user's machine and returns what it prints.",
    parameters: object(
      {
        command: { type: "array", items: text, description: "The program and its arguments" },
        working_directory: { ...text, description: "Where it runs" },
        timeout_ms: { ...count, description: "The most milliseconds that it may take" },
        env: { type: "object", additionalProperties: text, description: "Environment variables" },
      },
      "command",
    ),
  },
  apply_patch: {
    name: "apply_patch",
    item: "apply_patch_call",
    description: "Creates, changes or deletes one file of the user's, by a diff in the V4A format.",
    parameters: object(
      {
        type: { type: "string", enum: ["create_file", "update_file", "delete_file"] },
        path: { ...text, description: "The file, below the working directory" },
        diff: { ...text, description: "The diff in the V4A format; none to delete" },
      },
      "type",
      "path",
    ),
  },
  tool_search: {
    name: "tool_search",
    item: "tool_search_call",
    description: "Searches for tools that can be loaded.",
    parameters: object({ query: { ...text, description: "What the tool shall do" } }, "query"),
  },
};
