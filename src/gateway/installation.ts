import { parseCredits } from "../core/money/credits.ts";
import { type Clock, wait } from "../core/time/clock.ts";
import { newId } from "../core/ids.ts";
import type { Random } from "../core/random.ts";
import type { Database } from "../db/schema.ts";
import type { Keys } from "../keys/keys.ts";
import type { Writer } from "../ledger/writer.ts";

/** Credit of a new installation's first account. */
export const FIRST_CREDITS = 100_000;

/** How often it checks whether another process has shown what it made. */
const LOOK_MS = 200;

/** What an installation makes on its first start and shows once. */
export interface Installation {
  /** The admin token: its text when this start made it, and its hash. */
  adminToken(): Promise<{ readonly text: string | undefined; readonly hash: string }>;
  /** The first account and a key to it; `undefined` when they were shown before, or an operator has opened accounts. */
  firstAccount(): Promise<{ readonly accountId: string; readonly key: string } | undefined>;
  /** Notes that everything was shown: the next start makes nothing anew. */
  shown(): Promise<void>;
  /** Whether a provider was ever set here. */
  hadProvider(): Promise<boolean>;
  /** Notes for good that a provider is set. */
  hasProvider(): Promise<void>;
}

/** What an installation is made of. */
export interface InstallationParts {
  /** The hash of a token that an earlier version made and showed, if one did. */
  readonly earlierTokenHash: string | undefined;
  readonly database: Database;
  readonly writer: Writer;
  readonly keys: Keys;
  readonly tokenHash: (token: string) => string;
  /** Whether no other process that shares the store lives. */
  readonly isAlone: () => Promise<boolean>;
  readonly clock: Clock;
  readonly random: Random;
}

/**
 * An installation over the store. A start that dies before it has shown a secret has shown nothing. The next start
 * makes the secret again, and the unseen one stops working or is never used.
 */
export function createInstallation(parts: InstallationParts): Installation {
  const { database, writer, keys, tokenHash, isAlone, clock, random, earlierTokenHash } = parts;

  const known = async (name: string): Promise<string | undefined> => {
    const row = await database
      .selectFrom("installation")
      .select("value")
      .where("name", "=", name)
      .executeTakeFirst();
    return row?.value;
  };
  const remember = async (name: string, value: string, instead?: string): Promise<string> => {
    const fact = { kind: "remember", name, value } as const;
    const { value: stands } = await writer.submit(instead === undefined ? fact : { ...fact, instead });
    return stands;
  };

  /** Whether the secret was shown. Another live process may be about to show it, so this waits for it. */
  const isShown = async (name: string): Promise<boolean> => {
    for (;;) {
      const alone = await isAlone();
      if ((await known(`${name}_shown`)) !== undefined) return true;
      if (alone) return false;
      await wait(clock, LOOK_MS);
    }
  };

  return {
    async adminToken() {
      if (earlierTokenHash !== undefined) return { text: undefined, hash: earlierTokenHash };
      const stands = await known("admin_token");
      if (stands !== undefined && (await isShown("admin_token"))) return { text: undefined, hash: stands };
      const text = `adm-${random.bytes(24).toHex()}`;
      const hash = await remember("admin_token", tokenHash(text), stands);
      return { text: hash === tokenHash(text) ? text : undefined, hash };
    },

    async firstAccount() {
      if ((await known("first_account_shown")) !== undefined) return undefined;
      const begun = await known("first_account");
      if (begun === undefined && (await hasAccounts(database))) return undefined;
      const account = await remember("first_account", newId("acct", random));
      const nowMs = clock.nowMs();
      await writer.submit({ kind: "create_account", account, name: "default", nowMs });
      await writer.submit({
        kind: "grant",
        cause: `grant:${account}:first-start`,
        account,
        amount: parseCredits(FIRST_CREDITS) ?? 0n,
        reason: "first start",
        requestId: "first-start",
        nowMs,
      });
      const { keyId, text, hash, hint } = keys.issue();
      await writer.submit({
        kind: "issue_key",
        key: keyId,
        account,
        name: "first key",
        hash,
        hint,
        models: null,
        budget: null,
        expiresAtMs: null,
        nowMs,
      });
      return { accountId: account, key: text };
    },

    hadProvider: async () => (await known("provider_set")) !== undefined,

    async hasProvider() {
      await remember("provider_set", "yes");
    },

    async shown() {
      await remember("admin_token_shown", "yes");
      await remember("first_account_shown", "yes");
    },
  };
}

async function hasAccounts(database: Database): Promise<boolean> {
  return (await database.selectFrom("accounts").select("id").limit(1).executeTakeFirst()) !== undefined;
}
