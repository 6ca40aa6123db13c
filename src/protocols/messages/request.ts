import { type JsonObject, present } from "../../core/json/json-value.ts";
import { createSeenLists, isKept, type SeenLists } from "../../core/json/kept.ts";
import { type Checker, compileSchema } from "../../core/schema.ts";
import { readAskedJson } from "../asked-models.ts";
import { schemaRefusal } from "../meant-field.ts";
import type { RelayRequest, WireRequest } from "../protocol.ts";
import {
  invalid,
  refuseTwiceWithin,
  type RequestJson,
  withoutNulls,
  writeRequestJson,
} from "../request-json.ts";
import { readBetas } from "./betas.ts";
import { checkBlocks } from "./blocks.ts";
import { readDemand } from "./demand.ts";
import {
  CountRequestSchema,
  MESSAGES_FIELDS,
  type MessagesInput,
  type MessagesRequestBody,
  MessagesRequestSchema,
} from "./schema.ts";
import { toolKind } from "./tools.ts";

/** A request to count: its value, its bytes with where its members stand in them, and the previews it asks for. */
export interface CountRequest extends RelayRequest {
  readonly body: MessagesInput;
  readonly json: RequestJson;
  /** The values of `anthropic-beta`. */
  readonly betas: readonly string[];
}

/** A messages request: the same, and what is asked of the answer. */
export interface MessagesRequest extends CountRequest {
  readonly body: MessagesRequestBody;
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

const REQUIRED: ReadonlySet<string> = new Set(MessagesRequestSchema.required);

const requestCheck = openCheck(compileSchema(MessagesRequestSchema));
const countCheck = openCheck(compileSchema(CountRequestSchema));

/** How bodies are checked, and lists in them that were found good. */
interface Check<Body> {
  readonly checker: Checker<Body>;
  readonly good: Readonly<Record<"messages" | "tools" | "system", SeenLists>>;
}

function openCheck<Body>(checker: Checker<Body>): Check<Body> {
  const good = { messages: createSeenLists(), tools: createSeenLists(), system: createSeenLists() };
  return { checker, good };
}

/** Parses and checks the body once. Throws a `GatewayError` that names the field at fault. */
export function readRequest({ headers, ...wire }: WireRequest): MessagesRequest {
  const { json, models } = readAskedJson(wire);
  return { ...checkedRequest(json, readBetas(headers)), ...present({ models }), carrier: wire.carrier };
}

/** Checks a body that was written here; see `ClientEnd`. */
export function readWritten(value: JsonObject): MessagesRequest {
  return checkedRequest(writeRequestJson(value), []);
}

function checkedRequest(json: RequestJson, betas: readonly string[]): MessagesRequest {
  const body = checkedBody(json, requestCheck);
  const { model, stream = false } = body;
  return { model, stream, demand: readDemand(body, json), body, json, betas };
}

/** The same for a request to count, for the first of its models: what it would ask of an answer is not looked at. */
export function readCountRequest({ headers, ...wire }: WireRequest): CountRequest {
  const { json, models } = readAskedJson(wire);
  const body = checkedBody(json, countCheck);
  const demand = readDemand({ ...body, max_tokens: undefined }, json);
  const request = { model: body.model, stream: false, demand, body, json, betas: readBetas(headers) };
  return { ...request, ...present({ models }) };
}

function checkedBody<Body extends MessagesInput>(json: RequestJson, { checker, good }: Check<Body>): Body {
  for (const [name, levels] of Object.entries(READ_LEVELS)) refuseTwiceWithin(json, name, levels);
  const value: JsonObject = withoutNulls(json.value, REQUIRED);
  const known = {
    messages: good.messages.count(value.messages),
    tools: good.tools.count(value.tools),
    system: good.system.count(value.system),
  };
  if (!checker.accepts(value, known))
    throw schemaRefusal(checker.faultOf(value), value, MESSAGES_FIELDS.meant);
  const { system, messages, tools = [] } = value;
  if (Array.isArray(system) && known.system < system.length) checkBlocks(system, "system");
  for (let i = known.messages; i < messages.length; i += 1) checkMessage(messages[i] as Message, i);
  checkTools(value, known.tools);
  if (Array.isArray(system)) good.system.add(system);
  good.messages.add(messages);
  good.tools.add(tools);
  return value;
}

type Message = MessagesInput["messages"][number];

function checkMessage(message: Message, i: number): void {
  if (goodMessages.has(message)) return;
  const { content } = message;
  if (typeof content !== "string") checkBlocks(content, `messages[${i}].content`);
  if (isKept(message)) goodMessages.add(message);
}

/** Messages whose blocks were found good, and that come again with other requests. */
const goodMessages = new WeakSet<object>();

function checkTools({ tools, tool_choice }: MessagesInput, known: number): void {
  tools?.forEach((tool, i) => {
    if (i < known) return;
    toolKind(tool, i);
    if ((tool.type ?? "custom") !== "custom") return;
    const missing = (["name", "input_schema"] as const).find(
      (name) => (tool[name] ?? undefined) === undefined,
    );
    if (missing !== undefined) throw invalid(`tools[${i}].${missing} is required.`, `tools[${i}].${missing}`);
  });
  if (tool_choice?.type === "tool" && typeof tool_choice.name !== "string")
    throw invalid("tool_choice.name is required with the type tool.", "tool_choice.name");
}
