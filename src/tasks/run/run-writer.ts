import type { Clock } from "../../core/time/clock.ts";
import { insist } from "../../core/time/insist.ts";
import type { AnswerTo } from "../../ledger/commands.ts";
import type { TaskCommand } from "../../ledger/task-commands.ts";
import { CommandRefused, type Writer } from "../../ledger/writer.ts";

/** Writes the progress and the end of one run's task, until the run has lost the task. */
export interface RunWriter {
  /** Whether the task has another owner now, or has ended: the store takes no command of this run any more. */
  isLost(): boolean;
  /** From here on nothing is sent. */
  lose(): void;
  /**
   * Resolves with the store's answer, however long the store is away. Resolves with `undefined` once the run is lost,
   * this process writes nothing any more, or `until` says so between two tries. Rejects with `CommandRefused` where the
   * store goes on refusing the command: insisting would keep the task, its hold and its place for ever.
   */
  submit<C extends TaskCommand>(command: C, until?: () => boolean): Promise<AnswerTo<C> | undefined>;
}

/** What a run's writer is made of. */
export interface RunWriterParts {
  readonly writer: Writer;
  readonly clock: Clock;
  /** Aborted when this process writes nothing any more. */
  readonly gone: AbortSignal;
  /** Receives the first error of each command. */
  readonly onTrouble: (error: unknown) => void;
}

/** Tries of a command that the store refuses by itself: the cause may pass. */
const MAX_REFUSALS = 5;

/** How long the store is left alone before it is asked again. */
const RETRY_MS = 1_000;

/** A writer of commands for one run. */
export function createRunWriter({ writer, clock, gone, onTrouble }: RunWriterParts): RunWriter {
  let isLost = false;
  return {
    isLost: () => isLost,
    lose: () => void (isLost = true),
    submit(command, until = () => false) {
      let failures = 0;
      let refusals = 0;
      const send = async () => {
        if (isLost || gone.aborted || until()) return undefined;
        const answer = await writer.submit(command);
        if (!answer.ok && answer.reason === "lost") isLost = true;
        return answer;
      };
      const onFailure = (error: unknown): void => {
        if ((failures += 1) === 1) onTrouble(error);
        if (error instanceof CommandRefused && (refusals += 1) === MAX_REFUSALS) throw error;
      };
      return insist(send, { clock, pauseMs: RETRY_MS, onFailure });
    },
  };
}
