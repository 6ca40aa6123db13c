import { GatewayError } from "../core/errors.ts";
import type { FoundState, StateNames } from "../protocols/protocol.ts";
import {
  inList,
  inputItemNamed,
  itemsById,
  itemsIn,
  type Round,
  wholeAnswer,
} from "../protocols/responses/kept.ts";
import { brokenChain, longChain, noSuchItem, noSuchResponse } from "../protocols/responses/not-kept.ts";
import type { Sealing } from "./sealing.ts";
import type { KeptStore, Link } from "./tables.ts";

/** How many answers a conversation may have that goes on from one another. */
const MOST_LINKS = 100;

/** As much as a request may have itself, and the same sealed. */
const MOST_CHARACTERS = 32 * 1024 * 1024;
const MOST_BYTES = (MOST_CHARACTERS * 4) / 3;

/** Reads of answers that were made after a moment. */
export interface Finding {
  /** What a request names. Rejects with a 404 for an item, and a 400 for an answer, that is not there. */
  find(account: string, names: StateNames, sinceMs: number): Promise<FoundState>;
  /** The answers up to this one, the oldest first, as far as they are there; none where this one is not. */
  rounds(account: string, id: string, sinceMs: number): Promise<readonly Round[]>;
  /** The response object, as its client had it. */
  response(account: string, id: string, sinceMs: number): Promise<Uint8Array | undefined>;
}

/** Reads `store`, whose texts `sealing` opens. */
export function createFinding(store: KeptStore, { open }: Sealing): Finding {
  const roundsOf = async (
    account: string,
    links: readonly Link[],
    sinceMs: number,
  ): Promise<readonly Round[]> => {
    if (links.length === 0) return [];
    const ids = links.map(({ id }) => id).toReversed();
    const texts = new Map((await store.texts(account, ids, sinceMs)).map((row) => [row.id, row]));
    const rows = ids.flatMap((id) => texts.get(id) ?? []);
    return Promise.all(
      rows.map(async ({ id, input, output }) => ({
        id,
        input: await open(account, id, "input", input),
        output: await open(account, id, "output", output),
      })),
    );
  };

  /** All items up to and with an answer. */
  const before = async (account: string, id: string, sinceMs: number): Promise<string> => {
    const links = await store.chain(account, id, sinceMs, MOST_LINKS + 1);
    const oldest = links.at(-1);
    if (oldest === undefined) throw noSuchResponse(id);
    if (links.length > MOST_LINKS) throw longChain(MOST_LINKS);
    if (oldest.previous !== null) throw brokenChain(id, oldest.previous);
    if (links.reduce((sum, { bytes }) => sum + bytes, 0) > MOST_BYTES) throw tooLarge("previous_response_id");
    const rounds = await roundsOf(account, links, sinceMs);
    // One was deleted in between.
    if (rounds.length < links.length) throw noSuchResponse(id);
    return rounds
      .flatMap(({ input, output }) => [inList(input), inList(output)])
      .filter((items) => items !== "")
      .join(",");
  };

  const itemsNamed = findItems(store, open);

  return {
    async find(account, { previous, items }, sinceMs) {
      const [earlier, found] = await Promise.all([
        previous === undefined ? "" : before(account, previous, sinceMs),
        itemsNamed(account, items, sinceMs),
      ]);
      // An item may be named again and again.
      const size = items.reduce((sum, id) => sum + (found[id] ?? "").length, earlier.length);
      if (size > MOST_CHARACTERS) throw tooLarge(previous === undefined ? "input" : "previous_response_id");
      return { before: earlier, items: found, size };
    },
    rounds: async (account, id, sinceMs) =>
      roundsOf(account, await store.chain(account, id, sinceMs, MOST_LINKS), sinceMs),
    async response(account, id, sinceMs) {
      const [row] = await store.texts(account, [id], sinceMs);
      if (row === undefined) return undefined;
      const [output, frame] = await Promise.all([
        open(account, id, "output", row.output),
        open(account, id, "frame", row.frame),
      ]);
      return wholeAnswer({ output, frame });
    },
  };
}

/** Finds items by their ids, each as a JSON text. Rejects with a 404 for one that is not there. */
function findItems(
  store: KeptStore,
  open: Sealing["open"],
): (account: string, items: readonly string[], sinceMs: number) => Promise<FoundState["items"]> {
  /** Items of answers' inputs, which are known by ids of ours; each answer is opened once. */
  const inputItems = async (
    account: string,
    items: readonly string[],
    sinceMs: number,
  ): Promise<FoundState["items"]> => {
    const named = items.flatMap((id) => {
      const place = inputItemNamed(id);
      return place === undefined ? [] : [{ id, ...place }];
    });
    const ids = [...new Set(named.map(({ response }) => response))];
    const rows = ids.length === 0 ? [] : await store.texts(account, ids, sinceMs);
    const found: Record<string, string> = {};
    for (const { id: response, input } of rows) {
      const texts = itemsIn(await open(account, response, "input", input));
      for (const { id, place } of named.filter((one) => one.response === response))
        if (texts[place] !== undefined) found[id] = texts[place];
    }
    return found;
  };

  return async (account: string, items: readonly string[], sinceMs: number): Promise<FoundState["items"]> => {
    if (items.length === 0) return {};
    const owners = await store.owners(account, items, sinceMs);
    const ids = [...new Set(Object.values(owners))];
    const rows = ids.length === 0 ? [] : await store.texts(account, ids, sinceMs);
    const outputs = rows.map(async ({ id, output }) => itemsById(await open(account, id, "output", output)));
    const known: Record<string, string> = Object.assign({}, ...(await Promise.all(outputs)));
    const others = items.filter((id) => known[id] === undefined);
    const found = { ...known, ...(await inputItems(account, others, sinceMs)) };
    const missing = items.find((id) => found[id] === undefined);
    if (missing !== undefined) throw noSuchItem(missing);
    return Object.fromEntries(items.map((id) => [id, found[id] ?? ""]));
  };
}

function tooLarge(param: string): GatewayError {
  return new GatewayError(
    "input_too_large",
    "What this request names of earlier answers is larger than a request may be: send a shorter conversation in input.",
    { param },
  );
}
