import type { Command } from "../../src/ledger/commands.ts";
import type { Choices } from "./choices.ts";
import {
  type Faults,
  HOLD_LIFETIME_MS,
  kill,
  type Plan,
  type Request,
  serve,
  type SimulatedGateway,
  startGateway,
} from "./simulated-gateway.ts";
import { LEASE_MS, openSimulatedStore, type SimulatedStore } from "./simulated-store.ts";
import {
  cancelTask,
  checkTask,
  hasOpenTasks,
  newTask,
  type SimulatedTask,
  submitTask,
  type TaskPlan,
  workOnTasks,
} from "./simulated-tasks.ts";
import { createWorld, type World } from "./world.ts";

/** What one run was, and what was wrong with it. */
export interface Run {
  readonly failure: string | undefined;
  readonly trace: readonly string[];
  readonly counts: Readonly<Record<string, number>>;
}

interface Stage {
  readonly world: World;
  readonly store: SimulatedStore;
  readonly faults: Faults;
  readonly gateways: SimulatedGateway[];
  readonly requests: Request[];
  readonly tasks: SimulatedTask[];
  readonly most: number;
  readonly counts: { kills: number; freezes: number; starts: number; orders: number };
  /** Grants that were acknowledged, by cause. */
  readonly granted: Map<string, bigint>;
}

/** Steps with faults, then as many as it takes until everything has come to rest, but not more than that. */
const TROUBLED_STEPS = 170;
const CALM_STEPS = 6_000;

const ACCOUNTS = 2;
const KEYS = 3;

/** One account that holds meet the end of, and one that processes have allotments of. */
const FIRST = [120n, 1_500n];

/** Runs gateways, clients and operators on one store, for better and for worse, and checks what remains. */
export async function simulate(choices: Choices): Promise<Run> {
  const world = createWorld(choices);
  const most = choices.choose(4);
  const store = await openSimulatedStore(world, most === 0 ? "sqlite" : "postgres");
  const stage: Stage = {
    world,
    store,
    most: Math.max(1, most),
    faults: {
      enabled: false,
      refused: 0,
      answersLost: 0,
      lateArrivals: 0,
      commitsFailed: 0,
      late: new Set(),
    },
    gateways: [],
    requests: [],
    tasks: [],
    counts: { kills: 0, freezes: 0, starts: 0, orders: 0 },
    granted: new Map(),
  };
  let failure: string | undefined;
  try {
    open(stage);
    stage.faults.enabled = true;
    for (let i = 0; i < TROUBLED_STEPS && !choices.isOver(); i += 1) await happen(stage);
    stage.faults.enabled = false;
    await comeToRest(stage);
    const [complaint] = store.complaints;
    if (complaint !== undefined) throw new Error(complaint);
    await store.check();
    for (const request of stage.requests) checkRequest(store, request);
    for (const task of stage.tasks) checkTask(store, task);
    checkOrders(stage);
  } catch (error) {
    // What went wrong where nobody waits comes before what came of it.
    failure = store.complaints[0] ?? (error instanceof Error ? error.message : String(error));
  } finally {
    store.close();
  }
  const { enabled: _, late: __, ...faults } = stage.faults;
  const counts = {
    steps: world.stepNumber(),
    requests: stage.requests.length,
    tasks: stage.tasks.length,
    ...store.counts,
    ...stage.counts,
    ...faults,
  };
  return { failure, trace: world.trace, counts };
}

function open(stage: Stage): void {
  const { store, world, most } = stage;
  const nowMs = world.nowMs();
  const commands: Command[] = [];
  for (let a = 0; a < ACCOUNTS; a += 1) {
    const account = `account_${a}`;
    commands.push(
      { kind: "create_account", account, name: "any", nowMs },
      { kind: "grant", cause: `first_${a}`, account, amount: FIRST[a]!, reason: "", requestId: "", nowMs },
    );
  }
  for (let k = 0; k < KEYS; k += 1)
    commands.push({
      kind: "issue_key",
      key: `key_${k}`,
      account: `account_${k % ACCOUNTS}`,
      name: "any",
      hash: `hash_${k}`,
      hint: "",
      models: null,
      budget: k === 2 ? 70n : null,
      expiresAtMs: null,
      nowMs,
    });
  store.commit(commands, 0);
  for (let g = 1; g <= most; g += 1) start(stage);
}

/** One more gateway, which also works on tasks. */
function start({ world, store, faults, gateways, tasks }: Stage): void {
  const gateway = startGateway(world, store, faults, gateways.length + 1);
  gateways.push(gateway);
  const taskOf = (id: string): SimulatedTask => tasks.find((task) => task.id === id)!;
  void workOnTasks({ world, store, gateway, taskOf });
}

/** One thing happens: mostly a step of what is under way. */
async function happen(stage: Stage): Promise<void> {
  const { world, store, gateways, counts } = stage;
  const roll = world.choices.choose(100);
  const living = gateways.filter((gateway) => gateway.alive);
  const ready = living.filter((gateway) => gateway.ready && gateway.frozenUntilMs <= world.nowMs());
  const pick = <Item>(list: readonly Item[]): Item => list[world.choices.choose(list.length)]!;
  if (roll >= 98 && living.length > 0) {
    counts.kills += 1;
    kill(world, store, pick(living));
  } else if (roll >= 95 && ready.length > 0) {
    const gateway = pick(ready);
    const forMs = (1 + world.choices.choose(8)) * (LEASE_MS / 4);
    counts.freezes += 1;
    gateway.frozenUntilMs = world.nowMs() + forMs;
    world.note(`${gateway.name} freezes for ${forMs} ms`);
  } else if (roll >= 92 && living.length < stage.most) {
    counts.starts += 1;
    start(stage);
  } else if (roll >= 89 && ready.length > 0) order(stage, pick(ready));
  else if (roll >= 79 && ready.length > 0) {
    const gateway = pick(ready);
    for (let more = world.choices.choose(3); more >= 0; more -= 1) ask(stage, gateway);
  } else if (roll >= 74 && ready.length > 0) askTask(stage, pick(ready));
  else if (roll >= 71 || !(await world.runOne())) world.passTime();
}

/** A client asks for something. */
function ask({ world, requests }: Stage, gateway: SimulatedGateway): void {
  const { choose } = world.choices;
  const key = choose(KEYS);
  const amount = BigInt(choose(50));
  const bounded = choose(3) > 0;
  const plan: Plan = {
    account: `account_${key % ACCOUNTS}`,
    key: `key_${key}`,
    amount,
    expectedCost: BigInt(choose(60)),
    elastic: bounded ? undefined : { tokenPrice: 2n, floorTokens: 1, maxTokens: 15 },
    chunks: Array.from({ length: choose(4) }, () => [0, 5, 2_000, 20_000][choose(4)]!),
    used: BigInt(choose(3) === 0 ? Number(amount) : choose(80)),
    end: choose(4) === 3 ? "void" : "settle",
  };
  const request: Request = { id: `request_${requests.length + 1}`, plan, gateway, ending: false };
  requests.push(request);
  world.note(
    `${request.id} comes to ${gateway.name}: holds ${plan.amount}, ends with ${plan.end} ${plan.used}`,
  );
  gateway.busy += 1;
  void serve(world, request)
    .catch(() => undefined)
    .finally(() => (gateway.busy -= 1));
}

/** A client submits a task, or cancels one of those before. */
function askTask({ world, tasks }: Stage, gateway: SimulatedGateway): void {
  const { choose } = world.choices;
  const before = choose(3) === 0 ? tasks.at(-1 - choose(3)) : undefined;
  gateway.busy += 1;
  const isDone = (): void => void (gateway.busy -= 1);
  if (before !== undefined) {
    world.note(`${before.id} is to be cancelled by ${gateway.name}`);
    cancelTask(world, gateway, before)
      .catch(() => undefined)
      .finally(isDone);
    return;
  }
  const key = choose(KEYS);
  const amount = BigInt(choose(40));
  const plan: TaskPlan = {
    account: `account_${key % ACCOUNTS}`,
    key: `key_${key}`,
    amount,
    expectedCost: BigInt(choose(50)),
    provider: `provider_${choose(2)}`,
    timeoutMs: [20_000, 60_000, 200_000][choose(3)]!,
    acceptMs: [0, 5, 2_000][choose(3)]!,
    makeMs: [5, 2_000, 15_000, 45_000][choose(4)]!,
    used: BigInt(choose(3) === 0 ? Number(amount) : choose(60)),
    end: (["finish", "finish", "finish", "fail", "give up", "never"] as const)[choose(6)]!,
  };
  const task = newTask(plan, tasks.length + 1, gateway, world.nowMs());
  tasks.push(task);
  world.note(`${task.id} comes to ${gateway.name}: holds ${amount}, is to ${plan.end} at ${plan.used}`);
  submitTask(world, gateway, task)
    .catch(() => undefined)
    .finally(isDone);
}

/** The operator gives credit, takes some back, changes a budget or revokes a key; tells again what was not heard. */
function order({ world, store, granted, counts }: Stage, gateway: SimulatedGateway): void {
  const { choose } = world.choices;
  counts.orders += 1;
  const what = choose(8);
  const key = `key_${choose(KEYS)}`;
  const cause = `order_${counts.orders}`;
  const give = {
    kind: "grant",
    cause,
    account: `account_${choose(ACCOUNTS)}`,
    // Now and then nearly all, so that what is allotted has to come back.
    amount: BigInt(choose(90)) - 30n - (choose(4) === 3 ? 500n : 0n),
    reason: "",
    requestId: cause,
    nowMs: world.nowMs(),
  } as const;
  const command: Command =
    what === 7
      ? { kind: "revoke_key", key, nowMs: world.nowMs() }
      : what >= 4
        ? { kind: "change_key", key, budget: what === 6 ? null : BigInt(choose(90)) }
        : give;
  if ("key" in command) store.narrowing.add(command);
  const tell = async (): Promise<void> => {
    for (;;) {
      const answer = await gateway.writer.submit(command).catch(() => undefined);
      if (answer?.ok === true && "balance" in answer) granted.set(cause, give.amount);
      if (answer !== undefined && "key" in command) store.narrowing.delete(command);
      if (answer !== undefined) return;
      await world.turn(gateway, `${cause} is told again`, 500);
    }
  };
  gateway.busy += 1;
  void tell().finally(() => (gateway.busy -= 1));
}

/** Nothing goes wrong any more: everybody ends what they do, and the dead are found. */
async function comeToRest(stage: Stage): Promise<void> {
  const { world, store, faults } = stage;
  world.note("from here on nothing goes wrong");
  await rest(stage);
  for (const [id, hold] of openHolds(store))
    if (!faults.late.has(id))
      throw new Error(`The hold ${id} of ${hold.boot} is open and nobody will end it.`);
  if (openHolds(store).length === 0) return;
  world.note("the time of every hold runs out");
  world.leap(HOLD_LIFETIME_MS);
  await rest(stage);
  for (const [id] of openHolds(store)) throw new Error(`The hold ${id} is open although its time is over.`);
}

const openHolds = ({ model }: SimulatedStore) => [...model.holds].filter(([, { state }]) => state === "held");

/** Goes on until nobody has anything to do, and everything that is done from time to time was done since. */
async function rest(stage: Stage): Promise<void> {
  const { world, store, gateways } = stage;
  let quietUntilMs = Infinity;
  for (let i = 0; i < CALM_STEPS; i += 1) {
    // What one hears at its start may be of the time when things went wrong.
    if (!gateways.some((gateway) => gateway.alive)) start(stage);
    const living = gateways.filter((gateway) => gateway.alive);
    const busy = hasOpenTasks(store) || living.some((gateway) => gateway.busy > 0 || !gateway.ready);
    if (busy) quietUntilMs = Infinity;
    // Leases run out, ends are tried again, and somebody comes round to sweep.
    else if (quietUntilMs === Infinity) quietUntilMs = lastThaw(world, living) + 3 * LEASE_MS;
    if (await world.runOne()) continue;
    if (world.nowMs() >= quietUntilMs) return;
    world.passTime();
  }
  throw new Error("It never came to rest.");
}

function lastThaw(world: World, living: readonly SimulatedGateway[]): number {
  return Math.max(world.nowMs(), ...living.map((gateway) => gateway.frozenUntilMs));
}

/** What a client was told is what stands in the books, and what nobody paid for is the operator's loss. */
function checkRequest({ model }: SimulatedStore, request: Request): void {
  const { id, hold, plan, gateway, credit, ending } = request;
  if (hold === undefined) return;
  const made = model.holds.get(hold.id);
  if (made === undefined) throw new Error(`${id} was told of a hold that is not in the books.`);
  if (made.amount !== hold.amount) throw new Error(`${id} was told ${hold.amount}, ${made.amount} was held.`);
  if (credit !== undefined && credit !== made.charged)
    throw new Error(`${id} was told ${credit} and charged ${made.charged}.`);
  const used = plan.end === "settle" ? plan.used : 0n;
  const known = made.charged + made.lost;
  // The end of one that began to end before its process died may have been lost, or not.
  const given = made.state === "voided" ? made.expectedCost : undefined;
  if (gateway.alive && plan.end === "settle" && known !== used)
    throw new Error(`${id} used ${used}: ${made.charged} was charged and ${made.lost} booked as lost.`);
  if (known !== used && (known !== given || (!ending && made.charged > 0n)))
    throw new Error(
      `${id} used ${used}, or ${given} was expected: ${made.charged} charged, ${made.lost} lost.`,
    );
  if (!ending && made.charged > 0n) throw new Error(`${id} was charged before it ended.`);
}

/** What the operator was told is in the books. */
function checkOrders({ store, granted }: Stage): void {
  for (const [cause, amount] of granted)
    if (store.model.grants.get(cause)?.amount !== amount)
      throw new Error(`${cause} was acknowledged and is not in the books.`);
}
