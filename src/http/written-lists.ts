import type { Catalog } from "../catalog/catalog.ts";
import type { Caller } from "../core/caller.ts";
import type { PageRequest } from "../gateway/model-page.ts";
import { contentHash } from "../runtime/hash.ts";

/** A list of models as it is sent. */
export interface WrittenList {
  readonly body: Uint8Array;
  /** Names its content, for `If-None-Match`. */
  readonly etag: string;
}

/** Lists of one catalogue that are kept: one for each page that keys with the same models ask for. */
const MOST_LISTS = 64;

/** The gateway keeps no list whose name is longer: a client may send any text as a cursor. */
const MAX_NAME = 16_384;

const kept = new WeakMap<Catalog, Map<string, WrittenList>>();

/**
 * The list that `write` gives as text, written once for all callers who may use the same models. Clients ask for it
 * again and again, and it changes with the catalogue alone.
 */
export function writtenList(
  catalog: Catalog,
  { models }: Pick<Caller, "models">,
  page: PageRequest,
  write: () => string,
): WrittenList {
  const lists = kept.getOrInsertComputed(catalog, () => new Map<string, WrittenList>());
  const name = JSON.stringify([models === null ? null : [...models], page]);
  const found = lists.get(name);
  if (found !== undefined) return found;
  const body = new TextEncoder().encode(write());
  const written = { body, etag: `"${contentHash(body).slice(0, 32)}"` };
  if (name.length > MAX_NAME) return written;
  if (lists.size >= MOST_LISTS) lists.clear();
  lists.set(name, written);
  return written;
}
