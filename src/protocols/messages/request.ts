import type { JsonObject } from "../../core/json-value.ts";
import { compileSchema, faultSentence } from "../../core/schema.ts";
import type { RelayRequest, WireRequest } from "../protocol.ts";
import {
  invalid,
  readRequestJson,
  refuseTwiceWithin,
  type RequestJson,
  withoutNulls,
} from "../request-json.ts";
import { readBetas } from "./betas.ts";
import { checkBlocks } from "./blocks.ts";
import { readDemand } from "./demand.ts";
import { type MessagesRequestBody, MessagesRequestSchema } from "./schema.ts";
import { toolKind } from "./tools.ts";

/** A messages request: its value, its bytes with where its members stand in them, and the previews it asks for. */
export interface MessagesRequest extends RelayRequest {
  readonly body: MessagesRequestBody;
  readonly json: RequestJson;
  /** The values of `anthropic-beta`. */
  readonly betas: readonly string[];
}

/** Levels that are read of the members that money depends on. */
const READ_LEVELS = {
  // A result of a tool may hold a document, and that blocks with a cache mark.
  messages: 9,
  system: 3,
  tools: 2,
  cache_control: 0,
  thinking: 0,
  output_config: 0,
  context_management: 2,
};

const REQUIRED: ReadonlySet<string> = new Set(["model", "messages", "max_tokens"]);

const checker = compileSchema(MessagesRequestSchema);

/** Parses and checks the body once. Throws a `GatewayError` that names the field at fault. */
export function readRequest(wire: WireRequest): MessagesRequest {
  const json = readRequestJson(wire.body);
  for (const [name, levels] of Object.entries(READ_LEVELS)) refuseTwiceWithin(json, name, levels);
  const value: JsonObject = withoutNulls(json.value, REQUIRED);
  if (!checker.accepts(value)) {
    const fault = checker.faultOf(value);
    throw invalid(faultSentence(fault), fault.path);
  }
  if (Array.isArray(value.system)) checkBlocks(value.system, "system");
  value.messages.forEach(({ content }, i) => {
    if (typeof content !== "string") checkBlocks(content, `messages[${i}].content`);
  });
  checkTools(value);
  return {
    model: value.model,
    stream: value.stream === true,
    demand: readDemand(value, json),
    body: value,
    json,
    betas: readBetas(wire.headers),
  };
}

function checkTools({ tools, tool_choice }: MessagesRequestBody): void {
  tools?.forEach((tool, i) => {
    toolKind(tool, i);
    if ((tool.type ?? "custom") !== "custom") return;
    for (const name of ["name", "input_schema"] as const) {
      if (tool[name] === undefined || tool[name] === null)
        throw invalid(`tools[${i}].${name} is required.`, `tools[${i}].${name}`);
    }
  });
  if (tool_choice?.type === "tool" && typeof tool_choice.name !== "string")
    throw invalid("tool_choice.name is required with the type tool.", "tool_choice.name");
}
