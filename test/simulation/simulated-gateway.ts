import type { MicroCredits } from "../../src/core/money/credits.ts";
import { noFailpoint } from "../../src/core/failpoint.ts";
import type { Hold } from "../../src/core/money/hold.ts";
import type { Log } from "../../src/core/log/log.ts";
import type { Model } from "../../src/core/model.ts";
import { NO_USAGE } from "../../src/core/money/usage.ts";
import type { Command, ElasticOutput, Outcome } from "../../src/ledger/commands.ts";
import { createLedger, type HoldRequest, type Ledger } from "../../src/ledger/ledger.ts";
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
  const executor = unreliable(world, store, faults, owner, sent);
  const writer = createWriter(executor, silent, clock);
  const bootId = `boot_${number}`;
  const random = { bytes: (count: number) => new Uint8Array(count).fill(number) };
  const gateway: SimulatedGateway = Object.assign(owner, {
    bootId,
    writer,
    ledger: createLedger({
      writer,
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

/** Hands batches to the store over something that fails in every way in which a connection can. */
function unreliable(
  world: World,
  store: SimulatedStore,
  faults: Faults,
  owner: Owner,
  sent: Set<SentBatch>,
): Executor {
  const commit = (commands: readonly Command[], how: string, throws = 0): readonly Outcome[] => {
    world.note(`  ${owner.name}'s batch ${how}: ${commands.map(wordOf).join(", ")}`);
    return store.commit(commands, throws);
  };
  const execute = (commands: readonly Command[]): Promise<readonly Outcome[]> =>
    new Promise((resolve, reject) => {
      const answer = (outcomes: readonly Outcome[]): void =>
        void world.later(owner, `${owner.name} hears of its batch`, () => resolve(outcomes));
      const refuse = (): void =>
        void world.later(owner, `${owner.name} hears nothing of its batch`, () =>
          reject(new Error("the connection was lost")),
        );
      const arrive = (): void => {
        sent.delete(batch);
        const fault = faults.enabled ? world.choices.choose(24) : 0;
        if (fault === 20) {
          faults.commitsFailed += 1;
          answer(commit(commands, "fails to commit, then", 1 + world.choices.choose(3)));
        } else if (fault === 21) {
          faults.refused += 1;
          world.note(`  ${owner.name}'s batch is lost: ${commands.map(wordOf).join(", ")}`);
          refuse();
        } else if (fault === 22) {
          faults.answersLost += 1;
          commit(commands, "is committed, its answer lost");
          refuse();
        } else if (fault === 23 && store.engine === "postgres") {
          faults.lateArrivals += 1;
          refuse();
          for (const command of commands) if (command.kind === "hold") faults.late.add(command.hold);
          world.later(undefined, "", () => void commit(commands, "comes late"), world.choices.choose(50));
        } else answer(commit(commands, "is committed"));
      };
      const cancel = world.later(undefined, "", arrive);
      const batch: SentBatch = {
        arrive() {
          batch.lose();
          commit(commands, "is committed, its sender dead");
        },
        lose() {
          cancel();
          sent.delete(batch);
        },
      };
      sent.add(batch);
    });
  return { execute, close: async () => {} };
}

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
