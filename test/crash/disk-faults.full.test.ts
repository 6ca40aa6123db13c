import { expect, test } from "bun:test";
import { SQLITE } from "../gateway/engines.ts";
import { LONG, SEED } from "../runs.ts";
import { seededRandom } from "../upstream/cuts.ts";
import { ADMIN_TOKEN, kill, openStation, type Station } from "./station.ts";
import { describeWithStrace, inject } from "./strace.ts";
import { admin, chat, goodChat, runWorkload, type Workload } from "./workload.ts";

// A disk that fails under a SQLite store. PostgreSQL has a disk of its own and ends by itself when that fails.

function workloadOf(station: Station, url: string, seed: number): Workload {
  const { tenants, told } = station;
  return { url, adminToken: ADMIN_TOKEN, tenants, told, random: seededRandom(seed) };
}

describeWithStrace("a disk", () => {
  test("whose sync fails ends the process, and nothing was acknowledged that is lost (K37)", async () => {
    const station = await openStation(SQLITE);
    for (let run = 1; run <= (LONG ? 30 : 3); run += 1) {
      const gateway = station.start();
      expect(await station.verify(gateway)).toEqual([]);
      const url = await gateway.ready();
      const workload = workloadOf(station, url, SEED * 1000 + run);
      // From one sync in the middle of the work on, or only that one: what a sync has failed to keep no later one keeps.
      const when = run % 2 === 0 ? `when=${run}` : `when=${run}+`;
      const injection = await inject(gateway.child.pid ?? 0, `fsync,fdatasync:error=EIO:${when}`);
      const before = station.told.length;
      const ended = gateway.exited();
      let code: number | undefined;
      void ended.then((exitCode) => (code = exitCode));
      for (let i = 0; i < 30 && code === undefined; i += 1) await runWorkload(workload);
      if (code === undefined && !gateway.output().includes("failed to keep")) await kill(gateway);
      expect(await ended).toBe(1);
      await injection.end();
      expect(gateway.output()).toContain("the disk has failed to keep what was written");
      const chats = station.told.slice(before).filter((told) => told.kind === "chat");
      const refused = chats.filter((told) => (told.status ?? 200) >= 500 && told.credit === undefined);
      expect(
        refused.map((told) => told.status).filter((status) => ![500, 502, 503].includes(status ?? 0)),
      ).toEqual([]);
      expect(refused.some((told) => told.status === 503)).toBe(true);
    }
    const next = station.start();
    expect(await station.verify(next)).toEqual([]);
    await kill(next);
    await station.remove();
  }, 1_200_000);

  test("that is full refuses paid work before anybody is called, serves reads, and is used again when it has room (K38)", async () => {
    const station = await openStation(SQLITE);
    const gateway = station.start();
    const url = await gateway.ready();
    const workload = workloadOf(station, url, SEED);
    const [tenant] = station.tenants;
    if (tenant === undefined) throw new Error("There is no account.");
    for (let run = 1; run <= (LONG ? 20 : 2); run += 1) {
      await runWorkload(workload);
      const asked = (): number => station.double.requests.length;
      const injection = await inject(gateway.child.pid ?? 0, `pwrite64:error=ENOSPC:when=1+`);
      const before = asked();
      for (const stream of [false, true]) await chat(workload, tenant, goodChat(stream));
      const refused = station.told.slice(-2).map((told) => (told.kind === "chat" ? told.status : undefined));
      expect(refused).toEqual([503, 503]);
      expect(asked()).toBe(before);
      expect((await admin(workload, "GET", "/accounts"))?.status).toBe(200);
      const models = await fetch(`${url}/api/v1/models`, {
        headers: { authorization: `Bearer ${tenant.key}` },
      });
      expect(models.status).toBe(200);
      expect((await fetch(`${url}/readyz`)).status).toBe(503);
      await injection.end();
      for (const stream of [false, true]) await chat(workload, tenant, goodChat(stream));
      expect(station.told.slice(-2).map((told) => told.kind === "chat" && told.whole)).toEqual([true, true]);
      expect(gateway.child.exitCode).toBe(null);
      expect(await station.verify(gateway)).toEqual([]);
    }
    await kill(gateway);
    await station.remove();
  }, 1_200_000);

  const JOURNAL = ["journal-a", "journal-b"];

  for (const { name, files, what, ends } of [
    { name: "a full disk at the journal", files: JOURNAL, what: "pwrite64:error=ENOSPC", ends: false },
    { name: "half a record", files: JOURNAL, what: "pwrite64:retval=9", ends: false },
    { name: "an error at the journal", files: JOURNAL, what: "pwrite64:error=EIO", ends: true },
    { name: "a full disk at the notes", files: ["intents"], what: "pwrite64:error=ENOSPC", ends: false },
    { name: "half a note", files: ["intents"], what: "pwrite64:retval=9", ends: false },
    { name: "an error at the notes", files: ["intents"], what: "pwrite64:error=EIO", ends: false },
  ])
    test(`with ${name} charges nobody what was not told, and ${ends ? "ends the process" : "is used again"}`, async () => {
      const station = await openStation(SQLITE);
      const { place, tenants, double, told } = station;
      if (!("file" in place.place)) throw new Error("There is no file.");
      const { file } = place.place;
      const [tenant] = tenants;
      if (tenant === undefined) throw new Error("There is no account.");
      for (let run = 1; run <= (LONG ? 10 : 2); run += 1) {
        const gateway = station.start();
        const url = await gateway.ready();
        const workload = workloadOf(station, url, SEED * 1000 + run);
        await runWorkload(workload);
        const paths = files.map((suffix) => `${file}.${suffix}`);
        const injection = await inject(gateway.child.pid ?? 0, `${what}:when=1+`, paths);
        const asked = double.requests.length;
        for (const stream of [false, true]) await chat(workload, tenant, goodChat(stream));
        const pair = told.slice(-2).filter((entry) => entry.kind === "chat");
        expect(pair.some(({ whole }) => whole)).toBe(false);
        // Without a note nobody is called; without a record the provider was, and the client is told nothing.
        if (files !== JOURNAL) {
          expect(pair.map(({ status }) => status)).toEqual([503, 503]);
          expect(double.requests.length).toBe(asked);
        }
        await injection.end();
        if (ends) {
          expect(await gateway.exited()).toBe(1);
          expect(gateway.output()).toContain("the disk has failed to keep what was written");
          continue;
        }
        for (const stream of [false, true]) await chat(workload, tenant, goodChat(stream));
        expect(told.slice(-2).map((entry) => entry.kind === "chat" && entry.whole)).toEqual([true, true]);
        expect(gateway.child.exitCode).toBe(null);
        if (run % 2 === 0) expect(await station.verify(gateway)).toEqual([]);
        await kill(gateway);
      }
      const next = station.start();
      expect(await station.verify(next)).toEqual([]);
      await kill(next);
      await station.remove();
    }, 1_200_000);
});
