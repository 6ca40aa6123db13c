import type { Answers, Command, MoneyCommand, Outcome } from "../commands.ts";
import { decide, type Decision } from "../decide/books.ts";
import type { BooksState } from "../decide/state.ts";

/** What processes have set aside of accounts and keys, by their ids. */
export interface Allotted {
  readonly accounts: ReadonlyMap<string, bigint>;
  readonly keys: ReadonlyMap<string, bigint>;
}

/** A decision, and the accounts of which a command was refused what it would get were allotments given back. */
export interface SharedDecision extends Decision {
  readonly contested: ReadonlySet<string>;
}

/**
 * Decides over rows whose `held` has what is allotted. An output is not bounded by what is only allotted: such a hold is
 * refused as contested, unless others were asked for it already (`isBoundFinal`).
 */
export function decideShared(
  state: BooksState,
  allotted: Allotted,
  commands: readonly MoneyCommand[],
): SharedDecision {
  const contested = new Set<string>();
  if (![...allotted.accounts.values()].some((amount) => amount > 0n))
    return { ...decide(state, commands), contested };
  const again = copyOf(state);
  const asFree = copyOf(state);
  giveBack(asFree, allotted);
  let decision = decide(state, commands);
  if (!decision.outcomes.some((outcome, i) => isShort(commands[i] as MoneyCommand, outcome)))
    return { ...decision, contested };
  const free = decide(asFree, commands).outcomes;
  const bounded = new Set(
    commands.filter((command, i) => {
      const [room, freeRoom] = [roomOf(decision.outcomes[i]), roomOf(free[i])];
      return !isFinal(command) && room !== undefined && freeRoom !== undefined && freeRoom > room;
    }),
  );
  if (bounded.size > 0) {
    const others = commands.filter((command) => !bounded.has(command));
    const { outcomes, changes } = decide(again, others);
    const left = outcomes.values();
    decision = {
      outcomes: commands.map((command) =>
        bounded.has(command) ? CONTESTED : (left.next().value as Outcome),
      ),
      changes,
    };
  }
  for (const [i, command] of commands.entries()) {
    const [now, then] = [decision.outcomes[i], free[i]];
    const isRoomier = (roomOf(then) ?? 0) > (roomOf(now) ?? 0);
    if (isRoomier || (isRefused(now) && then !== undefined && "answer" in then && then.answer.ok))
      contested.add(command.account);
  }
  return { ...decision, contested };
}

/** Whether the answer is a refusal for want of credit. */
export function isForCredit(answer: Answers[Command["kind"]]): boolean {
  return !answer.ok && ["insufficient_credits", "budget_exceeded", "below_held"].includes(answer.reason);
}

const CONTESTED: Outcome = { answer: { ok: false, reason: "insufficient_credits" } };

const isRefused = (outcome: Outcome | undefined): boolean =>
  outcome !== undefined && "answer" in outcome && isForCredit(outcome.answer);

const isFinal = (command: MoneyCommand): boolean => command.kind === "hold" && command.isBoundFinal === true;

/** Whether more free credit might give another answer. */
function isShort(command: MoneyCommand, outcome: Outcome): boolean {
  const room = roomOf(outcome);
  return (
    isRefused(outcome) ||
    (command.kind === "hold" && room !== undefined && room < (command.elastic?.maxTokens ?? 0))
  );
}

/** The bound on the output that a hold was given. */
function roomOf(outcome: Outcome | undefined): number | undefined {
  if (outcome === undefined || !("answer" in outcome)) return undefined;
  return "outputTokens" in outcome.answer ? outcome.answer.outputTokens : undefined;
}

function copyOf(state: BooksState): BooksState {
  return {
    accounts: new Map(state.accounts),
    keys: new Map(state.keys),
    holds: new Map(state.holds),
    entries: new Map(state.entries),
    tasks: new Map(state.tasks),
    pending: new Map(state.pending),
    running: new Map(state.running),
    storeMs: state.storeMs,
  };
}

function giveBack({ accounts, keys }: BooksState, allotted: Allotted): void {
  for (const [id, row] of accounts)
    accounts.set(id, { ...row, held: row.held - (allotted.accounts.get(id) ?? 0n) });
  for (const [id, row] of keys) keys.set(id, { ...row, held: row.held - (allotted.keys.get(id) ?? 0n) });
}
