import { GatewayError } from "../core/errors.ts";
import type { FoundState, StateNames } from "../protocols/protocol.ts";
import {
  inList,
  inputItemAt,
  inputItemNamed,
  itemsById,
  type Round,
  wholeAnswer,
} from "../protocols/responses/kept.ts";
import { brokenChain, longChain, noSuchItem, noSuchResponse } from "../protocols/responses/not-kept.ts";
import type { Sealing } from "./sealing.ts";
import type { KeptStore, Link } from "./tables.ts";

/** How many answers a conversation may have that goes on from one another. */
const MOST_LINKS = 100;

/** As much as a request may have itself, sealed. */
const MOST_BYTES = (32 * 1024 * 1024 * 4) / 3;

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
    if (links.reduce((sum, { bytes }) => sum + bytes, 0) > MOST_BYTES) throw tooLarge();
    const rounds = await roundsOf(account, links, sinceMs);
    // One was deleted in between.
    if (rounds.length < links.length) throw noSuchResponse(id);
    return rounds
      .flatMap(({ input, output }) => [inList(input), inList(output)])
      .filter((items) => items !== "")
      .join(",");
  };

  /** An item of an answer's input, which is known by an id of ours. */
  const inputItem = async (account: string, item: string, sinceMs: number): Promise<string | undefined> => {
    const { response, place } = inputItemNamed(item) ?? {};
    if (response === undefined || place === undefined) return undefined;
    const [row] = await store.texts(account, [response], sinceMs);
    return row && inputItemAt(await open(account, response, "input", row.input), place);
  };

  const itemsNamed = async (
    account: string,
    items: readonly string[],
    sinceMs: number,
  ): Promise<FoundState["items"]> => {
    if (items.length === 0) return {};
    const owners = await store.owners(account, items, sinceMs);
    const ids = [...new Set(Object.values(owners))];
    const rows = ids.length === 0 ? [] : await store.texts(account, ids, sinceMs);
    const outputs = rows.map(async ({ id, output }) => itemsById(await open(account, id, "output", output)));
    const known: Record<string, string> = Object.assign({}, ...(await Promise.all(outputs)));
    const found: Record<string, string> = {};
    for (const id of items) {
      const item = known[id] ?? (await inputItem(account, id, sinceMs));
      if (item === undefined) throw noSuchItem(id);
      found[id] = item;
    }
    return found;
  };

  return {
    async find(account, { previous, items }, sinceMs) {
      const [earlier, found] = await Promise.all([
        previous === undefined ? "" : before(account, previous, sinceMs),
        itemsNamed(account, items, sinceMs),
      ]);
      return { before: earlier, items: found };
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

function tooLarge(): GatewayError {
  return new GatewayError(
    "input_too_large",
    "The conversation that previous_response_id names is larger than a request may be: send a shorter one in input.",
    { param: "previous_response_id" },
  );
}
