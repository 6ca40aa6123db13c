import { describe, expect, test } from "bun:test";
import { createFakeClock } from "../../../test/gateway/fake-clock.ts";
import { commandsFor } from "../../../test/ledger/books.ts";
import type { HoldCredit } from "../commands.ts";
import type { Intent } from "../intents.ts";
import type { Taken, Wanted } from "./allotment-statements.ts";
import type { HoldNotes } from "./hold-notes.ts";
import { type Kept, nothingKept } from "./keeping.ts";
import { amountOf, heldOf } from "./reserves.ts";
import { createTaker, holdNow, type InTurn } from "./taking.ts";

const { hold } = commandsFor((name) => name);

const LEASE_MS = 60_000;
const START_MS = 1_000_000;

const inTurn: InTurn = (work) => Promise.resolve().then(work);

/** What one process has in memory, over a double of the tables that notes what it is asked. */
function open({ notes, hasNotes = true }: { notes?: HoldNotes["note"]; hasNotes?: boolean } = {}) {
  const clock = createFakeClock(START_MS);
  const asked: (Wanted | "own")[] = [];
  const noted: Intent[] = [];
  const answers: (Taken | Error | undefined | Promise<Taken>)[] = [];
  const kept = nothingKept({
    tables: {
      async take(wanted: Wanted) {
        asked.push(wanted);
        const answer = answers.shift();
        if (answer instanceof Error) throw answer;
        return answer;
      },
      async own() {
        asked.push("own");
        return { allotments: [], holds: new Set<string>() };
      },
    } as Partial<Kept["tables"]> as Kept["tables"],
    clock,
    notes: hasNotes
      ? ({ note: notes ?? ((intent: Intent) => noted.push(intent)) } as Partial<HoldNotes> as HoldNotes)
      : undefined,
    onUnbooked: () => undefined,
  });
  kept.lease = { boot: "b1", leaseMs: LEASE_MS, sinceMs: START_MS, untilMs: START_MS + LEASE_MS };
  const taker = createTaker(kept);
  const take = (command: HoldCredit) => taker.take(command, inTurn);
  /** An allotment of `k`. */
  const given = async (amount: bigint, expiresAtMs: number | null = null): Promise<void> => {
    answers.push({ amount, expiresAtMs });
    await take(hold("given", 1n));
    asked.length = 0;
  };
  return { clock, kept, taker, take, asked, answers, noted, given };
}

describe("a hold is made in memory", () => {
  test("of the key's allotment, with a note of it", async () => {
    const { clock, kept, noted, given } = open();
    await given(100n);
    await clock.advance(7);
    expect(holdNow(kept, hold("h", 60n))).toEqual({ ok: true, amount: 60n });
    const reserve = kept.byKey.get("k")!;
    expect([amountOf(reserve), heldOf(reserve), reserve.usedAtMs]).toEqual([100n, 60n, START_MS + 7]);
    expect([noted.map((intent) => intent.hold.id), kept.byHold.get("h") === reserve]).toEqual([["h"], true]);
    expect(holdNow(kept, hold("h2", 40n, { priceRules: "later" }))).toEqual({ ok: true, amount: 40n });
    expect([...kept.prices.values()].map(({ version, rules }) => [version, rules])).toEqual([["v", "{}"]]);
    expect(holdNow(kept, hold("h3", 1n))).toBeUndefined();
    expect([heldOf(reserve), kept.byHold.size]).toEqual([100n, 2]);
  });

  test("without a note where there is no folder for them", async () => {
    const { kept, given } = open({ hasNotes: false });
    await given(100n);
    expect(holdNow(kept, hold("h", 100n))).toEqual({ ok: true, amount: 100n });
    expect(holdNow(kept, hold("h2", 1n))).toBeUndefined();
  });

  test("while the lease of its process lasts, and not at its end", async () => {
    const { clock, kept, given } = open();
    await given(100n);
    expect(holdNow(kept, hold("h", 1n, { boot: "another" }))).toBeUndefined();
    await clock.advance(LEASE_MS - 1);
    expect(holdNow(kept, hold("h", 1n))).toEqual({ ok: true, amount: 1n });
    await clock.advance(1);
    expect(holdNow(kept, hold("late", 1n))).toBeUndefined();
    kept.lease = undefined;
    expect(holdNow(kept, hold("without", 1n))).toBeUndefined();
  });

  test("of no allotment that is on its way back, of none of another account, and of none where there is none", async () => {
    const { kept, given } = open();
    expect(holdNow(kept, hold("h", 1n))).toBeUndefined();
    await given(100n);
    expect(holdNow(kept, hold("h", 1n, { account: "another" }))).toBeUndefined();
    expect(holdNow(kept, hold("h", 1n, { key: "another" }))).toBeUndefined();
    kept.byKey.get("k")!.isClosing = true;
    expect(holdNow(kept, hold("h", 1n))).toBeUndefined();
  });

  test("not where its note cannot be written, and then nothing is held", async () => {
    const { kept, given } = open({
      notes: () => {
        throw new Error("no room");
      },
    });
    await given(100n);
    expect(holdNow(kept, hold("h", 1n))).toBeUndefined();
    expect([heldOf(kept.byKey.get("k")!), kept.byHold.size, kept.prices.size]).toEqual([0n, 0, 0]);
  });

  test("with a bound on its output only where the whole of it finds room", async () => {
    const { kept, given } = open();
    await given(100n);
    const upTo = (maxTokens: number) => ({ elastic: { tokenPrice: 2n, maxTokens, floorTokens: 1 } });
    expect(holdNow(kept, hold("long", 10n, upTo(46)))).toBeUndefined();
    expect(holdNow(kept, hold("h", 10n, upTo(20)))).toEqual({ ok: true, amount: 50n, outputTokens: 20 });
  });
});

describe("an allotment may be asked for", () => {
  test("with the second hold of a key within ten seconds", async () => {
    const { clock, taker } = open();
    expect(taker.mayTake(hold("h", 1n))).toBe(false);
    expect(taker.mayTake(hold("h", 1n, { key: "other" }))).toBe(false);
    await clock.advance(9_999);
    expect(taker.mayTake(hold("h", 1n))).toBe(true);
    await clock.advance(10_000);
    expect(taker.mayTake(hold("h", 1n))).toBe(false);
  });

  test("while the lease of its process lasts", async () => {
    const { clock, kept, taker } = open();
    taker.mayTake(hold("h", 1n));
    expect(taker.mayTake(hold("h", 1n, { boot: "another" }))).toBe(false);
    await clock.advance(LEASE_MS - 1);
    taker.mayTake(hold("h", 1n));
    expect(taker.mayTake(hold("h", 1n))).toBe(true);
    await clock.advance(1);
    expect(taker.mayTake(hold("h", 1n))).toBe(false);
    kept.lease = undefined;
    expect(taker.mayTake(hold("h", 1n))).toBe(false);
  });

  test("again five seconds after none was given, or one that did not suffice", async () => {
    for (const answer of [undefined, { amount: 9n, expiresAtMs: null }, new Error("away")]) {
      const { clock, taker, take, answers } = open();
      taker.mayTake(hold("h", 10n));
      answers.push(answer);
      await take(hold("h", 10n));
      await clock.advance(4_999);
      expect(taker.mayTake(hold("h", 10n))).toBe(false);
      await clock.advance(1);
      expect(taker.mayTake(hold("h", 10n))).toBe(true);
    }
  });

  test("at once where one is being taken, and where one was given that suffices", async () => {
    const { taker, take, answers } = open();
    answers.push({ amount: 10n, expiresAtMs: null });
    const taking = take(hold("h", 10n));
    expect(taker.mayTake(hold("h", 10n))).toBe(true);
    await taking;
    expect(taker.mayTake(hold("h", 10n))).toBe(false);
    expect(taker.mayTake(hold("h", 10n))).toBe(true);
  });

  test("for the last 20,000 keys", async () => {
    for (const [keys, isKnown] of [
      [19_999, true],
      [20_000, false],
    ] as const) {
      const { taker } = open();
      for (let i = 0; i < keys; i += 1) taker.mayTake(hold("h", 1n, { key: `k${i}` }));
      expect(taker.mayTake(hold("h", 1n, { key: "k0" }))).toBe(true);
      expect(taker.mayTake(hold("h", 1n, { key: "k1" }))).toBe(isKnown);
    }
  });

  test("by 20,000 keys that were given none not at once, and by one more", async () => {
    const { taker, take } = open();
    const rests = (key: string): boolean => {
      taker.mayTake(hold("h", 1n, { key }));
      return !taker.mayTake(hold("h", 1n, { key }));
    };
    const refuse = (i: number): Promise<void> => take(hold("h", 1n, { key: `k${i}` }));
    await Promise.all(Array.from({ length: 20_000 }, (_, i) => refuse(i)));
    expect(rests("k0")).toBe(true);
    await refuse(20_000);
    expect([rests("k0"), rests("k20000")]).toEqual([false, true]);
  });
});

describe("an allotment is taken", () => {
  test("with room for eight of the hold, and more of it where there is one", async () => {
    const { kept, take, asked, answers } = open();
    answers.push({ amount: 100n, expiresAtMs: 5_000 }, { amount: 50n, expiresAtMs: 5_000 });
    await take(hold("h", 10n));
    const wanted = { id: "b1.1", isNew: true, boot: "b1", account: "a", key: "k", atLeast: 81n };
    expect(asked).toEqual([wanted]);
    const reserve = kept.byKey.get("k")!;
    expect([...kept.reserves]).toEqual([["b1.1", reserve]]);
    expect([amountOf(reserve), reserve.usedAtMs, reserve.state.keys.get("k")?.expiresAtMs]).toEqual([
      100n,
      START_MS,
      5_000,
    ]);
    await take(hold("h", 4n, { elastic: { tokenPrice: 3n, maxTokens: 5, floorTokens: 1 } }));
    expect(asked[1]).toEqual({ ...wanted, isNew: false, atLeast: 8n * 19n + 1n });
    expect([amountOf(reserve), heldOf(reserve), kept.reserves.size, kept.isInDoubt]).toEqual([
      150n,
      0n,
      1,
      false,
    ]);
  });

  test("once for all who ask while it is on its way", async () => {
    const { take, asked, answers } = open();
    answers.push({ amount: 100n, expiresAtMs: null });
    await Promise.all([take(hold("h", 1n)), take(hold("h2", 1n))]);
    expect(asked).toHaveLength(1);
    await take(hold("h3", 1n));
    expect(asked).toHaveLength(2);
  });

  test("from no tables where the lease has ended by its turn, or the one before is on its way back", async () => {
    const { kept, take, asked, given } = open();
    await given(100n);
    kept.byKey.get("k")!.isClosing = true;
    await take(hold("h", 1n));
    kept.byKey.clear();
    await take(hold("h", 1n, { boot: "another" }));
    kept.lease = undefined;
    await take(hold("h", 1n));
    expect(asked).toEqual([]);
  });

  test("is in doubt until the answer is there, and the tables are asked first where none came", async () => {
    const { kept, take, asked, answers } = open();
    const late = Promise.withResolvers<Taken>();
    answers.push(late.promise, undefined, new Error("away"), { amount: 100n, expiresAtMs: null });
    const taking = take(hold("h", 1n));
    await Bun.sleep(0);
    expect(kept.isInDoubt).toBe(true);
    late.resolve({ amount: 5n, expiresAtMs: null });
    await taking;
    expect(kept.isInDoubt).toBe(false);
    await take(hold("h", 1n));
    expect([kept.isInDoubt, amountOf(kept.byKey.get("k")!)]).toEqual([false, 5n]);
    kept.reserves.clear();
    kept.byKey.clear();
    await take(hold("h", 1n));
    expect([kept.isInDoubt, kept.byKey.size]).toEqual([true, 0]);
    asked.length = 0;
    await take(hold("h", 1n));
    expect([asked[0], kept.isInDoubt, kept.byKey.size]).toEqual(["own", false, 1]);
  });
});
