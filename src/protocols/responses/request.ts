import { type JsonObject, objectsIn, present } from "../../core/json/json-value.ts";
import { GatewayError } from "../../core/errors.ts";
import { createSeenLists } from "../../core/json/kept.ts";
import { compileSchema } from "../../core/schema.ts";
import type { CarrierKey } from "../carrier.ts";
import { readAskedJson } from "../asked-models.ts";
import { schemaRefusal } from "../meant-field.ts";
import type { Demand, RelayRequest, RequestState, WireRequest } from "../protocol.ts";
import {
  readRequestJson,
  refuseTwiceWithin,
  type RequestJson,
  withoutNulls,
  writeRequestJson,
  wrong,
} from "../request-json.ts";
import { readDemand } from "./demand.ts";
import { MOST_ITEMS } from "../../catalog/parameter-tables/responses.ts";
import { itemType, resolveBody, stateOf } from "./kept.ts";
import { RESPONSES_FIELDS, type ResponsesRequestBody, ResponsesRequestSchema } from "./schema.ts";

/** A Responses request: its value, and its bytes with where its members stand in them. */
export interface ResponsesRequest extends RelayRequest {
  readonly body: ResponsesRequestBody;
  readonly json: RequestJson;
  readonly state: RequestState;
  /** Its own items, where those that it named were put among them. */
  readonly own?: string;
}

/** Levels that are read of the members that money depends on. */
const READ_LEVELS = { input: 6, tools: 2, reasoning: 0, text: 1, tool_choice: 1, prompt_cache_options: 0 };

const REQUIRED: ReadonlySet<string> = new Set(ResponsesRequestSchema.required);

const checker = compileSchema(ResponsesRequestSchema);

/** Items and tools that were found good. */
const good = { input: createSeenLists(), tools: createSeenLists() };

/**
 * Parses and checks the body once. Of one that names earlier answers only the names are read, until they were found: it
 * is then checked with all that they stand for. Throws a `GatewayError` that names the field at fault.
 */
export function readRequest(wire: WireRequest): ResponsesRequest {
  const request = readNaming(wire);
  if (request.own === "[]") throw wrong("input", "must have an item: it is what the model is to answer");
  return request;
}

/** The same for a request that asks for no answer: it may be about an earlier conversation and no more. */
export function readConversation(wire: WireRequest): ResponsesRequest {
  const { state, ...request } = readNaming(wire);
  return { ...request, stream: false, state: { ...state, keeps: false } };
}

function readNaming({ carrier, found, ...wire }: WireRequest): ResponsesRequest {
  const { json, models } = readAskedJson(wire);
  const named = present({ models });
  if (found !== undefined) {
    const { bytes, own } = resolveBody(json, found);
    const { state, ...request } = checkedRequest(readRequestJson({ body: bytes }), carrier);
    const { names: _found, ...rest } = state;
    return { ...request, ...named, own, state: rest };
  }
  const state = stateOf(json.value);
  // Whatever it is apart from them is looked at when they were found.
  if (state.names === undefined || state.names.items.length > MOST_ITEMS)
    return { ...checkedRequest(json, carrier), ...named };
  return {
    model: "",
    stream: false,
    demand: UNREAD,
    body: json.value as ResponsesRequestBody,
    json,
    carrier,
    state,
  };
}

const UNREAD: Demand = {
  textTokens: { expected: 0, ceiling: 0 },
  media: {},
  images: [],
  mediaBytes: 0,
  choices: 1,
  webSearches: 0,
  buckets: [],
};

/** Checks a body that was written here; see `ClientEnd`. */
export function readWritten(value: JsonObject, carrier?: CarrierKey): ResponsesRequest {
  return checkedRequest(writeRequestJson(value), carrier);
}

/** What would be kept in somebody's account at the provider, or in another interface of it, and what to do instead. */
const UNSERVED: Readonly<Record<string, string>> = {
  background: "is not served: ask without it, streamed where the answer takes long",
  conversation:
    "is not served: send the conversation in input, or name the last answer in previous_response_id",
  prompt: "is not served: send its text in instructions and input",
};

/** Fields of chat completions without a place here, and where what they say belongs. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  messages: "input",
  response_format: "text.format",
  reasoning_effort: "reasoning.effort",
  max_tokens: "max_output_tokens",
  max_completion_tokens: "max_output_tokens",
};

const NOWHERE = ["stop", "n", "seed", "logit_bias"];

function checkedRequest(json: RequestJson, carrier: CarrierKey | undefined): ResponsesRequest {
  for (const [name, levels] of Object.entries(READ_LEVELS)) refuseTwiceWithin(json, name, levels);
  const value: JsonObject = withoutNulls(json.value, REQUIRED);
  refuseForeign(value);
  const known = { input: good.input.count(value.input), tools: good.tools.count(value.tools) };
  if (!checker.accepts(value, known))
    throw schemaRefusal(checker.faultOf(value), value, RESPONSES_FIELDS.meant);
  refuseTypeless(value.input, known.input);
  if (Array.isArray(value.input)) good.input.add(value.input);
  if (value.tools !== undefined) good.tools.add(value.tools);
  const { model, stream = false } = value;
  const demand = readDemand(value, json);
  return { model, stream, demand, body: value, json, carrier, state: stateOf(value) };
}

/** What an item without a type is cannot be told by its other members; `known`: so many first items were found good. */
function refuseTypeless(input: unknown, known: number): void {
  const items = objectsIn(input);
  for (let i = known; i < items.length; i += 1)
    if (itemType(items[i] ?? {}) === undefined)
      throw wrong(`input[${i}].type`, "is required: only messages and references are known without it");
}

function refuseForeign(body: Readonly<JsonObject>): void {
  for (const [name, instead] of Object.entries(UNSERVED))
    if (body[name] !== undefined && body[name] !== false)
      throw refusal("unsupported_parameter", `${name} ${instead}.`, name);
  for (const [name, meant] of Object.entries(ELSEWHERE))
    if (body[name] !== undefined)
      throw refusal("unknown_parameter", `${name} is not a field of Responses: use ${meant}.`, name);
  for (const name of NOWHERE)
    if (body[name] !== undefined)
      throw refusal("unknown_parameter", `${name} is not a field of Responses: leave it out.`, name);
}

function refusal(code: string, message: string, param: string): GatewayError {
  return new GatewayError("invalid_request_error", message, { param, code });
}
