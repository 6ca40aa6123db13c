import type { MicroCredits } from "../core/credits.ts";
import type { MoneyCommand } from "./commands.ts";

/** Rows that a batch refers to, as they stand, kept from changing until the batch is written. */
export interface BooksState {
  readonly accounts: Map<string, AccountState>;
  readonly keys: Map<string, KeyState>;
  readonly holds: Map<string, HoldState>;
  /** Ledger entries by cause. */
  readonly entries: Map<string, EntryState>;
}

export interface AccountState {
  readonly id: string;
  readonly active: boolean;
  readonly balance: MicroCredits;
  readonly held: MicroCredits;
}

export interface KeyState {
  readonly id: string;
  readonly account: string;
  readonly revoked: boolean;
  readonly expiresAtMs: number | null;
  readonly budget: MicroCredits | null;
  readonly spent: MicroCredits;
  readonly held: MicroCredits;
}

export interface HoldState {
  readonly id: string;
  readonly account: string;
  readonly key: string;
  readonly requestId: string;
  readonly model: string;
  readonly priceVersion: string;
  readonly amount: MicroCredits;
  readonly expectedCost: MicroCredits;
  readonly state: "held" | "settled" | "voided";
  readonly settled: MicroCredits | null;
  readonly endReason: string | null;
  readonly createdAtMs: number;
}

export interface EntryState {
  readonly account: string;
  readonly amount: MicroCredits;
  readonly balanceAfter: MicroCredits;
}

/** What has to be read before a batch can be decided. */
export interface References {
  readonly accounts: ReadonlySet<string>;
  readonly keys: ReadonlySet<string>;
  readonly holds: ReadonlySet<string>;
  readonly causes: ReadonlySet<string>;
}

/** The cause of a grant's entry. */
export const grantCause = (grant: string): string => `${grant}:grant`;

/** The cause of what came to light of a hold after it had been given up. */
export const lateCause = (hold: string): string => `${hold}:late`;

/** The rows that `commands` refer to. */
export function referencesOf(commands: readonly MoneyCommand[]): References {
  const accounts = new Set<string>();
  const keys = new Set<string>();
  const holds = new Set<string>();
  const causes = new Set<string>();
  for (const command of commands) {
    accounts.add(command.account);
    if (command.kind === "grant") {
      causes.add(grantCause(command.cause));
      continue;
    }
    keys.add(command.key);
    holds.add(command.hold);
    if (command.kind === "settle") causes.add(lateCause(command.hold));
  }
  return { accounts, keys, holds, causes };
}
