import type { Clock } from "../../core/time/clock.ts";
import type { AnswerTo } from "../../ledger/commands.ts";
import type { TaskCommand } from "../../ledger/task-commands.ts";
import { CommandRefused, type Writer } from "../../ledger/writer.ts";

/** Sends what one run has to say of its task, until the run has lost it. */
export interface Fence {
  /** Whether another owns the task now, or it has ended: nothing of this run is taken any more. */
  isLost(): boolean;
  /** From here on nothing is sent. */
  lose(): void;
  /**
   * Resolves with the store's answer, however long the store is away; with `undefined` once the run is lost, this
   * process writes nothing any more, or `until` says so between two tries. Rejects with `CommandRefused` where the store
   * goes on refusing this command: to insist on it would keep the task, its hold and its place for ever.
   */
  insist<C extends TaskCommand>(command: C, until?: () => boolean): Promise<AnswerTo<C> | undefined>;
}

/** What a fence is made of. */
export interface FenceParts {
  readonly writer: Writer;
  readonly clock: Clock;
  /** Aborted when this process writes nothing any more. */
  readonly gone: AbortSignal;
  /** Told of a command that the store did not take at once. */
  readonly onTrouble: (error: unknown) => void;
}

/** A command that the store refuses by itself is sent this often: what is wrong with it may be wrong with the moment. */
const MAX_REFUSALS = 5;

/** How long the store is left alone before it is asked again. */
const RETRY_MS = 1_000;

/** A fence around one run. */
export function createFence({ writer, clock, gone, onTrouble }: FenceParts): Fence {
  let isLost = false;
  return {
    isLost: () => isLost,
    lose: () => void (isLost = true),
    async insist(command, until = () => false) {
      for (let tries = 1, refusals = 0; !isLost && !gone.aborted && !until(); tries += 1) {
        try {
          const answer = await writer.submit(command);
          if (!answer.ok && answer.reason === "lost") isLost = true;
          return answer;
        } catch (error) {
          if (tries === 1) onTrouble(error);
          if (error instanceof CommandRefused && (refusals += 1) === MAX_REFUSALS) throw error;
          await new Promise<void>((resolve) => clock.setTimer(RETRY_MS, resolve));
        }
      }
      return undefined;
    },
  };
}
