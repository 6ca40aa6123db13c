import { GatewayError } from "../core/errors.ts";
import { present } from "../core/json/json-value.ts";
import { CATEGORIES, type Category } from "../core/model.ts";
import type { PageRequest } from "../gateway/model-page.ts";

/**
 * Reads which page of the list of models is asked for. The names are those of Anthropic's SDK (`limit`, `after_id`,
 * `before_id`) or of Google's (`pageSize`, `pageToken`); OpenAI's has none. Throws a 400 that names the field at fault,
 * and a 404 for an unknown category.
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
  return present({ limit, cursor, category: readCategory(query.get("category")) });
}

function readCategory(said: string | null): Category | undefined {
  if (said === null) return undefined;
  const category = CATEGORIES.find((known) => known === said);
  if (category !== undefined) return category;
  throw new GatewayError(
    "not_found_error",
    `There is no such category: there are ${CATEGORIES.join(", ")}.`,
    {
      param: "category",
    },
  );
}

function readCount(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  if (text === null) return undefined;
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw new GatewayError("invalid_request_error", `${name} must be a whole number from 1 on.`, {
    param: name,
  });
}
