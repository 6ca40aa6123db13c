import { GatewayError } from "../../core/errors.ts";

/** The verbs of generateContent, each the end of a path. */
export const VERBS = ["generateContent", "streamGenerateContent", "countTokens"] as const;
export type Verb = (typeof VERBS)[number];

/** The model and verb of a path of this format. */
export interface GenerateAddress {
  readonly model: string;
  readonly verb: Verb;
}

/** The documented form, or without `models/`: some clients leave that out before an id with a slash. */
const FORM = /^\/api\/v1\/(models\/)?(.+)$/;

/**
 * Reads a documented address as it was sent: `/api/v1/models/{vendor}/{name}:{verb}`, its slash and colon
 * percent-encoded or not, `models/` left out or not. `undefined` for any other path. Throws a 404 that names the verbs
 * for a POST with another one.
 */
export function readGenerateAddress(path: string, method: string): GenerateAddress | undefined {
  const [, folder, target] = FORM.exec(path) ?? [];
  if (target === undefined) return undefined;
  // The last colon: ids of models may have others.
  const parts = /^(.+)(?::|%3a)([^:/]*)$/i.exec(target);
  const [, id = "", ending = ""] = parts ?? [];
  if (id === "") return undefined;
  const model = decodeURIComponent(id);
  if (folder === undefined && !model.includes("/")) return undefined;
  const verb = VERBS.find((name) => name === ending);
  if (verb !== undefined) return { model, verb };
  // With a GET it is the model's own page: ids may have a colon.
  if (folder === undefined || method !== "POST") return undefined;
  throw new GatewayError(
    "not_found_error",
    `${JSON.stringify(ending.slice(0, 40))} is not served here; what there is for a model: ${VERBS.join(", ")}.`,
  );
}
