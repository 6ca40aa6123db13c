import type { GatewayError } from "../errors.ts";

/** A path of a field: words, dots, indexes. */
const FIELD_PATH = /^[\w.[\]-]{1,120}$/;

/** One that no text of a caller looks like by chance: it has an index. */
const INDEXED_PATH = /^[\w.]+\[\d+\][\w.[\]]*$/;

/** What our messages have of the caller's: a string of JSON. */
const QUOTED = /"(?:[^"\\]|\\.)*"?/g;

/** Where a quotation of a provider's may begin; an apostrophe within a word begins none. */
const OPENS = /["`“‘«]|(?<![\p{L}\p{N}])'/u;

/** `param` as the log may have it; `undefined` for a name that is no path of a field but a text of the caller's. */
export function loggedParam(param: string | undefined): string | undefined {
  return param !== undefined && FIELD_PATH.test(param) ? param : undefined;
}

/**
 * A refusal's message without what the caller sent. In our own sentences that is what stands in quotes; in a provider's
 * all from the first quotation on, since the caller's own marks could end it early. Ids of models that `isModel` knows and
 * paths of fields stay. Of a moderation's message, which is about what the caller wrote, nothing does.
 */
export function loggedMessage(
  { kind, message, param, foreign }: Pick<GatewayError, "kind" | "message" | "param" | "foreign">,
  isModel: (text: string) => boolean = () => false,
): string {
  if (kind === "content_moderation") return "…";
  const path = loggedParam(param);
  const isShown = (text: string): boolean => text === path || INDEXED_PATH.test(text) || isModel(text);
  if (foreign) return untilQuotation(message, isShown);
  const text = path === undefined && param ? message.replaceAll(param, "…") : message;
  return text.replaceAll(QUOTED, (quoted) => (isShown(quoted.slice(1, -1)) ? quoted : '"…"'));
}

/** The text up to the first quotation that is not shown. */
function untilQuotation(text: string, isShown: (text: string) => boolean): string {
  const start = text.search(OPENS);
  if (start === -1) return text;
  const end = text.indexOf(text.charAt(start), start + 1);
  if (end === -1 || !isShown(text.slice(start + 1, end))) return `${text.slice(0, start)}…`;
  return text.slice(0, end + 1) + untilQuotation(text.slice(end + 1), isShown);
}
