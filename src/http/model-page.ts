import { GatewayError } from "../core/errors.ts";
import type { PageRequest } from "../gateway/model-page.ts";

/**
 * Reads which page of the list of models is asked for, by the names of Anthropic's SDK (`limit`, `after_id`,
 * `before_id`) or of Google's (`pageSize`, `pageToken`); OpenAI's has none. Throws a 400 that names the field at fault.
 */
export function readModelPage(query: URLSearchParams): PageRequest {
  const limit = readCount(query, "limit") ?? readCount(query, "pageSize");
  const cursors = (["after_id", "before_id", "pageToken"] as const).flatMap((param) => {
    const row = query.get(param) ?? "";
    return row === "" ? [] : [{ row, param, side: param === "before_id" ? "before" : "after" } as const];
  });
  const [cursor, other] = cursors;
  if (other !== undefined) {
    throw new GatewayError("invalid_request_error", `Send ${cursor?.param} or ${other.param}, not both.`, {
      param: other.param,
    });
  }
  return { ...(limit === undefined ? {} : { limit }), ...(cursor === undefined ? {} : { cursor }) };
}

function readCount(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  if (text === null) return undefined;
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw new GatewayError("invalid_request_error", `${name} must be a whole number from 1 on.`, {
    param: name,
  });
}
