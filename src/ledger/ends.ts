import type { Clock } from "../core/clock.ts";
import type { AnswerTo, Settle, Void } from "./commands.ts";
import type { Writer } from "./writer.ts";

/** Ends of holds that are not forgotten, whatever the store does. */
export interface Ends {
  /** Ends a hold. Rejects when the store does not take it now; it is then tried again until it does. */
  end<C extends Settle | Void>(command: C): Promise<AnswerTo<C>>;
  /**
   * Voids a hold of which nobody knows whether the store took it: it may have, and only its answer was lost. One is
   * asked after at a time, so that a store that was away is not met by all of them at once.
   */
  giveBack(command: Void): void;
}

/** How long an end waits before the store is asked again. */
const RETRY_MS = 1_000;

/** Ends through the one writer. */
export function createEnds(writer: Writer, clock: Clock): Ends {
  const waiting: Void[] = [];
  let busy = false;

  const end = async <C extends Settle | Void>(command: C): Promise<AnswerTo<C>> => {
    try {
      return await writer.submit(command);
    } catch (error) {
      clock.setTimer(RETRY_MS, () => void end(command).catch(() => undefined));
      throw error;
    }
  };

  const next = async (): Promise<void> => {
    const command = waiting.shift();
    busy = command !== undefined;
    if (command === undefined) return;
    try {
      await writer.submit(command);
      void next();
    } catch {
      waiting.push(command);
      clock.setTimer(RETRY_MS, () => void next());
    }
  };

  return {
    end,
    giveBack(command) {
      waiting.push(command);
      if (!busy) void next();
    },
  };
}
