import type { AnswerTo } from "../../src/ledger/commands.ts";
import type { FailTask, FinishTask, SubmitTask } from "../../src/ledger/task-commands.ts";
import type { SimulatedGateway } from "./simulated-gateway.ts";
import { LEASE_MS, PROVIDER_LIMIT, type SimulatedStore } from "./simulated-store.ts";
import type { World } from "./world.ts";

/** What becomes of a task at its provider, decided before it is submitted. */
export interface TaskPlan {
  readonly account: string;
  readonly key: string;
  readonly amount: bigint;
  readonly expectedCost: bigint;
  readonly provider: string;
  readonly timeoutMs: number;
  /** How long the provider takes to accept it, and then to make it. */
  readonly acceptMs: number;
  readonly makeMs: number;
  readonly used: bigint;
  readonly end: "finish" | "fail" | "give up" | "never";
}

/** A task as its client and its provider saw it. */
export interface SimulatedTask {
  readonly id: string;
  readonly plan: TaskPlan;
  readonly command: SubmitTask;
  /** What its client was told: that it is in the queue, or why not. */
  told?: string;
  /** Whether its client was told that it is cancelled. */
  cancelled: boolean;
  /** How often the provider was sent it. */
  calls: number;
  /** What runs were told that it was charged. */
  readonly charges: bigint[];
}

/** How often a process looks for work. */
const ROUND_MS = 5_000;

/** A task that a client asks for; its id is the number of those before it. */
export function newTask(
  plan: TaskPlan,
  number: number,
  gateway: SimulatedGateway,
  nowMs: number,
): SimulatedTask {
  const id = `task_${number}`;
  const command: SubmitTask = {
    kind: "submit",
    task: id,
    taskKind: "image",
    hold: `hold_${id}`,
    account: plan.account,
    key: plan.key,
    requestId: `request_${id}`,
    boot: gateway.bootId,
    model: "simulated/model",
    amount: plan.amount,
    expectedCost: plan.expectedCost,
    priceVersion: "prices",
    priceRules: "{}",
    payload: Buffer.from("sealed"),
    terms: "{}",
    warnings: [],
    timeoutSec: plan.timeoutMs / 1000,
    deadlineMs: nowMs + plan.timeoutMs,
    maxPending: 3,
    nowMs,
    expiresAtMs: nowMs + plan.timeoutMs,
  };
  return { id, plan, command, cancelled: false, calls: 0, charges: [] };
}

/** The client's part: it submits once, and is told or not. */
export async function submitTask(
  world: World,
  gateway: SimulatedGateway,
  task: SimulatedTask,
): Promise<void> {
  const answer = await gateway.writer.submit(task.command);
  task.told = answer.ok ? "ok" : answer.reason;
  world.note(`${task.id} is told ${task.told}`);
}

/** Its client changes its mind. */
export async function cancelTask(
  world: World,
  gateway: SimulatedGateway,
  task: SimulatedTask,
): Promise<void> {
  const { task: id, account, key, hold } = task.command;
  const nowMs = world.nowMs();
  const answer = await gateway.writer.submit({ kind: "cancel", task: id, account, key, hold, nowMs });
  if (answer.ok) task.cancelled = true;
  world.note(`${task.id} is told of its cancel: ${answer.ok ? "ok" : answer.reason}`);
}

/** What a process sees of a task that has not ended. */
interface OpenTask {
  readonly id: string;
  readonly state: string;
  readonly epoch: number;
  readonly owner: string | null;
  readonly attempts: number;
  readonly job: string | null;
  readonly leaseUntilMs: number;
  readonly deadlineMs: number;
}

function openTasks({ ask }: SimulatedStore): readonly OpenTask[] {
  const rows = ask("select * from tasks where ended_at_ms is null order by seq");
  if (!Array.isArray(rows)) throw new Error("The store of a simulation answers at once.");
  return rows.map((row: Record<string, unknown>) => ({
    id: String(row.id),
    state: String(row.state),
    epoch: Number(row.epoch),
    owner: row.owner as string | null,
    attempts: Number(row.attempts),
    job: row.job as string | null,
    leaseUntilMs: Number(row.lease_until_ms),
    deadlineMs: Number(row.deadline_ms),
  }));
}

/** What the work of one process is made of. */
interface Work {
  readonly world: World;
  readonly store: SimulatedStore;
  readonly gateway: SimulatedGateway;
  taskOf(id: string): SimulatedTask;
}

/** Looks for tasks from time to time for as long as the process lives: takes them, or fails them when they are over. */
export async function workOnTasks(work: Work): Promise<never> {
  const { world, store, gateway } = work;
  const mine = new Set<string>();
  for (;;) {
    await world.turn(gateway, "", ROUND_MS);
    if (!gateway.ready) continue;
    for (const seen of openTasks(store)) {
      if (mine.has(seen.id) || !isFree(work, seen)) continue;
      mine.add(seen.id);
      gateway.busy += 1;
      void take(work, seen)
        .catch((error: unknown) => world.note(`${gateway.name} gives ${seen.id} up: ${String(error)}`))
        .finally(() => {
          mine.delete(seen.id);
          gateway.busy -= 1;
        });
    }
  }
}

function isFree({ world, store, gateway }: Work, seen: OpenTask): boolean {
  if (seen.state === "pending" || seen.leaseUntilMs <= world.nowMs()) return true;
  return store.engine === "sqlite" && seen.owner !== gateway.bootId;
}

async function take(work: Work, seen: OpenTask): Promise<void> {
  const { world, store, gateway } = work;
  const task = work.taskOf(seen.id);
  const of = idsOf(task);
  const nowMs = world.nowMs();
  if (nowMs >= seen.deadlineMs) {
    const { epoch, attempts } = seen;
    await gateway.writer.submit({ kind: "fail", ...of, epoch, ...overdue(attempts), nowMs });
    return;
  }
  const claimed = await gateway.writer.submit({
    kind: "claim",
    ...of,
    seenEpoch: seen.epoch,
    boot: gateway.bootId,
    provider: task.plan.provider,
    providerLimit: PROVIDER_LIMIT,
    leaseMs: LEASE_MS,
    alone: store.engine === "sqlite",
    steadyMs: nowMs,
    nowMs,
  });
  if (claimed.ok) await run(work, task, claimed.epoch);
}

/** One run, from the claim to the end. Rejects when the store does not take what has to be durable first. */
async function run(work: Work, task: SimulatedTask, epoch: number): Promise<void> {
  const { world, store, gateway } = work;
  const { plan } = task;
  const of = { ...idsOf(task), epoch };
  // Read after the claim: until then the owner before may have gone on.
  const found = openTasks(store).find(({ id }) => id === task.id);
  if (found === undefined) return;
  const lease = keepLease(work, of);
  try {
    if (found.job === null) {
      const attempt = found.attempts + 1;
      if (!(await gateway.writer.submit({ kind: "attempt", ...of, attempt, nowMs: world.nowMs() })).ok)
        return;
      task.calls += 1;
      await world.turn(gateway, `${task.id} is sent to its provider by ${gateway.name}`, plan.acceptMs);
      const job = `job_${task.calls}`;
      if (!(await gateway.writer.submit({ kind: "note_job", ...of, job, nowMs: world.nowMs() })).ok) return;
    }
    if (plan.end === "give up" && epoch === 1) {
      await gateway.writer.submit({ kind: "release", ...of, nowMs: world.nowMs() });
      return;
    }
    const restMs = found.deadlineMs - world.nowMs();
    await world.turn(gateway, "", plan.end === "never" ? Math.max(0, restMs) : plan.makeMs);
    await end(work, task, of);
  } finally {
    lease.stop();
  }
}

type OfRun = Pick<FinishTask, "task" | "account" | "key" | "hold" | "epoch">;

async function end(work: Work, task: SimulatedTask, of: OfRun): Promise<void> {
  const { world } = work;
  const { plan } = task;
  const nowMs = world.nowMs();
  const fails = plan.end === "fail" || plan.end === "never";
  if (!fails) {
    const answer = await insist(work, finishOf(of, plan, nowMs));
    if (answer.ok) task.charges.push(answer.charged);
    if (answer.ok || answer.reason === "lost") return;
  }
  await insist(work, { kind: "fail", ...of, ...overdue(plan.end === "fail" ? 0 : 1), nowMs: world.nowMs() });
}

function finishOf(of: OfRun, { used, provider }: TaskPlan, nowMs: number): FinishTask {
  return {
    kind: "finish",
    ...of,
    steadyMs: nowMs,
    result: "{}",
    filesUntilMs: nowMs,
    used,
    usage: "{}",
    flags: [],
    timeline: {
      provider,
      admittedAtMs: nowMs,
      heldAtMs: nowMs,
      firstByteAtMs: null,
      endedAtMs: nowMs,
      attempts: [],
    },
    nowMs,
  };
}

/** Ends are told until the store has taken them. */
async function insist<C extends FinishTask | FailTask>(
  { world, gateway }: Work,
  command: C,
): Promise<AnswerTo<C>> {
  for (;;) {
    const answer = await gateway.writer.submit(command).catch(() => undefined);
    if (answer !== undefined) return answer;
    await world.turn(gateway, "", 1_000);
  }
}

/** Renews the lease until it is stopped. */
function keepLease({ world, gateway }: Work, of: OfRun): { stop(): void } {
  let stopped = false;
  const renew = async (): Promise<void> => {
    for (;;) {
      await world.turn(gateway, "", LEASE_MS / 3);
      if (stopped) return;
      const times = { steadyMs: world.nowMs(), nowMs: world.nowMs() };
      const renewal = { kind: "renew", ...of, leaseMs: LEASE_MS, ...times } as const;
      const answer = await gateway.writer.submit(renewal).catch(() => undefined);
      if (answer?.ok === false) return;
    }
  };
  void renew();
  return { stop: () => void (stopped = true) };
}

function idsOf({ command: { task, account, key, hold } }: SimulatedTask) {
  return { task, account, key, hold };
}

const overdue = (attempts: number): Pick<FailTask, "type" | "message" | "unfinished"> => ({
  type: "timeout_error",
  message: "",
  unfinished: attempts > 0,
});

/** What a client was told of its task is what stands in the books, and its provider was sent it no more than they say. */
export function checkTask({ model }: SimulatedStore, { id, plan, told, ...seen }: SimulatedTask): void {
  const task = model.tasks.get(id);
  if (task === undefined) {
    if (told === "ok" || seen.calls > 0) throw new Error(`${id} was accepted and is not in the books.`);
    return;
  }
  if (task.endedAtMs === null) throw new Error(`${id} is ${task.state} and nobody ends it.`);
  if (seen.calls > task.attempts)
    throw new Error(`${id} was sent ${seen.calls} times, ${task.attempts} attempts were written down.`);
  if (seen.cancelled && (task.state !== "cancelled" || seen.calls > 0))
    throw new Error(`${id} was told to be cancelled, is ${task.state} and was sent ${seen.calls} times.`);
  for (const charge of seen.charges)
    if (task.state !== "completed" || task.charge !== charge)
      throw new Error(`${id} was told ${charge} and is ${task.state} at ${task.charge}.`);
  const hold = model.holds.get(task.hold)!;
  if (task.state === "completed" ? hold.charged + hold.lost !== plan.used : hold.charged !== 0n)
    throw new Error(`${id} is ${task.state}, used ${plan.used}: charged ${hold.charged}, lost ${hold.lost}.`);
}

/** Whether anything is to be done yet. */
export function hasOpenTasks({ model }: SimulatedStore): boolean {
  return [...model.tasks.values()].some(({ endedAtMs }) => endedAtMs === null);
}
