import { BROKEN, openScan, skipSpace, skipValue } from "../core/json-scan.ts";
import { BOUNDS } from "./request-json.ts";

/** What a text is as JSON; `deep` and `many`: it may be JSON, but goes beyond what a body may have. */
export type EmbeddedKind = "object" | "value" | "none" | "deep" | "many";

/**
 * JSON that stands as a text within one request: arguments and results of tools. All of it together may have as many
 * values as a body, so that what is made of it is no larger. It is scanned and not built.
 */
export interface EmbeddedJson {
  kindOf(text: string): EmbeddedKind;
}

const encoder = new TextEncoder();

/** For one request. */
export function openEmbeddedJson(): EmbeddedJson {
  let left = BOUNDS.values;
  return {
    kindOf(text) {
      const bytes = encoder.encode(text);
      const scan = openScan(bytes, bytes.length, BOUNDS.depth, left);
      const start = skipSpace(scan, 0);
      const end = skipValue(scan, start);
      if (scan.failure === "depth") return "deep";
      if (scan.failure === "values") return "many";
      if (end === BROKEN || skipSpace(scan, end) < bytes.length) return "none";
      left -= scan.values;
      return bytes[start] === OBJECT ? "object" : "value";
    },
  };
}

const OBJECT = 0x7b;
