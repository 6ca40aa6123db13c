/**
 * Bytes that a process may hold whole at a time, over all its tasks. Work that needs some waits until they fit, first
 * come, first served.
 */
export interface ByteBudget {
  /** An empty account for one piece of work. */
  open(): ByteAccount;
  /**
   * Holds bytes for a cache while no work needs the room. When work does, `onRevoke` is called, for the eldest loan
   * first. Returns a function that ends the loan; `undefined` where there is no room now.
   */
  lend(bytes: number, onRevoke: () => void): (() => void) | undefined;
  /** Bytes that are taken and counted; loans are not. */
  taken(): number;
}

/** What one piece of work holds. */
export interface ByteAccount {
  /** Resolves once the account may hold `bytes` more. Rejects with the signal's reason. */
  take(bytes: number, signal: AbortSignal): Promise<void>;
  /** Gives `bytes` back. */
  give(bytes: number): void;
  /** Gives everything back; takes nothing any more. */
  close(): void;
}

/** Work that holds no more than this is not counted and never waits, such as polls of jobs and their answers. */
export const UNCOUNTED_BYTES = 256 * 1024;

interface Account {
  /** Bytes held and counted; 0 up to `UNCOUNTED_BYTES`. */
  held: number;
  /** Bytes held up to `UNCOUNTED_BYTES`. */
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
 * A budget of `limit` bytes, which may change. The work that has held bytes for longest takes more without waiting.
 * Work that asks for more than the whole budget goes on when no other holds any. So one piece of work can always end,
 * and at most the limit and one piece's needs are held.
 */
export function createByteBudget(limit: () => number): ByteBudget {
  let taken = 0;
  /** Accounts that hold something, the eldest first. */
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
  /** Lets waiting work go on: the first in the queue while it fits, the eldest holder from anywhere in it. */
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
    // The one that leaves may be the one that the next has waited for.
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

/** Waits at the end of the queue until it may go on. On the signal it rejects with its reason and calls `onLeave`. */
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
    /** Ends loans, the eldest first, until the rest has room. */
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
 * A part of an account that closes by itself: it then gives back what it took and still holds, and stops waiting. It
 * has the account's place in the order.
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
