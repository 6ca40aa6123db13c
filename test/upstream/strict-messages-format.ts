import type { Answer } from "./answer.ts";
import { jsonAnswer } from "./answer.ts";
import { duplicateKey } from "./json-keys.ts";
import type { SeenRequest } from "./seen-request.ts";
import type { StrictCheck } from "./strict.ts";
import { type Fields, isFields } from "./strict-fields.ts";
import { isBase64, leadsInside } from "./strict-media.ts";

/** What the strict double of Anthropic insists on. */
export interface StrictMessagesProfile {
  /** The accepted API keys; any when not given. */
  readonly keys?: readonly string[];
  /** The known models; any when not given. */
  readonly models?: readonly string[];
}

/** Models that refuse sampling fields and budgets, and those that cannot be kept from thinking. */
const ADAPTIVE = /opus-(4-[7-9]|5)|sonnet-5|fable/;
const ALWAYS_THINKS = /sonnet-5-5/;

const TOP_LEVEL = new Set(
  `model max_tokens messages system stream temperature top_p top_k stop_sequences tools tool_choice thinking
  output_config metadata service_tier container cache_control inference_geo speed diagnostics user_profile_id`.split(
    /\s+/,
  ),
);

/** Where it counts, and the fields that it takes there. */
const COUNTING = "/v1/messages/count_tokens";
const COUNTED = new Set(
  "model messages system tools tool_choice thinking output_config cache_control speed".split(" "),
);

/** Models that may be asked to think by effort, and those that take one way of sampling only. */
const MAY_BE_ADAPTIVE = /opus-(4-[6-9]|5)|sonnet-(4-6|5)|fable/;
const ONE_SAMPLING = /-4-[15]/;

/** Fields that a preview brings. */
const PREVIEW_FIELDS: Readonly<Record<string, RegExp>> = {
  context_management: /context-management/,
  output_format: /structured-outputs/,
  mcp_servers: /mcp-client/,
};

/** The fields of each block that a request may have. */
const BLOCK_FIELDS: Readonly<Record<string, string>> = {
  text: "text citations cache_control",
  image: "source cache_control",
  document: "source title context citations cache_control",
  search_result: "source title content citations cache_control",
  thinking: "thinking signature",
  redacted_thinking: "data",
  tool_use: "id name input caller cache_control",
  tool_result: "tool_use_id content is_error cache_control",
  server_tool_use: "id name input caller cache_control",
  tool_addition: "tool cache_control",
  tool_removal: "tool cache_control",
  web_search_tool_result: "tool_use_id content caller cache_control",
  web_fetch_tool_result: "tool_use_id content caller cache_control",
  tool_search_tool_result: "tool_use_id content cache_control",
};

/** A rule of the format: what is wrong, or undefined. */
type Rule = (body: Fields, request: SeenRequest) => string | undefined;

/** A check of messages requests, and of those to count, as strict as Anthropic itself is. */
export function strictMessages(profile: StrictMessagesProfile = {}): StrictCheck {
  return (request) => {
    const key = request.header("x-api-key");
    if (key === undefined || profile.keys?.includes(key) === false)
      return errorAnswer(401, "authentication_error", `invalid x-api-key ${key ?? ""}`);
    if (!/^20\d\d-\d\d-\d\d$/.test(request.header("anthropic-version") ?? ""))
      return invalid("anthropic-version: header is required");
    if (!["/v1/messages", COUNTING].includes(request.target))
      return errorAnswer(404, "not_found_error", "Not found");
    let body: unknown;
    try {
      body = request.json();
    } catch {
      return invalid("The request body is not valid JSON");
    }
    if (!isFields(body)) return invalid("The request body is not an object");
    const twice = duplicateKey(request.bodyText);
    if (twice !== undefined) return invalid(`${twice}: stands twice`);
    if (profile.models?.includes(String(body["model"])) === false)
      return errorAnswer(404, "not_found_error", `model: ${String(body["model"])}`);
    for (const rule of RULES) {
      const wrong = rule(body, request);
      if (wrong !== undefined) return invalid(wrong);
    }
    return undefined;
  };
}

function invalid(message: string): Answer {
  return errorAnswer(400, "invalid_request_error", message);
}

function errorAnswer(status: number, type: string, message: string): Answer {
  return jsonAnswer(status, { type: "error", error: { type, message }, request_id: "req_double" });
}

const fieldsAreKnown: Rule = (body, request) => {
  const fields = request.target === COUNTING ? COUNTED : TOP_LEVEL;
  for (const name of Object.keys(body)) {
    const preview = PREVIEW_FIELDS[name];
    const known = preview?.test(request.header("anthropic-beta") ?? "") ?? fields.has(name);
    if (!known) return `${name}: Extra inputs are not permitted`;
  }
  return undefined;
};

const requiredIsThere: Rule = (body, { target }) => {
  if (target !== COUNTING && !Number.isInteger(body["max_tokens"])) return "max_tokens: Field required";
  return messagesOf(body).length === 0 ? "messages: at least one message is required" : undefined;
};

const samplingIsTaken: Rule = (body) => {
  const { model, temperature, top_p, top_k } = body;
  const isSet = (value: unknown): boolean => value !== undefined && value !== null;
  if (ADAPTIVE.test(String(model))) {
    const name = ["temperature", "top_p", "top_k"].find((field) => isSet(body[field]));
    return name === undefined ? undefined : `\`${name}\` is deprecated for this model.`;
  }
  if (isSet(temperature) && ((temperature as number) > 1 || (temperature as number) < 0))
    return "temperature: range: 0..1";
  if (isSet(temperature) && isSet(top_p) && ONE_SAMPLING.test(String(model)))
    return "`temperature` and `top_p` cannot both be specified for this model. Please use only one.";
  if (!isFields(body["thinking"]) || body["thinking"]["type"] !== "enabled") return undefined;
  if (isSet(temperature) && temperature !== 1)
    return "`temperature` may only be set to 1 when thinking is enabled.";
  if (isSet(top_k)) return "`top_k` must be unset when thinking is enabled.";
  return isSet(top_p) && (top_p as number) < 0.95
    ? "`top_p` must be greater than or equal to 0.95 or unset when thinking is enabled."
    : undefined;
};

const thinkingFits: Rule = (body, request) => {
  const { thinking } = body;
  if (thinking === undefined || thinking === null) return undefined;
  if (!isFields(thinking)) return "thinking: Input should be an object";
  const adaptive = ADAPTIVE.test(String(body["model"]));
  const { type, budget_tokens: budget } = thinking;
  if (type === "disabled" && ALWAYS_THINKS.test(String(body["model"])))
    return '"thinking.type.disabled" is not supported for this model.';
  if (adaptive && type === "enabled")
    return '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.';
  if (type === "adaptive" && !MAY_BE_ADAPTIVE.test(String(body["model"])))
    return "adaptive thinking is not supported on this model";
  const allowed = type === "enabled" ? ["type", "budget_tokens", "display"] : ["type", "display"];
  const extra = Object.keys(thinking).find((name) => !allowed.includes(name));
  if (extra !== undefined) return `thinking.${String(type)}.${extra}: Extra inputs are not permitted`;
  if (type !== "enabled") return undefined;
  if (typeof budget !== "number" || budget < 1024)
    return "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024";
  const interleaved = request.header("anthropic-beta")?.includes("interleaved-thinking") === true;
  return budget >= (body["max_tokens"] as number) && !interleaved
    ? "`max_tokens` must be greater than `thinking.budget_tokens`."
    : undefined;
};

const effortIsTaken: Rule = (body) => {
  const config = body["output_config"];
  if (!isFields(config) || config["effort"] === undefined || config["effort"] === null) return undefined;
  return MAY_BE_ADAPTIVE.test(String(body["model"]))
    ? undefined
    : "This model does not support the effort parameter.";
};

const stopSequencesSaySomething: Rule = (body) => {
  const stops = body["stop_sequences"];
  return Array.isArray(stops) && stops.some((stop) => String(stop).trim() === "")
    ? "stop_sequences: each stop sequence must contain non-whitespace"
    : undefined;
};

const blocksAreWhole: Rule = (body) => {
  for (const [i, message] of messagesOf(body).entries()) {
    for (const [j, block] of blocksOf(message).entries()) {
      const at = `messages.${i}.content.${j}`;
      const type = String(block["type"]);
      const known = BLOCK_FIELDS[type]?.split(" ");
      if (known === undefined)
        return `${at}: Input tag '${type}' found using 'type' does not match any of the expected tags`;
      const extra = Object.keys(block).find((name) => name !== "type" && !known.includes(name));
      if (extra !== undefined) return `${at}.${type}.${extra}: Extra inputs are not permitted`;
      if (type === "text" && block["text"] === "") return "messages: text content blocks must be non-empty";
      if (type === "thinking" && typeof block["signature"] !== "string")
        return `${at}.thinking.signature: Field required`;
      const unread = [block, ...blocksOf(block)].map((held) => unreadable(held["source"])).find(Boolean);
      if (unread !== undefined) return `${at}.${type}.source.${unread}`;
      if (type.endsWith("tool_use") && !/^[a-zA-Z0-9_-]+$/.test(String(block["id"])))
        return `${at}.${type}.id: String should match pattern '^[a-zA-Z0-9_-]+$'`;
    }
  }
  return undefined;
};

/** Why a vendor's server can make nothing of a source. */
function unreadable(source: unknown): string | undefined {
  if (!isFields(source)) return undefined;
  if (source["type"] === "base64" && !isBase64(source["data"])) return "base64: invalid base64 data";
  return leadsInside(source["url"]) ? "url: Unable to download the file." : undefined;
}

/** Recorded. */
const messagesSaySomething: Rule = (body) => {
  const messages = messagesOf(body);
  const mute = messages.findIndex(
    ({ role, content }, i) =>
      (content === "" || (Array.isArray(content) && content.length === 0)) &&
      (role !== "assistant" || i < messages.length - 1),
  );
  return mute === -1
    ? undefined
    : `messages.${mute}: all messages must have non-empty content except for the optional final assistant message`;
};

const thinkingForcesNoCall: Rule = ({ thinking, tool_choice: choice }) => {
  const thinks = isFields(thinking) && ["enabled", "adaptive"].includes(String(thinking["type"]));
  const forced = isFields(choice) && ["any", "tool"].includes(String(choice["type"]));
  return thinks && forced ? "Thinking may not be enabled when tool_choice forces tool use." : undefined;
};

/** A run of tools begins with its thinking, where thinking is asked for by a budget; later rounds of it need none. */
const runBeginsWithThinking: Rule = (body) => {
  const messages = messagesOf(body);
  const runs = ({ content }: Fields): boolean =>
    Array.isArray(content) && content.some((block) => isFields(block) && block["type"] === "tool_result");
  const isOnlyResults = (message: Fields): boolean =>
    runs(message) && blocksOf(message).every(({ type }) => type === "tool_result");
  const last = messages.at(-1);
  if (!isFields(body["thinking"]) || body["thinking"]["type"] !== "enabled") return undefined;
  if (last === undefined || !runs(last)) return undefined;
  const asked = messages.findLastIndex(
    (message, i) => i < messages.length - 1 && message["role"] === "user" && !isOnlyResults(message),
  );
  const answer = messages.slice(asked + 1).find(({ role }) => role === "assistant");
  const type = answer === undefined ? undefined : blocksOf(answer)[0]?.["type"];
  return typeof type !== "string" || type.endsWith("thinking")
    ? undefined
    : `messages.${asked + 1}.content.0.type: Expected \`thinking\` or \`redacted_thinking\`, but found \`${type}\`.`;
};

const lastAnswerGoesOn: Rule = (body) => {
  const last = messagesOf(body).at(-1);
  if (last?.["role"] !== "assistant") return undefined;
  const text = typeof last["content"] === "string" ? last["content"] : blocksOf(last).at(-1)?.["text"];
  return typeof text === "string" && /\s$/.test(text)
    ? "messages: final assistant content cannot end with trailing whitespace"
    : undefined;
};

const callsAreAnswered: Rule = (body) => {
  let open: readonly string[] = [];
  const used = new Set<string>();
  for (const [i, message] of messagesOf(body).entries()) {
    if (message["role"] === "system") continue;
    const results = blocksOf(message).filter(({ type }) => type === "tool_result");
    const answered = results.map((block) => String(block["tool_use_id"]));
    const stray = answered.find((id) => !open.includes(id));
    if (stray !== undefined)
      return `messages.${i}.content.0: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${stray}.`;
    const missed = open.filter((id) => !answered.includes(id));
    if (missed.length > 0)
      return `messages.${i - 1}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${missed.join(", ")}.`;
    const last = blocksOf(message).findLastIndex(({ type }) => type === "tool_result");
    if (last >= results.length) return `messages.${i}: tool results must come first`;
    open = blocksOf(message)
      .filter(({ type }) => type === "tool_use")
      .map((block) => String(block["id"]));
    if (open.some((id) => used.has(id)) || new Set(open).size < open.length)
      return `messages.${i}: \`tool_use\` ids must be unique`;
    for (const id of open) used.add(id);
  }
  return open.length === 0 ? undefined : "the last message has `tool_use` without `tool_result`";
};

const breakpointsAreFew: Rule = (body) => {
  const count = (value: unknown): number => {
    if (Array.isArray(value)) return value.reduce((sum: number, item) => sum + count(item), 0);
    if (!isFields(value)) return 0;
    const own = isFields(value["cache_control"]) ? 1 : 0;
    return own + Object.values(value).reduce((sum: number, item) => sum + count(item), 0);
  };
  const found = count(body);
  return found > 4 ? `A maximum of 4 blocks with cache_control may be provided. Found ${found}.` : undefined;
};

const systemStandsWell: Rule = (body) => {
  const roles = messagesOf(body).map(({ role }) => role);
  const wrong = roles.findIndex((role, i) => role === "system" && (i === 0 || roles[i - 1] === "system"));
  return wrong === -1 ? undefined : `messages.${wrong}: system messages must follow a user message`;
};

const RULES: readonly Rule[] = [
  fieldsAreKnown,
  requiredIsThere,
  samplingIsTaken,
  thinkingFits,
  effortIsTaken,
  stopSequencesSaySomething,
  systemStandsWell,
  messagesSaySomething,
  thinkingForcesNoCall,
  blocksAreWhole,
  callsAreAnswered,
  runBeginsWithThinking,
  breakpointsAreFew,
  lastAnswerGoesOn,
];

function messagesOf(body: Fields): readonly Fields[] {
  const { messages } = body;
  return Array.isArray(messages) ? messages.filter((message) => isFields(message)) : [];
}

function blocksOf(message: Fields): readonly Fields[] {
  const { content } = message;
  return Array.isArray(content) ? content.filter((block) => isFields(block)) : [];
}
