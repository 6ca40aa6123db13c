import type { Answer } from "./answer.ts";
import { jsonAnswer } from "./answer.ts";
import { duplicateKey } from "./json-keys.ts";
import type { SeenRequest } from "./seen-request.ts";
import type { Fields } from "./strict-fields.ts";
import { FIELD_RULES, isFields, refusal } from "./strict-fields.ts";
import { MESSAGE_RULES } from "./strict-messages.ts";
import type { Refusal, StrictProfile } from "./strict-profiles.ts";

/** Checks one request: the vendor's error answer, or undefined when the vendor would have taken it. */
export type StrictCheck = (request: SeenRequest) => Answer | undefined;

/**
 * A check of chat completion requests as strict as the vendor of the profile, for handlers to apply before they
 * answer: `double.handle((request) => strict(request) ?? chatAnswer())`.
 */
export function strictChatCompletions(profile: StrictProfile): StrictCheck {
  return (request) => {
    const refused = checkKey(request, profile) ?? checkBody(request, profile);
    return refused === undefined ? undefined : jsonAnswer(refused.status, profile.errorBody(refused));
  };
}

function checkKey(request: SeenRequest, profile: StrictProfile): Refusal | undefined {
  const key = /^Bearer (\S+)$/.exec(request.header("authorization") ?? "")?.[1];
  if (key === undefined) {
    return { ...refusal("You didn't provide an API key.", { status: 401 }), ...profile.wording.noKey?.() };
  }
  if (profile.keys === undefined || profile.keys.includes(key)) return undefined;
  // Vendors echo part of the key (recorded from OpenAI): a gateway must not hand this on.
  const message = `Incorrect API key provided: ${key.slice(0, 8)}****${key.slice(-4)}. You can find your API key at https://platform.openai.com/account/api-keys.`;
  return {
    ...refusal(message, { status: 401, code: "invalid_api_key" }),
    ...profile.wording.wrongKey?.(key),
  };
}

function checkBody(request: SeenRequest, profile: StrictProfile): Refusal | undefined {
  const body = readBody(request);
  if ("refused" in body) return body.refused;
  for (const rule of [...FIELD_RULES, ...MESSAGE_RULES]) {
    const refused = rule(body.fields, profile);
    if (refused !== undefined) return refused;
  }
  return undefined;
}

function readBody(request: SeenRequest): { readonly fields: Fields } | { readonly refused: Refusal } {
  if (request.header("content-type")?.startsWith("application/json") !== true) {
    return { refused: refusal("The content type of the request must be application/json.") };
  }
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(request.body);
    const fields: unknown = JSON.parse(text);
    if (!isFields(fields)) return { refused: refusal("The body of the request must be a JSON object.") };
    const twice = duplicateKey(text);
    if (twice === undefined) return { fields };
    // Vendors take one of the two silently; a request that leaves it to chance is a mistake of the sender.
    return { refused: refusal(`Duplicate key '${twice}' in the body of the request.`, { param: twice }) };
  } catch {
    const message =
      "We could not parse the JSON body of your request. (HINT: This likely means you aren't using your HTTP library correctly. The API expects a JSON payload, but what was sent was not valid JSON.)";
    return { refused: refusal(message) };
  }
}
