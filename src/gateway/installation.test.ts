import { expect, test } from "bun:test";
import { createFakeClock } from "../../test/gateway/fake-clock.ts";
import { describeOnEngines } from "../../test/gateway/engines.ts";
import { systemClock } from "../core/time/clock.ts";
import { newId } from "../core/ids.ts";
import type { Log } from "../core/log/log.ts";
import { systemRandom } from "../core/random.ts";
import { createKeys } from "../keys/keys.ts";
import { openStore } from "../ledger/store.ts";
import { createSweeper } from "../ledger/sweeper.ts";
import { createWriter } from "../ledger/writer.ts";
import { noFailpoint } from "../core/failpoint.ts";
import { createInstallation, type Installation } from "./installation.ts";

const quiet: Log = { info: () => {}, warn: () => {}, error: () => {} };
const LEASE_MS = 600_000;

describeOnEngines("what is made and shown once", (engine) => {
  /** Opens installations on one new store, each of a process of its own. */
  async function onStore(
    body: (
      open: () => Promise<{ installation: Installation; leave(): Promise<void> }>,
      clock: ReturnType<typeof createFakeClock>,
    ) => Promise<void>,
  ): Promise<void> {
    const place = await engine.newPlace();
    const { database, executor } = await openStore({
      place: place.place,
      failpoint: noFailpoint,
      writerFailpoint: undefined,
      kill: () => {},
    });
    const writer = createWriter(executor, quiet, systemClock);
    const clock = createFakeClock(Date.now());
    const random = systemRandom;
    const tokenHash = (token: string): string => `hash of ${token}`;
    try {
      await body(async () => {
        const bootId = newId("boot", random);
        const parts = { database, engine: engine.name, writer, clock, log: quiet, bootId, leaseMs: LEASE_MS };
        const { start, isAlone, close } = createSweeper(parts);
        await start();
        const keys = createKeys({ find: async () => undefined, pepper: "p", clock, random });
        const earlierTokenHash = undefined;
        const own = { database, writer, keys, tokenHash, isAlone, earlierTokenHash, clock, random };
        return { installation: createInstallation(own), leave: close };
      }, clock);
    } finally {
      await writer.close();
      await database.destroy();
      await place.remove();
    }
  }

  test("is not made again once it was shown", async () => {
    await onStore(async (open) => {
      const { installation } = await open();
      const made = await installation.adminToken();
      expect(made.text).toMatch(/^adm-[0-9a-f]{48}$/);
      expect(made.hash).toBe(`hash of ${made.text}`);
      expect((await installation.firstAccount())?.key).toMatch(/^sk-/);
      await installation.shown();
      expect(await installation.adminToken()).toEqual({ text: undefined, hash: made.hash });
      expect(await installation.firstAccount()).toBeUndefined();
    });
  });

  test("is made again by the next start when nobody has seen it, for one account", async () => {
    await onStore(async (open) => {
      const first = await open();
      const lost = await first.installation.adminToken();
      const lostAccount = await first.installation.firstAccount();
      await first.leave();
      const { installation } = await open();
      const made = await installation.adminToken();
      expect(made.text).not.toBe(lost.text);
      expect(made.hash).toBe(`hash of ${made.text}`);
      const account = await installation.firstAccount();
      expect(account?.accountId).toBe(lostAccount?.accountId ?? "");
      expect(account?.key).not.toBe(lostAccount?.key ?? "");
    });
  });

  if (engine.name === "postgres") {
    test("is left to the process that made it and is about to show it", async () => {
      await onStore(async (open, clock) => {
        const first = await open();
        const second = await open();
        const made = await first.installation.adminToken();
        let waited: unknown;
        const waiting = second.installation.adminToken().then((token) => (waited = token));
        for (let i = 0; i < 20; i += 1) await clock.advance(50);
        expect(waited).toBeUndefined();
        await first.installation.shown();
        for (let i = 0; i < 2_000 && waited === undefined; i += 1) await clock.advance(50);
        await waiting;
        expect(waited).toEqual({ text: undefined, hash: made.hash });
      });
    });
  }
});
