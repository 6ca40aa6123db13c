import type { MicroCredits } from "../../src/core/money/credits.ts";
import { noFailpoint } from "../../src/core/failpoint.ts";
import type { Hold } from "../../src/core/money/hold.ts";
import type { Log } from "../../src/core/log/log.ts";
import type { Model } from "../../src/core/model.ts";
import { NO_USAGE } from "../../src/core/money/usage.ts";
import type { Clock } from "../../src/core/time/clock.ts";
import type { AnswerTo, Command, ElasticOutput, HoldCredit } from "../../src/ledger/commands.ts";
import { createLedger, type HoldRequest, type Ledger } from "../../src/ledger/ledger.ts";
import type { OpenHolds } from "../../src/ledger/open-holds.ts";
import type { SharedEvents, SharedTables } from "../../src/ledger/postgres/allotment-tables.ts";
import { isForCredit } from "../../src/ledger/postgres/contested.ts";
import { openSharedKeeper } from "../../src/ledger/postgres/keeper.ts";
import { withRecalls } from "../../src/ledger/postgres/recalls.ts";
import { createSweeper, type Sweeper } from "../../src/ledger/sweeper.ts";
import { createWriter, type Executor, type Writer } from "../../src/ledger/writer.ts";
import { LEASE_MS, type SimulatedStore } from "./simulated-store.ts";
import type { Owner, World } from "./world.ts";

/** One process of a gateway: the real writer, ledger and sweeper, on a network and a clock that a scheduler moves. */
export interface SimulatedGateway extends Owner {
  readonly bootId: string;
  readonly writer: Writer;
  readonly ledger: Ledger;
  readonly sweeper: Sweeper;
  /** Whether it takes requests. */
  ready: boolean;
  /** Requests and orders under way. */
  busy: number;
  /** Batches on their way to the store. */
  readonly sent: Set<SentBatch>;
}

/** A batch on its way. */
interface SentBatch {
  /** Commits it now, with nobody to hear the answer. */
  arrive(): void;
  /** It never arrives. */
  lose(): void;
}

/** What can go wrong, and how often it did. */
export interface Faults {
  enabled: boolean;
  refused: number;
  answersLost: number;
  lateArrivals: number;
  commitsFailed: number;
  /** Holds that were made when their process had given up waiting for them; only their time ends them. */
  readonly late: Set<string>;
}

/** How long a hold may stay open. */
export const HOLD_LIFETIME_MS = 2 * 60 * 60 * 1000;

const silent: Log = { info() {}, warn() {}, error() {} };

/** Starts the process number `number`; it is ready some steps later, or dies when the store cannot be written. */
export function startGateway(
  world: World,
  store: SimulatedStore,
  faults: Faults,
  number: number,
): SimulatedGateway {
  const owner: Owner = { name: `gateway ${number}`, alive: true, frozenUntilMs: 0 };
  const sent = new Set<SentBatch>();
  const clock = world.clockOf(owner, world.choices.choose(5) * 700);
  const { writer, openHolds } = openBooks(world, store, faults, { owner, sent, clock });
  const bootId = `boot_${number}`;
  const random = { bytes: (count: number) => new Uint8Array(count).fill(number) };
  const gateway: SimulatedGateway = Object.assign(owner, {
    bootId,
    writer,
    ledger: createLedger({
      writer,
      openHolds,
      clock,
      random,
      failpoint: noFailpoint,
      bootId,
      holdLifetimeMs: () => HOLD_LIFETIME_MS,
    }),
    sweeper: createSweeper({
      database: store.database,
      engine: store.engine,
      writer,
      openHolds,
      clock,
      log: silent,
      bootId,
      leaseMs: LEASE_MS,
    }),
    ready: false,
    busy: 0,
    sent,
  });
  world.note(`${owner.name} starts`);
  gateway.sweeper.start().then(
    () => (gateway.ready = gateway.alive),
    () => kill(world, store, gateway),
  );
  return gateway;
}

/** The process dies: what it knew is gone; what it had sent arrives or does not. */
export function kill(world: World, store: SimulatedStore, gateway: SimulatedGateway): void {
  if (!gateway.alive) return;
  world.note(`${gateway.name} dies`);
  gateway.alive = false;
  gateway.ready = false;
  world.bury(gateway);
  store.died(gateway.bootId);
  for (const batch of gateway.sent) {
    const fate = world.choices.choose(3);
    // A thread dies with its process; a server may come to what it was sent later.
    if (fate === 1) batch.lose();
    else if (fate === 2 || store.engine === "sqlite") batch.arrive();
  }
}

/** One process's place on the network. */
interface Place {
  readonly owner: Owner;
  readonly sent: Set<SentBatch>;
  readonly clock: Clock;
}

function openBooks(world: World, store: SimulatedStore, faults: Faults, place: Place) {
  const { clock, owner } = place;
  const run = unreliable(world, store, faults, place);
  if (store.engine === "sqlite")
    return { writer: createWriter(tablesAlone(run), silent, clock), openHolds: undefined };
  const { allotments } = store;
  const keeper = openSharedKeeper({
    openTables(events) {
      store.listeners.set(
        owner.name,
        (account) => void world.later(owner, "", () => events.onRecall(account)),
      );
      return sharedTables(world, store, faults, { ...place, run, events });
    },
    clock,
    notes: allotments.notesOf(),
  });
  const writer = withRecalls(createWriter(keeper, silent, clock), keeper);
  const submit = async (command: Command): Promise<AnswerTo<Command>> => {
    const answer = await writer.submit(command);
    if (isForCredit(answer) && store.idleAtRefusal(command) > 0n)
      store.complaints.push(`${wordOf(command)} was refused while processes had credit set aside.`);
    return answer;
  };
  const openHolds: OpenHolds = {
    ...keeper,
    async hold(command, direct) {
      let isDirect = false;
      const answer = await keeper.hold(command, (given) => {
        isDirect = true;
        return direct(given);
      });
      if (!isDirect) tellOfHold(world, store, command, answer);
      return answer;
    },
  };
  return { writer: { submit: submit as Writer["submit"], close: () => writer.close() }, openHolds };
}

function tellOfHold(
  world: World,
  store: SimulatedStore,
  command: HoldCredit,
  answer: AnswerTo<HoldCredit>,
): void {
  world.note(`  ${wordOf(command)} is made in memory of ${command.boot}`);
  try {
    store.allotments.made(command, answer);
  } catch (error) {
    store.complaints.push(String(error));
  }
}

/** The tables as one process uses them over the network. */
function sharedTables(
  world: World,
  store: SimulatedStore,
  faults: Faults,
  parts: Place & { readonly run: ReturnType<typeof unreliable>; readonly events: SharedEvents },
): SharedTables {
  const { allotments } = store;
  const { run, events } = parts;
  const call = network(world, store, faults, parts);
  return {
    async run(commands) {
      const { outcomes, accounts } = await run(commands);
      events.onDecided(accounts);
      return outcomes;
    },
    take: (wanted, nowMs) => call(`take of ${wanted.key}`, () => allotments.take(wanted, nowMs)),
    save: (changes, removed = []) =>
      call(
        `save of ${[...changes.changes.newHolds.values()].map(({ id, state }) => `${state} ${shortOf(id)}`).join(", ")}`,
        () => allotments.save(changes, removed),
      ),
    own: (boot, holds) => call("look at its own", () => allotments.own(boot, holds)),
    free: (accounts, which) => call(`free of ${accounts.join(", ")}`, () => allotments.free(accounts, which)),
    accounts: async (ids) => new Set(ids),
    isLive: (boot) => call(`look at ${boot}`, () => allotments.isLive(boot)),
    dead: (but) => call("look for the dead", () => allotments.dead(but)),
    recall: (of) =>
      call("recall", () => {
        const account = allotments.recall(of);
        if (account !== undefined) for (const tell of store.listeners.values()) tell(account);
        return account;
      }),
    left: (account) => call("look at what is left", () => allotments.left(account)),
    close: async () => {},
  };
}

/** Hands what is to be done to the store over something that fails in every way in which a connection can. */
function network(world: World, store: SimulatedStore, faults: Faults, { owner, sent }: Place) {
  return <Result>(
    what: string,
    commit: (how: string, throws?: number) => Result,
    onLate: () => void = () => {},
  ): Promise<Result> =>
    new Promise((resolve, reject) => {
      const note = (how: string): void => world.note(`  ${owner.name}'s ${what} ${how}`);
      const answer = (result: Result): void =>
        void world.later(owner, `${owner.name} hears of its ${what}`, () => resolve(result));
      const refuse = (): void =>
        void world.later(owner, `${owner.name} hears nothing of its ${what}`, () =>
          reject(new Error("the connection was lost")),
        );
      const done = (how: string, throws = 0): Result => {
        note(how);
        return commit(how, throws);
      };
      const arrive = (): void => {
        sent.delete(batch);
        const fault = faults.enabled ? world.choices.choose(24) : 0;
        if (fault === 20) {
          faults.commitsFailed += 1;
          answer(done("fails to commit, then", 1 + world.choices.choose(3)));
        } else if (fault === 21) {
          faults.refused += 1;
          note("is lost");
          refuse();
        } else if (fault === 22) {
          faults.answersLost += 1;
          done("is committed, its answer lost");
          refuse();
        } else if (fault === 23 && store.engine === "postgres") {
          faults.lateArrivals += 1;
          refuse();
          onLate();
          world.later(undefined, "", () => void done("comes late"), world.choices.choose(50));
        } else answer(done("is committed"));
      };
      const cancel = world.later(undefined, "", arrive);
      const batch: SentBatch = {
        arrive() {
          batch.lose();
          done("is committed, its sender dead");
        },
        lose() {
          cancel();
          sent.delete(batch);
        },
      };
      sent.add(batch);
    });
}

/** Batches of commands over such a network; and of each account whether allotments of it were out then. */
function unreliable(world: World, store: SimulatedStore, faults: Faults, place: Place) {
  const call = network(world, store, faults, place);
  const commit = (commands: readonly Command[], throws: number) => {
    const named = commands.flatMap((command) => ("account" in command ? [command.account] : []));
    const accounts = new Map(named.map((account) => [account, store.allotments.left(account).length > 0]));
    return { outcomes: store.commit(commands, throws), accounts };
  };
  return (commands: readonly Command[]) =>
    call(
      `batch (${commands.map(wordOf).join(", ")})`,
      (_, throws = 0) => commit(commands, throws),
      () => {
        for (const command of commands) {
          if (command.kind === "hold") faults.late.add(command.hold);
          if (command.kind === "change_key" || command.kind === "revoke_key")
            store.narrowedLate.add(command.key);
        }
      },
    );
}

const tablesAlone = (run: ReturnType<typeof unreliable>): Executor => ({
  execute: async (commands) => (await run(commands)).outcomes,
  close: async () => {},
});

function wordOf(command: Command): string {
  switch (command.kind) {
    case "hold":
      return `hold ${shortOf(command.hold)} of ${command.amount}`;
    case "settle":
      return `settle ${shortOf(command.hold)} at ${command.used}`;
    case "void":
      return `void ${shortOf(command.hold)} (${command.outcome})`;
    case "grant":
      return `grant ${command.amount} to ${command.account}`;
    case "heartbeat":
    case "leave":
      return `${command.kind} ${command.boot}`;
    default:
      return "task" in command
        ? `${command.kind} ${command.task}${"epoch" in command ? ` at ${command.epoch}` : ""}`
        : command.kind;
  }
}

function shortOf(hold: string): string {
  const [series = "", count = ""] = hold.split(".");
  return `${Number.parseInt(series.slice(-2), 16)}.${Number.parseInt(count, 16)}`;
}

/** What a request does, decided before it begins. */
export interface Plan {
  readonly account: string;
  readonly key: string;
  readonly amount: MicroCredits;
  readonly expectedCost: MicroCredits;
  readonly elastic: ElasticOutput | undefined;
  /** How long each part of the answer lets wait. */
  readonly chunks: readonly number[];
  readonly used: MicroCredits;
  readonly end: "settle" | "void";
}

/** A request as its client saw it. */
export interface Request {
  readonly id: string;
  readonly plan: Plan;
  readonly gateway: SimulatedGateway;
  /** What it was told of its hold. */
  hold?: Hold;
  refused?: string;
  /** Whether the gateway began to end it. */
  ending: boolean;
  /** The credit that it was told. */
  credit?: MicroCredits;
}

const MODEL = { id: "simulated/model" } as Model;
const PRICES = { version: "prices", prices: {}, pricedAtMs: 0 };

/** A request from its hold to its end, as the gateway leads it. */
export async function serve(world: World, request: Request): Promise<void> {
  const { gateway, plan, id } = request;
  const wanted: HoldRequest = {
    accountId: plan.account,
    keyId: plan.key,
    requestId: id,
    model: MODEL,
    snapshot: PRICES,
    amount: plan.amount,
    ...(plan.elastic === undefined ? {} : { elastic: plan.elastic }),
    expectedCost: plan.expectedCost,
  };
  const hold = await gateway.ledger.hold(wanted);
  if (typeof hold === "string") {
    request.refused = hold;
    return;
  }
  request.hold = hold;
  for (const delayMs of plan.chunks) await world.turn(gateway, `${id} gets a part of its answer`, delayMs);
  request.ending = true;
  const nowMs = world.nowMs();
  const timeline = {
    provider: "any",
    admittedAtMs: nowMs,
    heldAtMs: nowMs,
    firstByteAtMs: null,
    endedAtMs: nowMs,
    attempts: [],
  };
  if (plan.end === "void") {
    await gateway.ledger.void(hold, { outcome: "upstream_error", timeline });
    request.credit = 0n;
  } else {
    request.credit = await gateway.ledger.settle(hold, {
      // Streams have been delivered when they settle, plain answers have not.
      delivered: plan.used % 2n === 0n,
      outcome: "completed",
      timeline,
      used: plan.used,
      usage: NO_USAGE,
      flags: [],
    });
  }
  world.note(`${id} is told ${request.credit}`);
}
