import { goodAnswer } from "./fault-matrix.ts";
import { type Case, casesOf, countsOf, type FaultStation } from "./fault-station.ts";

// What becomes of requests that a provider cannot be sent, or a server that is none.

/** Cases of one place: at the first provider, at both, and of clients that count. */
export interface Placed {
  readonly first: readonly Case[];
  readonly both: readonly Case[];
  readonly counts: readonly Case[];
}

export function placedAt(row: string, at: string | undefined): Placed {
  const there = (cases: readonly Case[], isBothAt = false) => cases.map((one) => ({ ...one, at, isBothAt }));
  return {
    first: there(casesOf(row)),
    both: there(casesOf(`${row}both`), true),
    counts: there(countsOf(row)),
  };
}

/** How a request ended. */
export interface Outcome {
  readonly name: string;
  readonly status: number;
  /** The type of its error, or what kind of answer it has. */
  readonly said: string;
  readonly message: string;
  readonly spent: number;
  /** Of the double, which is at no place but its own. */
  readonly calls: readonly string[];
  readonly state: readonly unknown[];
  readonly attempts: number;
  /** The operator is told that only they can mend it. */
  readonly hasAlarm: boolean;
}

/** How long a provider may take to be connected, and one that counts to answer. */
const CONNECT_MS = 5_000;
const COUNT_MS = 2_000;

/** Asks. Where a place lets wait, each provider there is waited for exactly as long as it may take. */
export async function outcomeOf(station: FaultStation, one: Case, letsWait: boolean): Promise<Outcome> {
  const { clock, gateway } = station;
  station.answers(one, () => goodAnswer(one.spoken, one.stream));
  await station.earn(2);
  const { balance } = await gateway.account();
  const logged = gateway.logs.length;
  let isThere = false;
  const asked = station.ask(one).finally(() => (isThere = true));
  const waitExactly = async (ms: number): Promise<void> => {
    await clock.advance(ms - 1);
    if (isThere) throw new Error(`${one.name} was answered before its time.`);
    await clock.advance(1);
  };
  const isCount = one.spoken === "counting";
  for (const provider of letsWait && !isCount ? (["a", "b"] as const) : []) {
    if (provider === "b" && one.isBothAt !== true) break;
    await station.called(one, provider);
    await waitExactly(CONNECT_MS);
  }
  // When a count has come to its provider nobody tells.
  while (letsWait && isCount && !isThere) {
    await new Promise((resolve) => setTimeout(resolve, 5));
    await clock.advance(COUNT_MS / 20);
  }
  const response = await asked;
  const text = await response.text();
  const spent = await station.spent(balance);
  const { json } = await gateway.admin("GET", "/requests?limit=1");
  const lines = gateway.logs.slice(logged);
  const error = response.status === 200 ? undefined : JSON.parse(text).error;
  const kind = response.headers.get("x-switchyard-estimate") === "true" ? "estimate" : "answer";
  return {
    name: one.name,
    status: response.status,
    said: error?.type ?? kind,
    message: error?.message ?? "",
    spent,
    calls: station.calls(),
    state: await station.stateOf(one),
    attempts: isCount ? 0 : json.data[0].attempts.length,
    hasAlarm: lines.some((line) => line.operator_fault === true),
  };
}
