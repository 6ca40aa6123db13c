import { GatewayError } from "../../core/errors.ts";
import { describeError } from "../../core/log/log.ts";
import type { AnswerTo, Command, HoldCredit } from "../commands.ts";
import { storeAway, type Writer } from "../writer.ts";
import type { Recalled } from "./allotment-statements.ts";
import { isForCredit } from "./contested.ts";
import type { SharedKeeper } from "./keeper.ts";

/** A command that was refused is tried so often while processes take and give back. */
const MAX_RECALLS = 5;

/**
 * A writer that recalls first where that might suffice: every live process gives back what was allotted of the account.
 * Only then does it refuse a command for want of credit, or bound output. It changes or revokes a key, and closes an
 * account, in every process before it answers. Rejects with `overloaded_error` where a process does not answer: what it
 * has is unknown until its lease ends.
 */
export function withRecalls(
  writer: Writer,
  keeper: Pick<SharedKeeper, "recall" | "wasContested" | "leaseMs">,
): Writer {
  const recall = async (of: Recalled): Promise<boolean> => {
    try {
      return await keeper.recall(of);
    } catch (error) {
      throw storeAway(describeError(error));
    }
  };

  const insist = async (command: Command): Promise<AnswerTo<Command>> => {
    let asked: Command = command;
    for (let tries = 1; ; tries += 1) {
      const answer = await writer.submit(asked);
      const ended = endedBy(asked);
      if (answer.ok && ended !== undefined && !(await recall(ended))) throw silent(keeper.leaseMs());
      if (!("account" in asked) || !isForCredit(answer) || !keeper.wasContested(asked.account)) return answer;
      if (tries === MAX_RECALLS) throw silent(keeper.leaseMs());
      const isGivenBack = await recall({ account: asked.account });
      // Shorter output is better than none where a process does not answer.
      if (asked.kind === "hold" && asked.elastic !== undefined && tries === 1) asked = asBounded(asked);
      else if (!isGivenBack) throw silent(keeper.leaseMs());
    }
  };

  const submit = (command: Command): Promise<AnswerTo<Command>> =>
    MAY_RECALL.has(command.kind) ? insist(command) : writer.submit(command);

  return {
    submit: submit as Writer["submit"],
    close: () => writer.close(),
  };
}

const asBounded = (hold: HoldCredit): HoldCredit => ({ ...hold, isBoundFinal: true });

const MAY_RECALL: ReadonlySet<Command["kind"]> = new Set([
  "grant",
  "hold",
  "submit",
  "close_account",
  "change_key",
  "revoke_key",
]);

/** The account or key that no process may go on with as it was: lifting a bound needs no process's answer. */
function endedBy(command: Command): Recalled | undefined {
  if (command.kind === "close_account") return { account: command.account };
  if (command.kind === "revoke_key") return { key: command.key };
  const isNarrowed =
    command.kind === "change_key" && (isBound(command.budget) || isBound(command.expiresAtMs));
  return isNarrowed ? { key: command.key } : undefined;
}

const isBound = (value: bigint | number | null | undefined): boolean => value !== null && value !== undefined;

function silent(leaseMs: number): GatewayError {
  return new GatewayError(
    "overloaded_error",
    "Another gateway process has credit of this account set aside and does not answer. Try again when its lease has ended.",
    { retryAfterSec: Math.max(1, Math.ceil(leaseMs / 1000)) },
  );
}
