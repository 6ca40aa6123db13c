import { type Clock, wait } from "../core/time/clock.ts";
import { insist } from "../core/time/insist.ts";
import type { AnswerTo, HoldCredit, Settle, Void } from "./commands.ts";
import type { Writer } from "./writer.ts";

/** Makes holds in the store, and ends them, retrying while the store is away. */
export interface Ends {
  /** Makes a hold. Rejects when the store does not take it now; where it may have taken it, the hold is given back. */
  setAside(command: HoldCredit): Promise<AnswerTo<HoldCredit>>;
  /** Ends a hold. Rejects when the store does not take it now; it is then retried until it does. */
  end<C extends Settle | Void>(command: C): Promise<AnswerTo<C>>;
  /**
   * Charges a client that gets its answer only once the charge is written. Rejects when the store does not take it now.
   * The client then gets an error, the store voids the hold as soon as it can, and the usage is booked as lost. The
   * charge stands only where the store had taken it already and its answer was lost.
   */
  charge(command: Settle): Promise<AnswerTo<Settle>>;
}

/** How long an end waits before the store is asked again. */
const RETRY_MS = 1_000;

/** Ends through the one writer. */
export function createEnds(writer: Writer, clock: Clock): Ends {
  const waiting: Void[] = [];
  let busy = false;

  const later = (): Promise<void> => wait(clock, RETRY_MS);

  const insistOn = (command: Settle | Void): Promise<unknown> =>
    insist(() => writer.submit(command), { clock, pauseMs: RETRY_MS });

  /** Voids go one at a time, so that a store that comes back does not get all of them at once. */
  const giveNext = async (): Promise<void> => {
    const command = waiting.shift();
    busy = command !== undefined;
    if (command === undefined) return;
    try {
      await writer.submit(command);
      void giveNext();
    } catch {
      waiting.push(command);
      void later().then(() => giveNext());
    }
  };

  return {
    async setAside(command) {
      try {
        return await writer.submit(command);
      } catch (error) {
        const { hold, account, key } = command;
        const nowMs = clock.nowMs();
        waiting.push({ kind: "void", hold, account, key, outcome: "overloaded_error", nowMs });
        if (!busy) void giveNext();
        throw error;
      }
    },
    async end(command) {
      try {
        return await writer.submit(command);
      } catch (error) {
        void later().then(() => insistOn(command));
        throw error;
      }
    },
    async charge(command) {
      try {
        return await writer.submit(command);
      } catch (error) {
        const { hold, account, key, served, cost, nowMs } = command;
        const unwritten = { hold, account, key, outcome: "unwritten", served, cost, nowMs } as const;
        // A settlement after a void charges nothing and books the usage.
        void later()
          .then(() => insistOn({ kind: "void", ...unwritten }))
          .then(() => insistOn(command));
        throw error;
      }
    },
  };
}
