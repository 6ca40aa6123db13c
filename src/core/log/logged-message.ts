import type { GatewayError } from "../errors.ts";

/** A path of a field: words, dots, indexes. */
const FIELD_PATH = /^[\w.[\]-]{1,120}$/;

/** A path with an index: no text of a caller looks like one by chance. */
const INDEXED_PATH = /^[\w.]+\[\d+\][\w.[\]]*$/;

/** Text of the caller within our messages: a JSON string. */
const QUOTED = /"(?:[^"\\]|\\.)*"?/g;

/** The beginning of a quotation in a provider's message; an apostrophe within a word begins none. */
const OPENS = /["`“‘«]|(?<![\p{L}\p{N}])'/u;

/** `param` for the log; `undefined` where it is text of the caller's and no path of a field. */
export function loggedParam(param: string | undefined): string | undefined {
  return param !== undefined && FIELD_PATH.test(param) ? param : undefined;
}

/**
 * A refusal's message without the caller's text. In our own sentences that is what stands in quotes. A provider's
 * message is cut at its first quotation, since the caller's own quotes could end it early. Ids of models that `isModel`
 * knows and paths of fields stay. A moderation's message is about the caller's text and is left out.
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

/** The text before the first quotation that is not shown. */
function untilQuotation(text: string, isShown: (text: string) => boolean): string {
  const start = text.search(OPENS);
  if (start === -1) return text;
  const end = text.indexOf(text.charAt(start), start + 1);
  if (end === -1 || !isShown(text.slice(start + 1, end))) return `${text.slice(0, start)}…`;
  return text.slice(0, end + 1) + untilQuotation(text.slice(end + 1), isShown);
}
