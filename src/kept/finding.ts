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
import type { KeptPart, Sealing } from "./sealing.ts";
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
export function createFinding(store: KeptStore, sealing: Sealing): Finding {
  const textsOf = createTexts(store, sealing);
  const roundsOf = async (
    account: string,
    links: readonly Link[],
    sinceMs: number,
  ): Promise<readonly Round[]> => {
    const ids = links.map(({ id }) => id).toReversed();
    const [inputs, outputs] = await Promise.all([
      textsOf(account, "input", ids, sinceMs),
      textsOf(account, "output", ids, sinceMs),
    ]);
    return ids.flatMap((id) => {
      const [input, output] = [inputs.get(id), outputs.get(id)];
      return input === undefined || output === undefined ? [] : [{ id, input, output }];
    });
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

  const itemsNamed = findItems(store, textsOf);

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
      const [outputs, frames] = await Promise.all([
        textsOf(account, "output", [id], sinceMs),
        textsOf(account, "frame", [id], sinceMs),
      ]);
      const [output, frame] = [outputs.get(id), frames.get(id)];
      return output === undefined || frame === undefined ? undefined : wholeAnswer({ output, frame });
    },
  };
}

/** One part of answers, opened, by their ids. */
type Texts = (
  account: string,
  part: KeptPart,
  ids: readonly string[],
  sinceMs: number,
) => Promise<ReadonlyMap<string, string>>;

function createTexts(store: KeptStore, { open }: Sealing): Texts {
  return async (account, part, ids, sinceMs) => {
    if (ids.length === 0) return new Map();
    const rows = await store.texts(account, part, ids, sinceMs);
    const opened = rows.map(async ({ id, text }) => [id, await open(account, id, part, text)] as const);
    return new Map(await Promise.all(opened));
  };
}

/** Answers whose outputs are read at a time: what they hold beside the items that are named is let go of again. */
const READ_AT_ONCE = 16;

/** Finds items by their ids, each as a JSON text. Rejects with a 404 for one that is not there. */
function findItems(
  store: KeptStore,
  textsOf: Texts,
): (account: string, items: readonly string[], sinceMs: number) => Promise<FoundState["items"]> {
  return async (account, items, sinceMs) => {
    if (items.length === 0) return {};
    const found = new Map<string, string>();
    let size = 0;
    const add = (id: string, text: string | undefined): void => {
      if (text === undefined) return;
      found.set(id, text);
      size += text.length;
      if (size > MOST_CHARACTERS) throw tooLarge("input");
    };
    const owners = new Map(Object.entries(await store.owners(account, items, sinceMs)));
    const named = Map.groupBy(owners.keys(), (id) => owners.get(id) ?? "");
    const answers = [...named.keys()];
    for (let at = 0; at < answers.length; at += READ_AT_ONCE) {
      const some = answers.slice(at, at + READ_AT_ONCE);
      for (const [answer, output] of await textsOf(account, "output", some, sinceMs)) {
        const byId = itemsById(output);
        for (const id of named.get(answer) ?? []) add(id, byId[id]);
      }
    }
    // Items of answers' inputs are known by ids of ours; an input may be as large as a request.
    const asked = [...new Set(items)].flatMap((id) => {
      const place = found.has(id) ? undefined : inputItemNamed(id);
      return place === undefined ? [] : [{ id, ...place }];
    });
    for (const [answer, places] of Map.groupBy(asked, ({ response }) => response))
      for (const [, input] of await textsOf(account, "input", [answer], sinceMs)) {
        const texts = itemsIn(input);
        for (const { id, place } of places) add(id, texts[place]);
      }
    const missing = items.find((id) => !found.has(id));
    if (missing !== undefined) throw noSuchItem(missing);
    return Object.fromEntries(found);
  };
}

function tooLarge(param: string): GatewayError {
  return new GatewayError(
    "input_too_large",
    "What this request names of earlier answers is larger than a request may be: send a shorter conversation in input.",
    { param },
  );
}
