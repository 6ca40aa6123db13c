import { invalid } from "./request-json.ts";

/**
 * Links go to the provider as they are; only the schemes that a provider may be asked to fetch are let through.
 * `kind` is the first half of the media type that a data URL must have.
 */
export function checkMediaUrl(url: string, kind: string, path: string): void {
  const scheme = schemeOf(url);
  if (scheme === "https" || scheme === "http") {
    if (/[\s\\]/.test(url) || !URL.canParse(url)) throw invalid(`${path} is not a valid URL.`, path);
    return;
  }
  if (scheme !== "data") throw invalid(`${path} must be an http, https or data URL.`, path);
  if (!url.includes(",")) throw invalid(`${path} is a data URL without a comma.`, path);
  if (url.slice(5, 5 + kind.length + 1).toLowerCase() === `${kind}/`) return;
  const what = kind === "image" ? "an image" : `a ${kind}`;
  throw invalid(`${path} must hold ${what}: its media type says otherwise.`, path);
}

/** The scheme of a URL in lower case; `undefined` when there is none. */
export function schemeOf(url: string): string | undefined {
  return /^([a-z][a-z0-9+.-]*):/i.exec(url.slice(0, 32))?.[1]?.toLowerCase();
}
