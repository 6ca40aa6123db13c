import { seededRandom } from "../upstream/cuts.ts";
import {
  COMPACT,
  hostileSpelling,
  type Json,
  rewrittenText,
  squeezed,
  textOf,
  withoutMembers,
  writeObject,
  type WrittenObject,
} from "./wire-json.ts";

/** What the client sends and what upstream must get for it. */
export interface RequestPair {
  readonly sent: string;
  /** Whether `received` is the request after the named rewrites, byte for byte. */
  accepts(received: string): boolean;
  /** For a message when it is not. */
  readonly wanted: string;
  /** The field that the client must be told was left out. */
  readonly leftOut?: string;
}

const UNKNOWN_FIELD = "x_field_of_nobody";

/** The recorded request with the gateway's model id, as `JSON.stringify` writes it. */
export function plainPair(body: Json, modelId: string): RequestPair {
  return pairOf(writeObject({ ...body, model: modelId }, COMPACT), body);
}

/**
 * The same request in another spelling: white space, escapes and numbers at random. A streamed one asks for its
 * usage in another way too, and one for a native provider has a field more that nobody knows.
 */
export function hostilePair(body: Json, modelId: string, native: boolean, seed: number): RequestPair {
  const random = seededRandom(seed * 7 + 1);
  const changed: Json = { ...body, model: modelId };
  if (body.stream === true) {
    const options = [undefined, {}, { include_usage: false }, { include_usage: true }];
    const option = options[Math.floor(random() * options.length)];
    if (option === undefined) delete changed.stream_options;
    else changed.stream_options = option;
  }
  if (native) changed[UNKNOWN_FIELD] = { deep: [1, "}", null] };
  const entries = Object.entries(changed as object);
  // The unknown field is not always the last.
  if (native) entries.splice(Math.floor(random() * entries.length), 0, ...entries.splice(-1));
  return pairOf(writeObject(Object.fromEntries(entries), hostileSpelling(seed)), body);
}

function pairOf(written: WrittenObject, body: Json): RequestPair {
  const replace: Record<string, string> = { model: JSON.stringify(body.model) };
  const append: string[] = [];
  if (body.stream === true) askForUsage(written, replace, append);
  const rewrites = { replace, append };
  const sent = textOf(written);
  if (!written.members.some((member) => member.name === UNKNOWN_FIELD)) {
    const wanted = rewrittenText(written, rewrites);
    return { sent, wanted, accepts: (received) => received === wanted };
  }
  // Which of the white space around a member goes with it is not said, so it is left out of the comparison.
  const wanted = squeezed(rewrittenText(withoutMembers(written, [UNKNOWN_FIELD]), rewrites));
  return { sent, wanted, leftOut: UNKNOWN_FIELD, accepts: (received) => squeezed(received) === wanted };
}

/** The stream's usage is asked for where the client did not. */
function askForUsage(written: WrittenObject, replace: Record<string, string>, append: string[]): void {
  const options = written.members.find((member) => member.name === "stream_options");
  if (options === undefined) {
    append.push('"stream_options":{"include_usage":true}');
    return;
  }
  const value = JSON.parse(options.value);
  if (value.include_usage === true) return;
  replace.stream_options =
    value.include_usage === false
      ? options.value.replace(/false(\s*\})$/, "true$1")
      : options.value.replace("{", '{"include_usage":true');
}
