import { describe, expect, test } from "bun:test";
import { createFakeClock } from "../../test/gateway/fake-clock.ts";
import { systemRandom } from "../core/random.ts";
import { NO_LIMITS } from "../core/rate-limits.ts";
import { createKeys, type StoredKey } from "./keys.ts";

/** A store of keys whose answers can be held back. */
function createStore() {
  const rows = new Map<string, StoredKey>();
  const asked: string[] = [];
  const clock = createFakeClock();
  let gate: Promise<void> | undefined;
  let open = (): void => {};
  let failure: Error | undefined;
  const keys = createKeys({
    async find(name) {
      const by = "hash" in name ? name.hash : name.id;
      asked.push(by);
      const row = "hash" in name ? rows.get(by) : [...rows.values()].find(({ keyId }) => keyId === by);
      if (gate !== undefined) await gate;
      if (failure !== undefined) throw failure;
      return row;
    },
    pepper: "p".repeat(64),
    clock,
    random: systemRandom,
  });
  const issue = (more: Partial<StoredKey> = {}): { text: string; hash: string } => {
    const { text, hash, keyId } = keys.issue();
    rows.set(hash, {
      keyId,
      accountId: "a",
      models: null,
      expiresAtMs: null,
      revoked: false,
      accountActive: true,
      ...more,
    });
    return { text, hash };
  };
  return {
    keys,
    rows,
    asked,
    clock,
    issue,
    hold: () => {
      gate = new Promise((resolve) => (open = resolve));
    },
    release: () => {
      open();
      gate = undefined;
    },
    fail: (error: Error | undefined) => void (failure = error),
  };
}

describe("a key", () => {
  test("that is live gives its caller", async () => {
    const { keys, issue, rows } = createStore();
    const { text, hash } = issue({ models: ["m"] });
    expect(await keys.authenticate(text)).toEqual({
      keyId: rows.get(hash)?.keyId as string,
      accountId: "a",
      models: new Set(["m"]),
    });
  });

  test("gives the same caller by its id, and is as soon known to be dead", async () => {
    const { keys, issue, rows, asked, clock } = createStore();
    const { text, hash } = issue();
    const keyId = rows.get(hash)?.keyId as string;
    const caller = await keys.authenticate(text);
    for (let i = 0; i < 2; i += 1) expect(await keys.byId(keyId)).toEqual(caller);
    expect(asked).toEqual([hash, keyId]);
    rows.set(hash, { ...rows.get(hash), revoked: true } as StoredKey);
    await clock.advance(4_000);
    expect(await keys.byId(keyId)).toBe("revoked");
    expect(await keys.byId("key_nothing")).toBe("unknown");
  });

  test("that has limits gives a caller with them", async () => {
    const { keys, issue } = createStore();
    const limits = { requestsPerMinute: 5, tokensPerMinute: null, concurrency: null };
    expect(await keys.authenticate(issue({ limits }).text)).toMatchObject({ limits });
    const unlimited = await keys.authenticate(issue().text);
    expect(unlimited).toMatchObject({ accountId: "a" });
    expect(unlimited).not.toHaveProperty("limits");
  });

  test("that may ask for a route gives a caller that may", async () => {
    const { keys, issue } = createStore();
    expect(await keys.authenticate(issue({ routes: true }).text)).toMatchObject({ routes: true });
    expect(await keys.authenticate(issue().text)).not.toHaveProperty("routes");
  });

  test("whose limits change is known with the new ones within 4 s, and at once where it is told", async () => {
    const { keys, issue, rows, clock } = createStore();
    const { text, hash } = issue({ limits: { ...NO_LIMITS, concurrency: 1 } });
    const change = (concurrency: number) => {
      const row = rows.get(hash);
      if (row !== undefined) rows.set(hash, { ...row, limits: { ...NO_LIMITS, concurrency } });
    };
    const known = async () => {
      const caller = await keys.authenticate(text);
      return typeof caller === "string" ? caller : caller.limits?.concurrency;
    };
    expect(await known()).toBe(1);
    change(2);
    await clock.advance(4_000);
    expect(await known()).toBe(2);
    change(3);
    keys.forget();
    expect(await known()).toBe(3);
  });

  const dead = [
    { name: "unknown", fault: "unknown", row: undefined },
    { name: "revoked", fault: "revoked", row: { revoked: true } },
    { name: "expired", fault: "expired", row: { expiresAtMs: 1 } },
    { name: "of a disabled account", fault: "account_inactive", row: { accountActive: false } },
    { name: "revoked, expired", fault: "revoked", row: { revoked: true, expiresAtMs: 1 } },
  ] as const;
  for (const { name, fault, row } of dead) {
    test(`that is ${name} gives nobody and is told why, for one question to the store each time`, async () => {
      const { keys, rows, issue, asked } = createStore();
      const { text, hash } = issue(row);
      if (row === undefined) rows.delete(hash);
      for (const times of [1, 2]) {
        expect(await keys.authenticate(text)).toBe(fault);
        expect(asked).toEqual(Array.from({ length: times }, () => hash));
      }
    });
  }

  test("of bad form is not even asked for", async () => {
    const { keys, asked, issue } = createStore();
    for (const text of ["", "x", `${issue().text.slice(0, -1)}!`])
      expect(await keys.authenticate(text)).toBe("malformed");
    expect(asked).toEqual([]);
  });

  test("has an id of its own, which says what it is", () => {
    const { keys } = createStore();
    const ids = [keys.issue(), keys.issue()].map(({ keyId }) => keyId);
    for (const id of ids) expect(id).toMatch(/^key_[0-9a-zA-Z-]+$/);
    expect(new Set(ids).size).toBe(2);
  });

  test("is stored by a hash that does not contain it and depends on the pepper", () => {
    const parts = {
      find: async () => undefined,
      clock: createFakeClock(),
      random: { bytes: (n: number) => new Uint8Array(n) },
    };
    const [one, two] = ["a", "b"].map((pepper) =>
      createKeys({ ...parts, pepper: pepper.repeat(64) }).issue(),
    );
    expect(one?.text).toBe(two?.text as string);
    expect(one?.hash).not.toBe(two?.hash as string);
    expect(one?.hash).not.toContain(one?.text.slice(3, 10) as string);
  });
});

describe("what was looked up", () => {
  test("is trusted for four seconds and then asked for again", async () => {
    const { keys, issue, asked, clock, rows } = createStore();
    const { text, hash } = issue();
    await keys.authenticate(text);
    rows.delete(hash);
    await clock.advance(3_999);
    expect(await keys.authenticate(text)).toMatchObject({ accountId: "a" });
    expect(asked).toHaveLength(1);
    await clock.advance(1);
    expect(await keys.authenticate(text)).toBe("unknown");
    expect(asked).toHaveLength(2);
  });

  test("is trusted for no longer and no less when the machine's time is set", async () => {
    for (const ms of [-3_600_000, 3_600_000]) {
      const { keys, issue, clock, rows } = createStore();
      const { text, hash } = issue();
      await keys.authenticate(text);
      rows.delete(hash);
      clock.jump(ms);
      await clock.advance(3_999);
      expect(await keys.authenticate(text)).toMatchObject({ accountId: "a" });
      await clock.advance(1);
      expect(await keys.authenticate(text)).toBe("unknown");
    }
  });

  test("is not trusted beyond the key's own end", async () => {
    const { keys, issue, clock } = createStore();
    const { text } = issue({ expiresAtMs: clock.nowMs() + 1_000 });
    expect(await keys.authenticate(text)).toMatchObject({ accountId: "a" });
    await clock.advance(999);
    expect(await keys.authenticate(text)).toMatchObject({ accountId: "a" });
    await clock.advance(1);
    expect(await keys.authenticate(text)).toBe("expired");
  });

  test("is forgotten when told to", async () => {
    const { keys, issue, rows } = createStore();
    const { text, hash } = issue();
    await keys.authenticate(text);
    rows.delete(hash);
    keys.forget();
    expect(await keys.authenticate(text)).toBe("unknown");
  });

  test("while a question was under way is forgotten too", async () => {
    const { keys, issue, rows, hold, release } = createStore();
    const { text, hash } = issue();
    hold();
    const early = keys.authenticate(text);
    rows.delete(hash);
    keys.forget();
    release();
    await early;
    expect(await keys.authenticate(text)).toBe("unknown");
  });

  test("a question after that has an answer from after it, though an earlier one is under way", async () => {
    const { keys, issue, rows, hold, release } = createStore();
    const { text, hash } = issue();
    hold();
    const early = keys.authenticate(text);
    rows.delete(hash);
    keys.forget();
    const late = keys.authenticate(text);
    release();
    expect(await early).toMatchObject({ accountId: "a" });
    expect(await late).toBe("unknown");
  });

  test("stays bounded, and what made room is asked for again", async () => {
    const { keys, issue, asked } = createStore();
    const texts = Array.from({ length: 10_001 }, () => issue().text);
    for (const text of texts) await keys.authenticate(text);
    for (const text of texts.slice(1)) await keys.authenticate(text);
    expect(asked).toHaveLength(10_001);
    await keys.authenticate(texts[0] as string);
    expect(asked).toHaveLength(10_002);
  });
});

test("the key that was asked for longest ago makes room for a new one", async () => {
  const { keys, issue, asked, clock } = createStore();
  const [one, other] = [issue().text, issue().text];
  await keys.authenticate(one);
  await keys.authenticate(other);
  await clock.advance(4_000);
  await keys.authenticate(one);
  for (let i = 0; i < 9_999; i += 1) await keys.authenticate(issue().text);
  const before = asked.length;
  await keys.authenticate(one);
  expect(asked.length).toBe(before);
});

describe("the store", () => {
  test("is asked once for many that wait", async () => {
    const { keys, issue, asked, hold, release } = createStore();
    const { text } = issue();
    hold();
    const waiting = Array.from({ length: 50 }, () => keys.authenticate(text));
    release();
    const callers = await Promise.all(waiting);
    expect(asked).toHaveLength(1);
    expect(new Set(callers).size).toBe(1);
  });

  test("that fails rejects for every waiter, never says unknown, and is asked again", async () => {
    const { keys, issue, fail } = createStore();
    const { text } = issue();
    fail(new Error("disk"));
    const outcomes = await Promise.allSettled([keys.authenticate(text), keys.authenticate(text)]);
    expect(outcomes.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    fail(undefined);
    expect(await keys.authenticate(text)).toMatchObject({ accountId: "a" });
  });
});
