import { contentHash } from "../../../runtime/hash.ts";

/** What ids of items begin with; an answer's own is `resp`. */
export type IdPrefix =
  | "resp"
  | "msg"
  | "rs"
  | "fc"
  | "ctc"
  | "tsc"
  | "sh"
  | "lsh"
  | "apc"
  | "ig"
  | "cmp"
  | "call";

/** Characters behind the prefix, as the reference's ids have them at the least. */
const LENGTH = 24;

/**
 * Ids of one answer, each another one: `place` counts its items. The same request gives the same ids, so that a stream
 * and its last event agree without keeping any.
 */
export function mintId(prefix: IdPrefix, requestId: string, place = 0): string {
  return `${prefix}_${contentHash(`${requestId} ${prefix} ${place}`).slice(0, LENGTH)}`;
}
