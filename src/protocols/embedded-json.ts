import { openScan, skipSpace, skipValue } from "../core/json/json-scan.ts";
import { countValues } from "../core/json/json-shape.ts";
import { parseExact } from "./exact-json.ts";
import { BOUNDS } from "./request-json.ts";

/** What a text is as JSON; `deep` and `many`: it may be JSON, but goes beyond what a body may have. */
export type EmbeddedKind = "object" | "value" | "none" | "deep" | "many";

/**
 * JSON that stands as a text within one request: arguments and results of tools. All of it together may have as many
 * values as a body, so that what is made of it is no larger.
 */
export interface EmbeddedJson {
  read(text: string): EmbeddedValue;
  /** Counts the values of a text that was read before; `false`, and counts nothing, where they are too many. */
  take(values: number): boolean;
  /** Values so far. */
  readonly taken: number;
}

export interface EmbeddedValue {
  readonly kind: EmbeddedKind;
  /** As `parseExact` gives it; absent where it is none, or too much. */
  readonly value?: unknown;
  /** How many values it has; absent likewise. */
  readonly values?: number;
}

const encoder = new TextEncoder();

/** For one request. */
export function openEmbeddedJson(): EmbeddedJson {
  let left = BOUNDS.values;
  return {
    read(text) {
      const bytes = encoder.encode(text);
      const values = countValues(bytes, { depth: BOUNDS.depth, values: left });
      if (values === undefined) return { kind: kindBeyond(bytes, left) };
      const value = parseExact(text);
      if (value === undefined) return { kind: "none" };
      left -= values;
      // A number that keeps its digits is an object too.
      return { kind: text.trimStart().startsWith("{") ? "object" : "value", value, values };
    },
    take(values) {
      if (values > left) return false;
      left -= values;
      return true;
    },
    get taken() {
      return BOUNDS.values - left;
    },
  };
}

/** Why a text goes beyond the bounds, by the scanner that validates: what is no JSON may only seem to. */
function kindBeyond(bytes: Uint8Array, left: number): EmbeddedKind {
  const scan = openScan(bytes, bytes.length, BOUNDS.depth, left);
  skipValue(scan, skipSpace(scan, 0));
  if (scan.failure === "depth") return "deep";
  return scan.failure === "values" ? "many" : "none";
}
