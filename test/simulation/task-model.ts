import { type TaskState, TRANSITIONS } from "../../src/core/task.ts";
import type { Answers, Command, ForgetTasks, HoldCredit, HoldRefusal } from "../../src/ledger/commands.ts";
import type {
  AttemptTask,
  ClaimTask,
  FailTask,
  FinishTask,
  NoteJob,
  NoteRefusal,
  ReleaseTask,
  RenewTask,
  SubmitTask,
  TaskCommand,
} from "../../src/ledger/task-commands.ts";
import type { ModelHold } from "./model-hold.ts";

/** A task of the model. */
export interface ModelTask {
  readonly id: string;
  readonly account: string;
  readonly hold: string;
  readonly deadlineMs: number;
  state: TaskState;
  /** How often it was claimed. */
  epoch: number;
  owner: string | null;
  provider: string | null;
  /** Until when its owner must be heard of; 0 when it gave the task up. */
  leaseUntilMs: number;
  attempts: number;
  refusals: number;
  job: string | null;
  charge: bigint | null;
  endedAtMs: number | null;
  hasFiles: boolean;
}

/** What a task does to money. */
interface Money {
  readonly holds: ReadonlyMap<string, ModelHold>;
  /** Whether the account was closed. */
  isClosed(account: string): boolean;
  mayUse(command: HoldCredit | SubmitTask): boolean;
  reserve(command: HoldCredit | SubmitTask, task: string | null): ModelHold | HoldRefusal;
  charge(held: ModelHold, used: bigint): void;
  free(held: ModelHold, isGivenUp: boolean, share?: FailTask["share"]): void;
}

/** Tasks as their rules describe them, in a plain map. */
export interface TaskModel {
  readonly tasks: ReadonlyMap<string, ModelTask>;
  /** Does one command. Throws at a mistake. */
  answer(command: TaskCommand | ForgetTasks): Answer;
}

type Answer = Answers[Command["kind"]];
type OfRun = AttemptTask | NoteRefusal | NoteJob | RenewTask | ReleaseTask | FinishTask | FailTask;

const OF_TASKS: ReadonlySet<Command["kind"]> = new Set<(TaskCommand | ForgetTasks)["kind"]>([
  "submit",
  "claim",
  "attempt",
  "note_refusal",
  "note_job",
  "renew",
  "release",
  "finish",
  "fail",
  "cancel",
  "forget_files",
  "forget_tasks",
]);

/** Whether the model of tasks knows the command. */
export function isOfTask(command: Command): command is TaskCommand | ForgetTasks {
  return OF_TASKS.has(command.kind);
}

const no = (reason: string): Answer => ({ ok: false, reason }) as Answer;
const OK: Answer = { ok: true };

/** A model of an empty queue; leases run by `storeMs` where that is given, else by the time of whoever asks. */
export function createTaskModel(money: Money, storeMs?: () => number): TaskModel {
  const tasks = new Map<string, ModelTask>();
  const count = (is: (task: ModelTask) => boolean): number => [...tasks.values()].filter(is).length;
  const holdOf = (task: ModelTask): ModelHold => money.holds.get(task.hold)!;

  const move = (task: ModelTask, to: TaskState): void => {
    if (!TRANSITIONS[task.state].includes(to)) throw new Error(`The model goes from ${task.state} to ${to}.`);
    task.state = to;
  };

  const end = (task: ModelTask, to: TaskState, nowMs: number): void => {
    move(task, to);
    task.owner = null;
    task.endedAtMs = nowMs;
  };

  const busyBeside = (task: ModelTask, provider: string): number =>
    count((other) => other !== task && other.state === "running" && other.provider === provider);

  const submit = (command: SubmitTask): Answer => {
    const before = tasks.get(command.task);
    if (before !== undefined) return { ok: true, amount: holdOf(before).amount };
    if (money.holds.has(command.hold)) throw new Error(`The hold ${command.hold} is not this task's.`);
    if (!money.mayUse(command)) return no("key_not_live");
    const waiting = count(({ state, account }) => state === "pending" && account === command.account);
    if (waiting + 1 > command.maxPending) return no("too_many_pending");
    const made = money.reserve(command, command.task);
    if (typeof made === "string") return no(made);
    tasks.set(command.task, {
      id: command.task,
      account: command.account,
      hold: command.hold,
      deadlineMs: command.deadlineMs,
      state: "pending",
      epoch: 0,
      owner: null,
      provider: null,
      leaseUntilMs: 0,
      attempts: 0,
      refusals: 0,
      job: null,
      charge: null,
      endedAtMs: null,
      hasFiles: false,
    });
    return { ok: true, amount: made.amount };
  };

  const claim = (command: ClaimTask): Answer => {
    const task = tasks.get(command.task);
    if (task === undefined || task.endedAtMs !== null) return no("ended");
    const isMine = task.owner === command.boot && task.provider === command.provider;
    if (isMine && task.epoch === command.seenEpoch + 1) return { ok: true, epoch: task.epoch };
    if (task.state === "pending" && money.isClosed(task.account)) return no("closed");
    if (task.epoch !== command.seenEpoch) return no("taken");
    const nowMs = storeMs?.() ?? command.steadyMs;
    const isDead = task.leaseUntilMs <= nowMs || (command.alone && task.owner !== command.boot);
    if (task.state === "running" && (!isDead || task.provider !== command.provider)) return no("taken");
    if (task.deadlineMs <= command.steadyMs) return no("deadline");
    const { provider } = command;
    if (busyBeside(task, provider) + 1 > command.providerLimit) return no("full");
    if (task.state === "pending") move(task, "running");
    task.epoch += 1;
    task.owner = command.boot;
    task.provider = provider;
    task.leaseUntilMs = nowMs + command.leaseMs;
    return { ok: true, epoch: task.epoch };
  };

  const attempt = (task: ModelTask, command: AttemptTask): Answer => {
    if (command.attempt <= task.attempts) return OK;
    if (command.attempt > task.attempts + 1)
      throw new Error(`The task ${task.id} had ${task.attempts} attempts, not ${command.attempt - 1}.`);
    if (command.to !== undefined) {
      if (task.attempts !== task.refusals || task.job !== null)
        throw new Error(
          `The task ${task.id} may have been begun at ${task.provider}: it cannot go to another.`,
        );
      const { provider, providerLimit } = command.to;
      if (busyBeside(task, provider) + 1 > providerLimit) return no("full");
      task.provider = provider;
    }
    task.attempts = command.attempt;
    return OK;
  };

  const finish = (task: ModelTask, command: FinishTask): Answer => {
    if (task.state === "completed") return { ok: true, charged: task.charge! };
    if (task.state !== "running") return no("lost");
    if (task.deadlineMs <= command.steadyMs) return no("deadline");
    money.charge(holdOf(task), command.used);
    end(task, "completed", command.nowMs);
    task.charge = holdOf(task).charged;
    task.hasFiles = true;
    return { ok: true, charged: task.charge };
  };

  const fail = (task: ModelTask, command: FailTask): Answer => {
    if (task.state === "failed") return OK;
    if (task.endedAtMs !== null) return no("lost");
    money.free(holdOf(task), command.unfinished, command.share);
    end(task, "failed", command.nowMs);
    return OK;
  };

  const ofRun = (command: OfRun): Answer => {
    const task = tasks.get(command.task);
    if (task === undefined || task.epoch !== command.epoch) return no("lost");
    if (command.kind === "finish") return finish(task, command);
    if (command.kind === "fail") return fail(task, command);
    if (task.state !== "running") return no("lost");
    if (command.kind === "attempt") {
      return attempt(task, command);
    } else if (command.kind === "note_refusal") {
      if (command.refusals > task.attempts)
        throw new Error(
          `The task ${task.id} had ${task.attempts} attempts, not ${command.refusals} refused.`,
        );
      task.refusals = Math.max(task.refusals, command.refusals);
    } else if (command.kind === "note_job") task.job = command.job;
    else if (command.kind === "release") task.leaseUntilMs = 0;
    else if (task.leaseUntilMs === 0) return no("lost");
    else task.leaseUntilMs = Math.max(task.leaseUntilMs, (storeMs?.() ?? command.steadyMs) + command.leaseMs);
    return OK;
  };

  return {
    tasks,
    answer(command) {
      switch (command.kind) {
        case "submit":
          return submit(command);
        case "claim":
          return claim(command);
        case "cancel": {
          const task = tasks.get(command.task);
          if (task === undefined || task.account !== command.account) return no("unknown_task");
          if (task.state === "running") return no("started");
          if (task.state === "completed" || task.state === "failed") return no("ended");
          if (task.state === "pending") {
            money.free(holdOf(task), false);
            end(task, "cancelled", command.nowMs);
          }
          return OK;
        }
        case "forget_files": {
          const task = tasks.get(command.task);
          if (task !== undefined) task.hasFiles = false;
          return OK;
        }
        case "forget_tasks":
          for (const [id, { endedAtMs, hasFiles }] of tasks)
            if (endedAtMs !== null && endedAtMs < command.beforeMs && !hasFiles) tasks.delete(id);
          return OK;
        default:
          return ofRun(command);
      }
    },
  };
}
