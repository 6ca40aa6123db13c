import type { Caller } from "../../core/caller.ts";
import { GatewayError } from "../../core/errors.ts";
import { creditsNumber } from "../../core/money/credits.ts";
import { NO_LIMITS } from "../../core/rate-limits.ts";
import type { Database } from "../../db/schema.ts";
import type { Keys } from "../../keys/keys.ts";
import type { Writer } from "../../ledger/writer.ts";
import type { Admin } from "../admin/admin.ts";
import type { StoreReader } from "../store-read.ts";

/** What operators' calls in the playground are charged to; money in credits. */
export interface PlaygroundView {
  readonly account_id: string;
  readonly key_id: string;
  readonly budget: number | null;
  readonly spent: number;
}

/** The playground of operators. */
export interface Playground {
  /** Null until an account was chosen, and where its key was revoked since. */
  chosen(): Promise<PlaygroundView | null>;
  /** Chooses an account, and what may be spent there in all; null for no bound but the account's balance. */
  choose(accountId: string, budget: number | null): Promise<PlaygroundView | null>;
  /** The holder of the key that calls go through. Rejects with a 409 where none is chosen. */
  caller(): Promise<Caller>;
}

/** What the playground is made of. */
export interface PlaygroundParts {
  readonly database: Database;
  readonly read: StoreReader;
  readonly writer: Writer;
  readonly keys: Pick<Keys, "byId">;
  readonly admin: Pick<Admin, "issueKey" | "changeKey" | "revokeKey">;
}

/** Name of the keys, and of the fact that has the id of the one in force. */
const PLAYGROUND = "playground";

/**
 * Each account that was ever chosen has one live key for the playground. Its text is dropped as soon as it is made:
 * calls go by its id.
 */
export function createPlayground({ database, read, writer, keys, admin }: PlaygroundParts): Playground {
  const fact = async (name: string): Promise<string | undefined> => {
    const query = database.selectFrom("installation").select("value").where("name", "=", name);
    return (await read(() => query.executeTakeFirst()))?.value;
  };
  const remember = async (name: string, value: string, instead: string | undefined): Promise<string> => {
    const made = { kind: "remember", name, value } as const;
    return (await writer.submit(instead === undefined ? made : { ...made, instead })).value;
  };
  const isLive = async (keyId: string): Promise<boolean> => typeof (await keys.byId(keyId)) !== "string";

  /** The key of an account, with this budget. */
  const keyOf = async (accountId: string, budget: number | null): Promise<string> => {
    const name = `${PLAYGROUND} of ${accountId}`;
    const before = await fact(name);
    if (before !== undefined && (await isLive(before))) {
      await admin.changeKey(before, { budget });
      return before;
    }
    const { id } = await admin.issueKey({
      accountId,
      name: PLAYGROUND,
      models: null,
      budget,
      limits: NO_LIMITS,
      routes: false,
      expiresAtSec: null,
    });
    const stands = await remember(name, id, before);
    // Another call made one at the same moment.
    if (stands !== id) await admin.revokeKey(id);
    return stands;
  };

  const chosen = async (): Promise<PlaygroundView | null> => {
    const keyId = await fact(PLAYGROUND);
    if (keyId === undefined || !(await isLive(keyId))) return null;
    const columns = ["account_id", "budget", "spent"] as const;
    const query = database.selectFrom("keys").select(columns).where("id", "=", keyId);
    const { account_id, budget, spent } = await read(() => query.executeTakeFirstOrThrow());
    return {
      account_id,
      key_id: keyId,
      budget: budget === null ? null : creditsNumber(budget),
      spent: creditsNumber(spent),
    };
  };

  return {
    chosen,

    async choose(accountId, budget) {
      const keyId = await keyOf(accountId, budget);
      await remember(PLAYGROUND, keyId, await fact(PLAYGROUND));
      return chosen();
    },

    async caller() {
      const keyId = await fact(PLAYGROUND);
      const found = keyId === undefined ? undefined : await keys.byId(keyId);
      if (found !== undefined && typeof found !== "string") return found;
      throw new GatewayError(
        "conflict_error",
        "Choose the account that calls of the playground are charged to.",
        {
          code: "playground_not_chosen",
        },
      );
    },
  };
}
