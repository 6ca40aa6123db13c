import { jsonAnswer } from "./answer.ts";
import { duplicateKey } from "./json-keys.ts";
import type { SeenRequest } from "./seen-request.ts";
import { type Fields, isFields, refusal } from "./strict-fields.ts";
import { isBase64, leadsInside } from "./strict-media.ts";
import type { Refusal } from "./strict-profiles.ts";
import type { StrictCheck } from "./strict.ts";

/** How a provider of Responses differs from any other. */
interface StrictResponsesProfile {
  readonly keys?: readonly string[];
  /** Of the caller's tools it knows functions alone, and of items those that go with them. */
  readonly functionsOnly?: true;
}

const words = (text: string): ReadonlySet<string> => new Set(text.trim().split(/\s+/));

/** The fields of a request: `ResponseCreateParamsBase` of openai-node 7.57. */
const TOP_LEVEL =
  words(`model input instructions max_output_tokens max_tool_calls temperature top_p top_logprobs
  parallel_tool_calls tools tool_choice text reasoning include store previous_response_id conversation background prompt
  truncation context_management metadata prompt_cache_key prompt_cache_options prompt_cache_retention service_tier
  safety_identifier user moderation access_programs image stream stream_options`);

const INCLUDED = words(`reasoning.encrypted_content message.output_text.logprobs message.input_image.image_url
  web_search_call.action.sources web_search_call.results file_search_call.results code_interpreter_call.outputs
  computer_call_output.output.image_url`);

/** Types of items that a request may have, and what the id of one begins with, where it has one. */
const ITEMS: Readonly<Record<string, string>> = {
  message: "msg",
  reasoning: "rs",
  function_call: "fc",
  function_call_output: "fc",
  custom_tool_call: "ctc",
  custom_tool_call_output: "ctc",
  tool_search_call: "tsc",
  tool_search_output: "tso",
  web_search_call: "ws",
  code_interpreter_call: "ci",
  shell_call: "sh",
  shell_call_output: "sh",
  apply_patch_call: "apc",
  apply_patch_call_output: "apc",
  local_shell_call: "lsh",
  local_shell_call_output: "lsh",
  compaction: "cmp",
  compaction_trigger: "",
  additional_tools: "",
  item_reference: "",
  mcp_list_tools: "mcpl",
  mcp_call: "mcp",
  program: "prog",
  program_output: "",
};

/** Parts by who says them. */
const ASKED_PARTS = words("input_text input_image input_file input_audio");
const ANSWERED_PARTS = words("output_text refusal");

/** A rule of the format: a refusal, or undefined where a request keeps it. */
type Rule = (body: Fields) => Refusal | undefined;

/** A check of requests of Responses, as strict as OpenAI itself is. A gateway must ask it to store nothing. */
export function strictResponses(profile: StrictResponsesProfile = {}): StrictCheck {
  return (request) => {
    const refused = refusedBy(request, profile);
    if (refused === undefined) return undefined;
    const { status, ...error } = refused;
    return jsonAnswer(status, { error });
  };
}

function refusedBy(
  request: SeenRequest,
  { keys, functionsOnly }: StrictResponsesProfile,
): Refusal | undefined {
  const key = /^Bearer (\S+)$/.exec(request.header("authorization") ?? "")?.[1];
  if (key === undefined || keys?.includes(key) === false)
    return refusal(`Incorrect API key provided: ${key ?? ""}.`, { status: 401, code: "invalid_api_key" });
  let body: unknown;
  try {
    body = request.json();
  } catch {
    return refusal("We could not parse the JSON body of your request.");
  }
  if (!isFields(body)) return refusal("The body of the request must be a JSON object.");
  const twice = duplicateKey(request.bodyText);
  if (twice !== undefined) return refusal(`Duplicate key '${twice}' in the body of the request.`);
  for (const rule of functionsOnly === true ? [...RULES, toolsAreFunctions] : RULES) {
    const refused = rule(body);
    if (refused !== undefined) return refused;
  }
  return undefined;
}

const fieldsAreKnown: Rule = (body) => {
  const unknown = Object.keys(body).find((name) => !TOP_LEVEL.has(name));
  if (unknown !== undefined)
    return refusal(`Unknown parameter: '${unknown}'.`, { param: unknown, code: "unknown_parameter" });
  for (const name of ["model", "input"])
    if (body[name] === undefined)
      return refusal(`Missing required parameter: '${name}'.`, {
        param: name,
        code: "missing_required_parameter",
      });
  return undefined;
};

const boundIsHighEnough: Rule = ({ max_output_tokens: bound }) =>
  typeof bound === "number" && bound < 16
    ? refusal(
        `Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but got ${bound} instead.`,
        { param: "max_output_tokens", code: "integer_below_min_value" },
      )
    : undefined;

/** One account serves many callers, so that nothing of theirs may be kept, and reasoning must come back sealed. */
const nothingIsStored: Rule = ({ store, include, previous_response_id: before }) => {
  if (before !== undefined && before !== null)
    return refusal(`Previous response with id '${JSON.stringify(before)}' not found.`, {
      param: "previous_response_id",
      code: "previous_response_not_found",
    });
  if (store !== false) return refusal("store must be false here.", { param: "store" });
  const parts = Array.isArray(include) ? include.map(String) : [];
  const unknown = parts.find((part) => !INCLUDED.has(part));
  if (unknown !== undefined)
    return refusal(`Invalid value: '${unknown}'.`, { param: "include", code: "invalid_value" });
  return parts.includes("reasoning.encrypted_content")
    ? undefined
    : refusal("include must name reasoning.encrypted_content here.", { param: "include" });
};

const toolsAreWhole: Rule = ({ tools, tool_choice: choice }) => {
  const list = objectsOf(tools);
  for (const [i, { type, name }] of list.entries())
    if (
      (type === "function" || type === "custom") &&
      !/^[a-zA-Z0-9_-]{1,128}$/.test(typeof name === "string" ? name : "")
    )
      return refusal(`Missing required parameter: 'tools[${i}].name'.`, {
        param: `tools[${i}].name`,
        code: "missing_required_parameter",
      });
  if (choice === "required" && list.length === 0)
    return refusal("Tool choice 'required' must be specified with 'tools' parameter.", {
      param: "tool_choice",
    });
  return undefined;
};

const PLAIN_TOOLS = words("function web_search");
const PLAIN_ITEMS = words("message reasoning function_call function_call_output web_search_call");

/** As servers say it that read tools and items as one of a closed list. */
const toolsAreFunctions: Rule = ({ tools, tool_choice: choice, input }) => {
  const unknown = (param: string): Refusal =>
    refusal(`${param} did not match any variant of the untagged enum.`, { status: 422, param });
  for (const [i, { type }] of objectsOf(tools).entries())
    if (!PLAIN_TOOLS.has(String(type))) return unknown(`tools[${i}]`);
  if (isFields(choice) && !PLAIN_TOOLS.has(String(choice["type"]))) return unknown("tool_choice");
  for (const [i, item] of objectsOf(input).entries())
    if (!PLAIN_ITEMS.has(typeOf(item)) || item["namespace"] !== undefined) return unknown(`input[${i}]`);
  return undefined;
};

const formatIsFlat: Rule = ({ text }) => {
  const format = isFields(text) ? text["format"] : undefined;
  if (!isFields(format) || format["type"] !== "json_schema") return undefined;
  const missing = ["name", "schema"].find((name) => format[name] === undefined);
  return missing === undefined
    ? undefined
    : refusal(`Missing required parameter: 'text.format.${missing}'.`, {
        param: `text.format.${missing}`,
        code: "missing_required_parameter",
      });
};

const itemsAreKnown: Rule = ({ input }) => {
  for (const [i, item] of objectsOf(input).entries()) {
    const type = typeOf(item);
    const at = `input[${i}]`;
    if (item["type"] === null)
      return refusal(`Invalid type for '${at}.type': expected a string, but got null instead.`, {
        param: `${at}.type`,
        code: "invalid_type",
      });
    const start = Object.hasOwn(ITEMS, type) ? ITEMS[type] : undefined;
    if (start === undefined)
      return refusal(`Invalid value: '${type}'.`, { param: `${at}.type`, code: "invalid_value" });
    const { id, call_id: callId } = item;
    if (typeof id === "string" && start !== "") {
      if (!/^[A-Za-z0-9_-]{1,64}$/.test(id))
        return refusal(`Invalid '${at}.id': '${id}'.`, { param: `${at}.id`, code: "invalid_value" });
      if (!id.startsWith(start))
        return refusal(`Invalid '${at}.id': '${id}'. Expected an ID that begins with '${start}'.`, {
          param: `${at}.id`,
          code: "invalid_value",
        });
    }
    if (typeof callId === "string" && (callId === "" || callId.length > 64))
      return refusal(`Invalid '${at}.call_id': string too long. Expected at most 64.`, {
        param: `${at}.call_id`,
        code: "string_above_max_length",
      });
    const wrong = faultOfItem(type, item, at);
    if (wrong !== undefined) return wrong;
  }
  return undefined;
};

function faultOfItem(type: string, item: Fields, at: string): Refusal | undefined {
  const missing = (name: string): Refusal =>
    refusal(`Missing required parameter: '${at}.${name}'.`, {
      param: `${at}.${name}`,
      code: "missing_required_parameter",
    });
  switch (type) {
    case "item_reference":
      return refusal(
        `Item with id '${String(item["id"])}' not found. Items are not persisted when \`store\` is set to false.`,
        { status: 404, param: "input" },
      );
    case "reasoning":
      if (!Array.isArray(item["summary"])) return missing("summary");
      if (typeof item["encrypted_content"] !== "string")
        return refusal(`Item with id '${String(item["id"])}' not found.`, { status: 404, param: "input" });
      // Only servers that show reasoning itself take it back.
      return Array.isArray(item["content"]) && item["content"].length > 0
        ? refusal(`Unknown parameter: '${at}.content'.`, {
            param: `${at}.content`,
            code: "unknown_parameter",
          })
        : undefined;
    case "function_call":
      for (const name of ["call_id", "name", "arguments"])
        if (typeof item[name] !== "string") return missing(name);
      return undefined;
    case "custom_tool_call":
      for (const name of ["call_id", "name", "input"])
        if (typeof item[name] !== "string") return missing(name);
      return undefined;
    case "function_call_output":
    case "custom_tool_call_output":
      if (typeof item["call_id"] !== "string") return missing("call_id");
      return item["output"] === undefined ? missing("output") : faultOfParts(item["output"], ASKED_PARTS, at);
    case "message": {
      const isAnswer = item["role"] === "assistant";
      if (item["content"] === undefined) return missing("content");
      return faultOfParts(item["content"], isAnswer ? ANSWERED_PARTS : ASKED_PARTS, at);
    }
    default:
      return undefined;
  }
}

function faultOfParts(content: unknown, known: ReadonlySet<string>, at: string): Refusal | undefined {
  for (const [i, part] of objectsOf(content).entries()) {
    const param = `${at}.content[${i}]`;
    const type = String(part["type"]);
    if (!known.has(type))
      return refusal(
        `Invalid value: '${type}'. Supported values are: ${[...known].map((name) => `'${name}'`).join(", ")}.`,
        { param: `${param}.type`, code: "invalid_value" },
      );
    const url = typeof part["image_url"] === "string" ? part["image_url"] : "";
    const data = url.startsWith("data:") ? url.split(";base64,")[1] : part["file_data"];
    const isRead = typeof data !== "string" || isBase64(data.split(",").at(-1));
    if (leadsInside(url) || !isRead)
      return refusal("Invalid base64 image_url.", { param, code: "invalid_base64" });
  }
  return undefined;
}

/** Recorded: every call has its output later on, and every output its call before. */
const callsAreAnswered: Rule = ({ input }) => {
  const open = new Set<string>();
  const answered = new Set<string>();
  for (const item of objectsOf(input)) {
    const { call_id: id } = item;
    if (typeof id !== "string") continue;
    const type = typeOf(item);
    // The provider may have searched for tools itself; a search of the caller's is answered in more than one way.
    if (type.startsWith("tool_search")) {
      answered.add(id);
      continue;
    }
    if (!type.endsWith("_output")) {
      open.add(id);
      continue;
    }
    if (!open.delete(id) && !answered.has(id))
      return refusal(`No tool call found for function call output with call_id ${id}.`, { param: "input" });
    answered.add(id);
  }
  const [first] = open;
  return first === undefined
    ? undefined
    : refusal(`No tool output found for function call ${first}.`, { param: "input" });
};

/** Recorded: what reasoning led to comes right after it. */
const reasoningIsFollowed: Rule = ({ input }) => {
  const items = objectsOf(input);
  const lonely = items.find((item, i) => {
    const next = items[i + 1];
    if (typeOf(item) !== "reasoning") return false;
    if (next === undefined) return true;
    const isOfAnswer = next["role"] === "assistant" || /(_call|reasoning|compaction)$/.test(typeOf(next));
    return !isOfAnswer;
  });
  return lonely === undefined
    ? undefined
    : refusal(
        `Item '${String(lonely["id"])}' of type 'reasoning' was provided without its required following item.`,
        { param: "input" },
      );
};

const RULES: readonly Rule[] = [
  fieldsAreKnown,
  boundIsHighEnough,
  nothingIsStored,
  toolsAreWhole,
  formatIsFlat,
  itemsAreKnown,
  callsAreAnswered,
  reasoningIsFollowed,
];

/** An item without a type is a message. */
function typeOf({ type, role }: Fields): string {
  return typeof type === "string" ? type : role === undefined ? "item_reference" : "message";
}

function objectsOf(list: unknown): readonly Fields[] {
  return Array.isArray(list) ? list.filter((value) => isFields(value)) : [];
}
