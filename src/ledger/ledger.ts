import type { MicroCredits } from "../core/money/credits.ts";
import type { Clock } from "../core/time/clock.ts";
import type { Failpoint } from "../core/failpoint.ts";
import type { Hold } from "../core/money/hold.ts";
import { newId } from "../core/ids.ts";
import type { Model } from "../core/model.ts";
import type { PriceSnapshot } from "../core/money/price.ts";
import type { Random } from "../core/random.ts";
import type { TokenUsage, UsageFlag } from "../core/money/usage.ts";
import type {
  ElasticOutput,
  HoldCredit,
  HoldRefusal,
  RequestTimeline,
  ServedModel,
  Settle,
  Void,
} from "./commands.ts";
import { createEnds } from "./ends.ts";
import type { OpenHolds } from "./open-holds.ts";
import { createRulesText, usageText } from "./written-text.ts";
import type { Writer } from "./writer.ts";

/** A request's demand for a hold. */
export interface HoldRequest {
  readonly accountId: string;
  readonly keyId: string;
  readonly requestId: string;
  readonly model: Model;
  readonly snapshot: PriceSnapshot;
  readonly amount: MicroCredits;
  readonly elastic?: ElasticOutput;
  /** The operator's expected loss when this process dies before the request has ended. */
  readonly expectedCost: MicroCredits;
}

/** How a request ended, in one word, and its times. */
export interface RequestEnd {
  readonly outcome: string;
  readonly timeline: RequestTimeline;
  /** The model that served in place of the one that the hold was made for; the charge goes by its prices. */
  readonly served?: Served | undefined;
  /** What the operator owes providers for the request; absent where that is not known. */
  readonly cost?: MicroCredits | undefined;
}

/** A model, and the prices that it serves by. */
export type Served = Pick<HoldRequest, "model" | "snapshot">;

/** Usage of a request, and how it ended. */
export interface Settlement extends RequestEnd {
  /** Whether the client has the answer already. One that has not is charged now or never. */
  readonly delivered: boolean;
  readonly used: MicroCredits;
  readonly usage: TokenUsage;
  readonly flags: readonly UsageFlag[];
}

/** The only code that moves credit between a balance, a hold and the ledger. */
export interface Ledger {
  /** Sets credit aside, or returns the reason why not. */
  hold(request: HoldRequest): Promise<Hold | HoldRefusal>;
  /**
   * Charges the usage and frees the rest; returns the charge. A second call has no effect. A hold that was voided in
   * the meantime is charged nothing. Rejects when the store does not take it now.
   */
  settle(hold: Hold, settlement: Settlement): Promise<MicroCredits>;
  /** Frees the hold without a charge. */
  void(hold: Hold, end: RequestEnd): Promise<void>;
}

/** What the ledger is made of. */
export interface LedgerParts {
  readonly writer: Writer;
  /** Where holds are kept in this process's memory. */
  readonly openHolds?: Pick<OpenHolds, "hold"> | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly failpoint: Failpoint;
  /** Names this run of the process: its holds are released when it dies. */
  readonly bootId: string;
  /** A hold that is still open after this time was lost: it is longer than any request may take. */
  readonly holdLifetimeMs: () => number;
}

/** The ledger over the one writer. */
export function createLedger(parts: LedgerParts): Ledger {
  const { writer, openHolds, clock, random, failpoint } = parts;
  const nextHoldId = holdSeries(random);
  const commands = createCommands(parts);
  const { setAside, end, charge } = createEnds(writer, clock);
  return {
    async hold(request) {
      const command = commands.hold(request, nextHoldId());
      const { hold: id, account, key } = command;
      failpoint("hold.before_submit");
      const answer = await (openHolds === undefined ? setAside(command) : openHolds.hold(command, setAside));
      failpoint("hold.after_commit");
      if (!answer.ok) return answer.reason;
      return {
        id,
        accountId: account,
        keyId: key,
        amount: answer.amount,
        snapshot: request.snapshot,
        ...(answer.outputTokens === undefined ? {} : { outputTokens: answer.outputTokens }),
      } as Hold;
    },

    async settle(hold, settlement) {
      failpoint("settle.before_submit");
      const command = commands.settle(hold, settlement);
      const answer = await (settlement.delivered ? end(command) : charge(command));
      failpoint("settle.after_commit");
      if (!answer.ok) throw new Error(`The hold ${hold.id} could not be settled: ${answer.reason}.`);
      return answer.charged;
    },

    async void(hold, how) {
      const answer = await end(commands.void(hold, how));
      if (!answer.ok) throw new Error(`The hold ${hold.id} could not be voided: ${answer.reason}.`);
    },
  };
}

/** Makes the commands of requests, with the time. */
function createCommands({
  clock,
  bootId,
  holdLifetimeMs,
}: Pick<LedgerParts, "clock" | "bootId" | "holdLifetimeMs">) {
  const rulesText = createRulesText();
  const servedModel = ({ model, snapshot }: Served): ServedModel => ({
    model: model.id,
    priceVersion: snapshot.version,
    priceRules: rulesText(snapshot),
  });
  return {
    hold(request: HoldRequest, hold: string): HoldCredit {
      const nowMs = clock.nowMs();
      return {
        kind: "hold",
        hold,
        account: request.accountId,
        key: request.keyId,
        requestId: request.requestId,
        boot: bootId,
        amount: request.amount,
        ...(request.elastic === undefined ? {} : { elastic: request.elastic }),
        expectedCost: request.expectedCost,
        priceVersion: request.snapshot.version,
        model: request.model.id,
        priceRules: rulesText(request.snapshot),
        nowMs,
        // By the clock that is ahead: setting the machine's time never shortens it below a request's time.
        expiresAtMs: Math.max(nowMs, clock.steadyMs()) + holdLifetimeMs(),
      };
    },

    settle(hold: Hold, { used, usage, flags, outcome, timeline, served, cost }: Settlement): Settle {
      return {
        kind: "settle",
        hold: hold.id,
        account: hold.accountId,
        key: hold.keyId,
        used,
        usage: usageText(usage),
        flags,
        outcome,
        timeline,
        served: served && servedModel(served),
        cost,
        nowMs: clock.nowMs(),
      };
    },

    void(hold: Hold, { outcome, timeline, served, cost }: RequestEnd): Void {
      return {
        kind: "void",
        hold: hold.id,
        account: hold.accountId,
        key: hold.keyId,
        outcome,
        timeline,
        served: served && servedModel(served),
        cost,
        nowMs: clock.nowMs(),
      };
    },
  };
}

/**
 * Ids of one run's holds: 128 random bits and a number that counts up. Rows that are made together then lie together in
 * the store, which halves what a hold and its settlement cost. Random ids would touch a page each.
 */
function holdSeries(random: Random): () => string {
  const series = newId("hold", random);
  let count = 0;
  return () => {
    count += 1;
    return `${series}.${count.toString(16).padStart(10, "0")}`;
  };
}
