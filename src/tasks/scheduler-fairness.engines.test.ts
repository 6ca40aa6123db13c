import { expect, test } from "bun:test";
import { describeOnEngineOfSuite } from "../../test/gateway/engines.ts";
import { ACCOUNTS, completed, openStation } from "../../test/tasks/station.ts";
import type { TaskJob } from "./run/job.ts";

const LIMIT = 20;
const HOG = 300;
const OTHERS = 50;

describeOnEngineOfSuite("tasks of several accounts at several processes", (on) => {
  test("are run by turns, and never more of them than their provider may", async () => {
    const station = await openStation(on);
    let [atOnce, most] = [0, 0];
    const ran: string[] = [];
    const doJob: TaskJob = async ({ accountId }) => {
      atOnce += 1;
      most = Math.max(most, atOnce);
      // Real time, and different for each: several end while others begin.
      await new Promise((resolve) => setTimeout(resolve, 60 + (ran.length % 7) * 10));
      atOnce -= 1;
      ran.push(accountId);
      return completed(1n);
    };
    const processes = Array.from({ length: on.name === "sqlite" ? 1 : 6 }, () =>
      station.process({
        doJob,
        providerOf: () => ({ provider: "p", limit: LIMIT }),
        settings: { runningPerProcess: on.name === "sqlite" ? 64 : 8 },
      }),
    );
    const [first] = processes;
    const submit = (accountId: string, count: number): Promise<unknown> =>
      Promise.all(Array.from({ length: count }, () => first!.submit({ accountId, timeoutSec: 1_000_000 })));
    const [hog, ...others] = ACCOUNTS;
    await submit(hog, HOG);
    for (const account of others) await submit(account, OTHERS);
    await Promise.all(processes.map(({ scheduler }) => scheduler.start()));
    const total = HOG + others.length * OTHERS;
    await station.passing(() => ran.length === total, 500_000_000);
    expect(most).toBeLessThanOrEqual(LIMIT);
    expect(most).toBeGreaterThan(LIMIT / 2);
    // At the moment when the last of the small accounts was done, and at any before in which all had something to do.
    for (const account of others) {
      const done = ran.lastIndexOf(account) + 1;
      const ofHog = ran.slice(0, done).filter((name) => name === hog).length;
      expect(ofHog).toBeLessThanOrEqual(2 * OTHERS);
      expect(ofHog).toBeGreaterThanOrEqual(OTHERS / 2);
    }
    await station.passing(async () => (await station.counts()).completed === total, 60_000);
    for (const account of others) expect((await station.account(account)).held).toBe(0n);
    await station.audit();
    await station.close();
  });
});
