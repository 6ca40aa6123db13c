import type { MicroCredits } from "../../core/money/credits.ts";
import { isEnded, mayBeBegun } from "../../core/task.ts";
import type { HoldRow, TaskRow } from "../rows.ts";
import type { Decided } from "./changes.ts";
import type { BooksState } from "./state.ts";
import { chargeHold, freeHold, payerOf, placeHold } from "./holds.ts";
import type {
  AttemptTask,
  CancelTask,
  ClaimTask,
  FailTask,
  FinishTask,
  ForgetFiles,
  NoteJob,
  NoteRefusal,
  ProviderPlace,
  ReleaseTask,
  RenewTask,
  Share,
  SubmitTask,
  TaskCommand,
} from "../task-commands.ts";

/** A command about an existing task. */
type OfTask = Exclude<TaskCommand, SubmitTask>;

/** A command of a run, which counts only while that run is the task's last. */
type OfRun = AttemptTask | NoteRefusal | NoteJob | RenewTask | ReleaseTask | FinishTask | FailTask;

const LOST = { answer: { ok: false, reason: "lost" } } as const;
const DONE = { answer: { ok: true } } as const;

/** Decides a command about a task, over the rows that it refers to. */
export function decideTask(state: BooksState, command: TaskCommand): Decided<TaskCommand> {
  switch (command.kind) {
    case "submit":
      return submit(state, command);
    case "claim":
      return claim(state, command);
    case "attempt":
      return attempt(state, command);
    case "note_refusal":
      return noteRefusal(state, command);
    case "note_job":
      return noteJob(state, command);
    case "renew":
      return renew(state, command);
    case "release":
      return release(state, command);
    case "finish":
      return finish(state, command);
    case "fail":
      return fail(state, command);
    case "cancel":
      return cancel(state, command);
    case "forget_files":
      return forgetFiles(state, command);
  }
}

function submit(state: BooksState, command: SubmitTask): Decided<SubmitTask> {
  const known = taskOf(state, command);
  if (known !== undefined) return { answer: { ok: true, amount: holdOf(state, known).amount } };
  if (state.holds.has(command.hold)) throw new Error(`The hold ${command.hold} is not this task's.`);
  const payer = payerOf(state, command);
  if (payer === undefined) return { answer: { ok: false, reason: "key_not_live" } };
  if ((state.pending.get(command.account) ?? 0) >= command.maxPending)
    return { answer: { ok: false, reason: "too_many_pending" } };
  const placed = placeHold(payer, command, command.task);
  if (placed.refusal !== undefined) return { answer: { ok: false, reason: placed.refusal } };
  return {
    answer: { ok: true, amount: placed.amount },
    effect: { ...placed.effect, task: taskMadeBy(command), payload: command.payload },
  };
}

function taskMadeBy(command: SubmitTask): TaskRow {
  return {
    id: command.task,
    kind: command.taskKind,
    account: command.account,
    key: command.key,
    hold: command.hold,
    requestId: command.requestId,
    model: command.model,
    state: "pending",
    epoch: 0,
    owner: null,
    leaseUntilMs: null,
    provider: null,
    job: null,
    attempts: 0,
    refusals: 0,
    terms: command.terms,
    warnings: JSON.stringify(command.warnings),
    timeoutSec: command.timeoutSec,
    deadlineMs: command.deadlineMs,
    result: null,
    errorType: null,
    errorMessage: null,
    charge: null,
    filesUntilMs: null,
    createdAtMs: command.nowMs,
    readyAtMs: command.readyAtMs ?? command.nowMs,
    awaitedBy: command.awaited === true ? command.boot : null,
    startedAtMs: null,
    endedAtMs: null,
  };
}

function claim(state: BooksState, command: ClaimTask): Decided<ClaimTask> {
  const task = taskOf(state, command);
  if (task === undefined || isEnded(task.state)) return { answer: { ok: false, reason: "ended" } };
  const epoch = command.seenEpoch + 1;
  if (task.epoch === epoch && task.owner === command.boot && task.provider === command.provider)
    return { answer: { ok: true, epoch } };
  if (task.state === "pending" && state.accounts.get(task.account)?.status !== "active")
    return { answer: { ok: false, reason: "closed" } };
  // An owner whose lease is over may still have sent the task to another provider, which must not be forgotten.
  const hasGone = task.state === "running" && task.provider !== command.provider;
  if (task.epoch !== command.seenEpoch || hasGone || !isFree(state, task, command))
    return { answer: { ok: false, reason: "taken" } };
  if (command.steadyMs >= task.deadlineMs) return { answer: { ok: false, reason: "deadline" } };
  if (!hasRoom(state, task, command)) return { answer: { ok: false, reason: "full" } };
  const claimed: TaskRow = {
    ...task,
    state: "running",
    epoch,
    owner: command.boot,
    leaseUntilMs: leaseEnd(state, command),
    provider: command.provider,
    startedAtMs: task.startedAtMs ?? command.nowMs,
  };
  return { answer: { ok: true, epoch }, effect: { task: claimed } };
}

/** Whether the provider may run the task beside those that it runs. */
function hasRoom(
  { running }: BooksState,
  task: TaskRow,
  { provider, providerLimit }: ProviderPlace,
): boolean {
  const itself = task.state === "running" && task.provider === provider ? 1 : 0;
  return (running.get(provider) ?? 0) - itself < providerLimit;
}

/** Whether no live process runs the task. A pending task has no lease. */
function isFree(state: BooksState, task: TaskRow, { alone, boot, steadyMs }: ClaimTask): boolean {
  if (alone && task.owner !== boot) return true;
  return task.leaseUntilMs === null || task.leaseUntilMs <= (state.storeMs ?? steadyMs);
}

function leaseEnd(state: BooksState, { steadyMs, leaseMs }: ClaimTask | RenewTask): number {
  return (state.storeMs ?? steadyMs) + leaseMs;
}

function attempt(state: BooksState, command: AttemptTask): Decided<AttemptTask> {
  const task = runOf(state, command);
  if (task === undefined) return LOST;
  if (command.attempt <= task.attempts) return DONE;
  if (command.attempt > task.attempts + 1)
    throw new Error(`The task ${task.id} had ${task.attempts} attempts, not ${command.attempt - 1}.`);
  const { attempt: attempts, to } = command;
  if (to === undefined) return { ...DONE, effect: { task: { ...task, attempts } } };
  if (mayBeBegun(task) || task.job !== null)
    throw new Error(`The task ${task.id} may have been begun at ${task.provider}: it cannot go to another.`);
  if (!hasRoom(state, task, to)) return { answer: { ok: false, reason: "full" } };
  return { ...DONE, effect: { task: { ...task, attempts, provider: to.provider } } };
}

function noteRefusal(state: BooksState, command: NoteRefusal): Decided<NoteRefusal> {
  const task = runOf(state, command);
  if (task === undefined) return LOST;
  if (command.refusals <= task.refusals) return DONE;
  if (command.refusals > task.attempts)
    throw new Error(`The task ${task.id} had ${task.attempts} attempts, not ${command.refusals} refused.`);
  return { ...DONE, effect: { task: { ...task, refusals: command.refusals } } };
}

function noteJob(state: BooksState, command: NoteJob): Decided<NoteJob> {
  const task = runOf(state, command);
  if (task === undefined) return LOST;
  return { ...DONE, effect: { task: { ...task, job: command.job } } };
}

function renew(state: BooksState, command: RenewTask): Decided<RenewTask> {
  const task = runOf(state, command);
  // A released task is not taken back: another process may be about to claim it.
  if (task === undefined || task.leaseUntilMs === 0) return LOST;
  const leaseUntilMs = leaseEnd(state, command);
  if (leaseUntilMs <= task.leaseUntilMs) return DONE;
  return { ...DONE, effect: { task: { ...task, leaseUntilMs } } };
}

function release(state: BooksState, command: ReleaseTask): Decided<ReleaseTask> {
  const task = runOf(state, command);
  if (task === undefined) return LOST;
  if (task.leaseUntilMs === 0) return DONE;
  return { ...DONE, effect: { task: { ...task, leaseUntilMs: 0 } } };
}

function finish(state: BooksState, command: FinishTask): Decided<FinishTask> {
  const task = atEpoch(state, command);
  if (task?.state === "completed") return { answer: { ok: true, charged: task.charge as MicroCredits } };
  if (task?.state !== "running") return LOST;
  if (command.steadyMs >= task.deadlineMs) return { answer: { ok: false, reason: "deadline" } };
  const { result, filesUntilMs, nowMs } = command;
  const { charged, effect } = chargeHold(state, holdOf(state, task), { ...command, outcome: "completed" });
  const completed = { state: "completed", result, charge: charged, filesUntilMs } as const;
  return {
    answer: { ok: true, charged },
    effect: { ...effect, task: { ...endedAt(task, nowMs), ...completed } },
  };
}

function fail(state: BooksState, command: FailTask): Decided<FailTask> {
  const task = atEpoch(state, command);
  if (task?.state === "failed") return DONE;
  if (task === undefined || isEnded(task.state)) return LOST;
  const { type, message, unfinished, share, nowMs } = command;
  const outcome = unfinished ? "unfinished_upstream" : type;
  const made = holdOf(state, task);
  const lost = unfinished && share !== undefined ? shareOf(made.expectedCost, share) : made.expectedCost;
  return {
    ...DONE,
    effect: {
      ...freeHold({ ...made, expectedCost: lost }, { ...command, outcome }),
      task: { ...endedAt(task, nowMs), state: "failed", errorType: type, errorMessage: message },
    },
  };
}

/** The cost of these parts, rounded up; never above the whole. */
function shareOf(cost: MicroCredits, { parts, of }: Share): MicroCredits {
  if (!Number.isSafeInteger(parts) || !Number.isSafeInteger(of) || parts < 1 || parts > of)
    throw new Error(`A task of ${of} parts cannot lose ${parts}.`);
  return (cost * BigInt(parts) + BigInt(of) - 1n) / BigInt(of);
}

function cancel(state: BooksState, command: CancelTask): Decided<CancelTask> {
  const isTheirs = state.tasks.get(command.task)?.account === command.account;
  const task = isTheirs ? taskOf(state, command) : undefined;
  if (task === undefined) return { answer: { ok: false, reason: "unknown_task" } };
  if (task.state === "cancelled") return DONE;
  if (task.state === "running") return { answer: { ok: false, reason: "started" } };
  if (task.state !== "pending") return { answer: { ok: false, reason: "ended" } };
  const { nowMs } = command;
  return {
    ...DONE,
    effect: {
      ...freeHold(holdOf(state, task), { outcome: "cancelled", nowMs }),
      task: { ...endedAt(task, nowMs), state: "cancelled" },
    },
  };
}

function forgetFiles(state: BooksState, command: ForgetFiles): Decided<ForgetFiles> {
  const task = taskOf(state, command);
  if (task === undefined || task.filesUntilMs === null) return DONE;
  return { ...DONE, effect: { task: { ...task, filesUntilMs: null } } };
}

function endedAt(task: TaskRow, nowMs: number): TaskRow {
  return { ...task, owner: null, leaseUntilMs: null, endedAtMs: nowMs };
}

/** The task of this command. One that names another account, key or hold than the task has is a mistake in our code. */
function taskOf(state: BooksState, command: SubmitTask | OfTask): TaskRow | undefined {
  const task = state.tasks.get(command.task);
  if (task === undefined) return undefined;
  if (task.account !== command.account || task.key !== command.key || task.hold !== command.hold)
    throw new Error(`The task ${task.id} belongs to another account, key or hold.`);
  return task;
}

/** The task, unless there was another claim since. */
function atEpoch(state: BooksState, command: OfRun): TaskRow | undefined {
  const task = taskOf(state, command);
  return task?.epoch === command.epoch ? task : undefined;
}

/** A running task has a lease. */
type RunningTask = TaskRow & { readonly leaseUntilMs: number };

/** The task, if it is still the run's. */
function runOf(state: BooksState, command: OfRun): RunningTask | undefined {
  const task = atEpoch(state, command);
  return task?.state === "running" ? (task as RunningTask) : undefined;
}

/** The hold that pays for the task. */
function holdOf(state: BooksState, task: TaskRow): HoldRow {
  const made = state.holds.get(task.hold);
  if (made === undefined || made.task !== task.id) throw new Error(`The task ${task.id} has no hold.`);
  if (!isEnded(task.state) && made.state !== "held")
    throw new Error(`The hold of the task ${task.id} has ended before it.`);
  return made;
}
