import { expect, test } from "bun:test";
import { describeOnEngines } from "../gateway/engines.ts";
import { LONG, SEED } from "../runs.ts";
import { seededRandom } from "../upstream/cuts.ts";
import { ADMIN_TOKEN, kill, openStation, urlUnlessKilled } from "./station.ts";
import { admin, runWorkload, type Workload } from "./workload.ts";

// Kills at no moment in particular, under all kinds of work at once. The work is chats and streams, some of which break
// or are left, grants, and keys. Meanwhile an operator reads and audits. Every client's answer is held against the
// books.

const KILLS = { sqlite: LONG ? 81 : 6, postgres: LONG ? 81 : 2 } as const;

/** Work before a kill at most. */
const MOST_MS = 3_000;

/** Every so many times the process is killed while it starts, at most so long after that. */
const START = { every: 5, mostMs: 800 };

describeOnEngines("a gateway under mixed load", (engine) => {
  const kills = KILLS[engine.name];
  test(`killed ${kills} times, charges what each client was told, and nobody else`, async () => {
    const station = await openStation(engine);
    const { tenants, told } = station;
    const random = seededRandom(SEED * 7_919);
    let inStart = 0;
    const isAnyWhole = (): boolean => told.some((entry) => entry.kind === "chat" && entry.whole);
    // On a busy machine a few kills may leave no time for a whole answer.
    for (let run = 0; run < kills || (!isAnyWhole() && run < 5 * kills); run += 1) {
      const gateway = station.start();
      const killAfter = (mostMs: number) =>
        setTimeout(() => gateway.child.kill("SIGKILL"), random() * mostMs);
      if (run % START.every === START.every - 1) killAfter(START.mostMs);
      const url = await urlUnlessKilled(gateway);
      if (url === undefined) {
        inStart += 1;
        continue;
      }
      killAfter(MOST_MS);
      const isUp = (): boolean => gateway.child.exitCode === null && gateway.child.signalCode === null;
      const workload: Workload = { url, adminToken: ADMIN_TOKEN, tenants, random, told };
      await Promise.all([
        ...Array.from({ length: 3 }, () => works(workload, isUp)),
        operates(workload, isUp),
      ]);
      await kill(gateway);
    }
    const next = station.start();
    expect(await station.verify(next)).toEqual([]);
    const chats = told.filter((entry) => entry.kind === "chat");
    console.log(
      `mixed load on ${engine.name}: ${kills} kills, ${inStart} of them in a start, ${told.length} answers, ` +
        `${chats.length} of chats, ${chats.filter(({ whole }) => whole).length} of them whole`,
    );
    expect(isAnyWhole()).toBe(true);
    await station.remove();
  }, 900_000);
});

async function works(workload: Workload, isUp: () => boolean): Promise<void> {
  while (isUp()) await runWorkload(workload);
}

/** Reads and audits, which wait for the tables; an audit that finds something is a fault. */
async function operates(workload: Workload, isUp: () => boolean): Promise<void> {
  while (isUp()) {
    await admin(workload, "GET", "/accounts");
    const audit = await admin(workload, "GET", "/audit");
    if (audit?.status === 200) expect(audit.json).toMatchObject({ ok: true });
  }
}
