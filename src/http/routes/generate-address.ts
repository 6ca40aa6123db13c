import { GatewayError } from "../../core/errors.ts";

/** The verbs of generateContent, each the end of a path. */
export const VERBS = ["generateContent", "streamGenerateContent"] as const;
export type Verb = (typeof VERBS)[number];

/** What a path of this format names. */
export interface GenerateAddress {
  readonly model: string;
  readonly verb: Verb;
}

/** Where official clients put the version, given the documented base address or the one before it. */
const BASE = /^\/api\/(?:v1\/(?:v1\/|v1beta\/)?|v1beta\/)(models\/)?(.+)$/;

/**
 * Reads a path as it was sent: `/api/v1/models/{vendor}/{name}:{verb}`, its slash and colon percent-encoded or not,
 * and the paths that official SDKs make of the documented base address (a second version, another one, no `models/`
 * before an id with a slash). `undefined` for any other path. Throws a 404 that names the verbs for a POST with another one.
 */
export function readGenerateAddress(path: string, method: string): GenerateAddress | undefined {
  const [, folder, target] = BASE.exec(path) ?? [];
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
    `There is no ${JSON.stringify(ending.slice(0, 40))} for a model here: the verbs are ${VERBS.join(" and ")}.`,
  );
}
