/**
 * Bytes that a process may hold whole at a time, over all its tasks. Who needs some waits until they fit; the first who
 * came is the first to go on.
 */
export interface ByteBudget {
  /** An account with nothing in it, for one piece of work. */
  open(): ByteAccount;
  /**
   * Holds bytes that somebody could do without, for as long as nobody needs the room: then `onRevoke` is called, for the
   * eldest loan first. Gives what ends the loan; `undefined` where there is no room now.
   */
  lend(bytes: number, onRevoke: () => void): (() => void) | undefined;
  /** How many are taken in all, of those that are counted; loans are not. */
  taken(): number;
}

/** What one piece of work holds. */
export interface ByteAccount {
  /** Resolves once it may hold so many more. Rejects with the signal's reason. */
  take(bytes: number, signal: AbortSignal): Promise<void>;
  /** So many are held no longer. */
  give(bytes: number): void;
  /** All of it is held no longer; takes nothing any more. */
  close(): void;
}

/** Work that holds no more than this is not counted, and never waits: questions after jobs and their answers. */
export const UNCOUNTED_BYTES = 256 * 1024;

interface Account {
  /** What is held and counted; 0 while it is little. */
  held: number;
  /** What is held while it is little. */
  uncounted: number;
  isClosed: boolean;
}

interface Waiting {
  readonly account: Account;
  readonly bytes: number;
  readonly go: () => void;
  readonly leave: (reason: Error) => void;
}

/**
 * A budget of `limit` bytes, which may change. The work that has held some for longest takes more without waiting, and
 * who asks for more than all of it goes on when nobody holds any: so that there is always one that comes to its end,
 * whatever the others wait for. What is held is therefore at most the limit and what one piece of work needs.
 */
export function createByteBudget(limit: () => number): ByteBudget {
  let taken = 0;
  /** Those who hold something, the eldest first. */
  const holders = new Set<Account>();
  const waiting: Waiting[] = [];
  const loans = createLoans(() => limit() - taken);
  const fits = ({ account, bytes }: Pick<Waiting, "account" | "bytes">): boolean => {
    const [eldest = account] = holders;
    return eldest === account || taken + bytes <= limit();
  };
  const grant = (account: Account, bytes: number): void => {
    taken += bytes;
    account.held += bytes;
    holders.add(account);
    loans.revoke();
  };
  const letGo = (account: Account, bytes: number): void => {
    const given = Math.min(bytes, account.held);
    taken -= given;
    account.held -= given;
    account.uncounted = Math.max(0, account.uncounted - (bytes - given));
    if (account.held === 0) holders.delete(account);
    admit();
  };
  /** Whoever may go on now: the first in the line for as long as it fits, the eldest holder from anywhere in it. */
  const admit = (): void => {
    for (;;) {
      const [eldest] = holders;
      const first = waiting[0];
      const next =
        first !== undefined && fits(first) ? first : waiting.find(({ account }) => account === eldest);
      if (next === undefined) return;
      waiting.splice(waiting.indexOf(next), 1);
      grant(next.account, next.bytes);
      next.go();
    }
  };

  const take = async (account: Account, more: number, signal: AbortSignal): Promise<void> => {
    signal.throwIfAborted();
    if (account.isClosed) throw new Error(ENDED);
    if (account.held === 0 && account.uncounted + more <= UNCOUNTED_BYTES) {
      account.uncounted += more;
      return;
    }
    const bytes = more + account.uncounted;
    account.uncounted = 0;
    const [eldest] = holders;
    if (account === eldest || (waiting.length === 0 && fits({ account, bytes }))) {
      grant(account, bytes);
      return;
    }
    // Who leaves may be the one that the next has waited for.
    await inLine(waiting, { account, bytes }, signal, admit);
  };

  const close = (account: Account): void => {
    account.isClosed = true;
    for (const own of waiting.filter((each) => each.account === account)) {
      waiting.splice(waiting.indexOf(own), 1);
      own.leave(new Error(ENDED));
    }
    letGo(account, account.held);
  };

  return {
    taken: () => taken,
    lend: loans.lend,
    open() {
      const account: Account = { held: 0, uncounted: 0, isClosed: false };
      return {
        take: (bytes, signal) => take(account, bytes, signal),
        give: (bytes) => letGo(account, bytes),
        close: () => close(account),
      };
    },
  };
}

/** Waits as the last of a line until it may go on. Rejects with the signal's reason, then calls `onLeave`. */
async function inLine(
  waiting: Waiting[],
  wanted: Pick<Waiting, "account" | "bytes">,
  signal: AbortSignal,
  onLeave: () => void,
): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const own: Waiting = { ...wanted, go: resolve, leave: reject };
  const onAbort = (): void => {
    const at = waiting.indexOf(own);
    if (at !== -1) waiting.splice(at, 1);
    reject(signal.reason as Error);
    onLeave();
  };
  waiting.push(own);
  signal.addEventListener("abort", onAbort);
  await promise.finally(() => signal.removeEventListener("abort", onAbort));
}

/** Loans of the room that is left. */
function createLoans(room: () => number) {
  /** The eldest first. */
  const loans = new Set<{ readonly bytes: number; readonly onRevoke: () => void }>();
  let lent = 0;
  return {
    lend(bytes: number, onRevoke: () => void): (() => void) | undefined {
      if (lent + bytes > room()) return undefined;
      const loan = { bytes, onRevoke };
      loans.add(loan);
      lent += bytes;
      return () => {
        if (loans.delete(loan)) lent -= bytes;
      };
    },
    /** Ends as many as have no room any more. */
    revoke(): void {
      for (const loan of loans) {
        if (lent <= room()) return;
        loans.delete(loan);
        lent -= loan.bytes;
        loan.onRevoke();
      }
    },
  };
}

/**
 * A part of an account that is closed by itself: what was taken by it and is still held is then given back, and what it
 * still waited for too. It has the account's place among the others.
 */
export function openPart(account: ByteAccount): ByteAccount {
  let held = 0;
  let isClosed = false;
  const give = (bytes: number): void => {
    const given = Math.min(bytes, held);
    held -= given;
    account.give(given);
  };
  return {
    async take(bytes, signal) {
      if (isClosed) throw new Error(ENDED);
      await account.take(bytes, signal);
      held += bytes;
      if (!isClosed) return;
      give(bytes);
      throw new Error(ENDED);
    },
    give,
    close() {
      isClosed = true;
      give(held);
    },
  };
}

const ENDED = "The work that was to hold bytes has ended.";
