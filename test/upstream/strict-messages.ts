import type { FieldRule, Fields } from "./strict-fields.ts";
import { isFields, refusal } from "./strict-fields.ts";
import { isBase64, leadsInside } from "./strict-media.ts";

const messagesAreThere: FieldRule = (body) => {
  const { messages } = body;
  if (messages === undefined) {
    return refusal("Missing required parameter: 'messages'.", {
      param: "messages",
      code: "missing_required_parameter",
    });
  }
  if (!Array.isArray(messages) || !messages.every((message) => isFields(message))) {
    return refusal("Invalid type for 'messages': expected an array of objects.", {
      param: "messages",
      code: "invalid_type",
    });
  }
  if (messages.length > 0) return undefined;
  const message =
    "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead.";
  return refusal(message, { param: "messages", code: "empty_array" });
};

const messagePropertiesAreKnown: FieldRule = (body, profile) => {
  for (const [index, message] of messagesOf(body).entries()) {
    const named = profile.toolNames === true && message["role"] === "tool";
    const unknown = Object.keys(message).find(
      (name) => profile.messageProperties?.has(name) === false && !(named && name === "name"),
    );
    if (unknown !== undefined) return refusal(`'messages.${index}' : property '${unknown}' is unsupported`);
  }
  return undefined;
};

const messagePropertiesAreNotRefused: FieldRule = (body, profile) => {
  for (const [index, message] of messagesOf(body).entries()) {
    const refused = Object.keys(message).find((name) => profile.refusedMessageProperties?.has(name) === true);
    if (refused !== undefined) {
      const text = `Additional properties are not allowed ('${refused}' was unexpected) - 'messages.${index}'`;
      return refusal(text, { param: `messages[${index}]` });
    }
  }
  return undefined;
};

const rolesAreKnown: FieldRule = (body, profile) => {
  const unknown = messagesOf(body).find(({ role }) => profile.roles?.includes(String(role)) === false);
  if (unknown === undefined) return undefined;
  return refusal(
    `messages: unknown variant \`${String(unknown["role"])}\`, expected one of \`system\`, \`user\``,
  );
};

const dataUrlsArePlain: FieldRule = (body, profile) => {
  if (profile.plainDataUrls !== true) return undefined;
  const odd = messagesOf(body)
    .flatMap((message) => [message["content"], message["images"]])
    .flatMap((parts) => (Array.isArray(parts) ? parts : []))
    .map((part) => (isFields(part) && isFields(part["image_url"]) ? String(part["image_url"]["url"]) : ""))
    .find((url) => url.startsWith("data:") && !/^data:image\/[a-z]+;base64,/.test(url));
  return odd === undefined ? undefined : refusal("Invalid base64 image_url.", { code: "invalid_base64" });
};

const mediaCanBeRead: FieldRule = (body, { fileLinks = false }) => {
  for (const [index, { content }] of messagesOf(body).entries()) {
    const parts = Array.isArray(content) ? content.filter((part) => isFields(part)) : [];
    const wrong = parts.findIndex(({ image_url: link, file, input_audio: audio }) => {
      const url = isFields(link) ? String(link["url"]) : "";
      if (leadsInside(url)) return true;
      const data = [
        ...(url.startsWith("data:") ? [url.split(";base64,")[1]] : []),
        ...(isFields(file) && "file_data" in file ? dataOf(String(file["file_data"]), fileLinks) : []),
        ...(isFields(audio) ? [audio["data"]] : []),
      ];
      return data.some((value) => !isBase64(value));
    });
    if (wrong !== -1)
      return refusal("Invalid base64 image_url.", { param: `messages[${index}].content[${wrong}]` });
  }
  return undefined;
};

/** The data of a file; none behind a link, where links to files are taken. */
function dataOf(file: string, links: boolean): readonly (string | undefined)[] {
  return links && file.startsWith("https:") ? [] : [file.split(",").at(-1)];
}

const contentIsNotNull: FieldRule = (body, profile) => {
  const hasNull = messagesOf(body).some((message) => message["content"] === null);
  if (profile.refusesNullContent !== true || !hasNull) return undefined;
  return refusal("Expected string or list of content parts, got: null");
};

const reasoningComesBack: FieldRule = (body, profile) => {
  if (profile.wantsReasoningBack?.test(String(body["model"])) !== true || !Array.isArray(body["tools"]))
    return undefined;
  const thinking = body["thinking"];
  if (isFields(thinking) && thinking["type"] === "disabled") return undefined;
  const missing = messagesOf(body).some(
    (message) => message["role"] === "assistant" && typeof message["reasoning_content"] !== "string",
  );
  if (!missing) return undefined;
  return refusal("The reasoning_content in the thinking mode must be passed back to the API.", {
    code: "invalid_request_error",
  });
};

const toolCallIdsFit: FieldRule = (body, profile) => {
  const { toolCallId } = profile;
  if (toolCallId === undefined) return undefined;
  const ids = messagesOf(body).flatMap((message) => callIds(message).concat(answeredId(message)));
  const wrong = ids.find((id) => !toolCallId.test(id));
  if (wrong === undefined) return undefined;
  return refusal(`Tool call id was ${wrong} but must be a-z, A-Z, 0-9, with a length of 9.`, {
    type: "invalid_request_message_order",
    code: "3280",
  });
};

const toolCallsArePaired: FieldRule = (body, profile) => {
  if (!profile.pairsToolCalls) return undefined;
  let open = new Set<string>();
  for (const [index, message] of messagesOf(body).entries()) {
    const param = `messages.[${index}].role`;
    if (message["role"] === "tool") {
      const answered = answeredId(message).some((id) => open.delete(id));
      if (!answered) return refusal(WITHOUT_CALL, { param });
      continue;
    }
    if (open.size > 0) return refusal(unansweredCalls(open), { param });
    open = new Set(callIds(message));
  }
  return open.size === 0 ? undefined : refusal(unansweredCalls(open), { param: "messages" });
};

const WITHOUT_CALL =
  "Invalid parameter: messages with role 'tool' must be a response to a preceding message with 'tool_calls'.";

function unansweredCalls(ids: ReadonlySet<string>): string {
  return `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ${[...ids].join(", ")}`;
}

function messagesOf(body: Fields): readonly Fields[] {
  const { messages } = body;
  return Array.isArray(messages) ? messages.filter((message) => isFields(message)) : [];
}

function callIds(message: Fields): string[] {
  const calls = message["tool_calls"];
  if (!Array.isArray(calls)) return [];
  return calls.map((call) => (isFields(call) && typeof call["id"] === "string" ? call["id"] : ""));
}

function answeredId(message: Fields): string[] {
  if (message["role"] !== "tool") return [];
  const id = message["tool_call_id"];
  return [typeof id === "string" ? id : ""];
}

/** The rules about messages, in the order they are applied. */
export const MESSAGE_RULES: readonly FieldRule[] = [
  messagesAreThere,
  messagePropertiesAreKnown,
  messagePropertiesAreNotRefused,
  rolesAreKnown,
  dataUrlsArePlain,
  mediaCanBeRead,
  contentIsNotNull,
  reasoningComesBack,
  toolCallIdsFit,
  toolCallsArePaired,
];
