import { expect, test } from "bun:test";
import * as fc from "fast-check";
import { auditBooks, commandsFor, RUNS } from "../../../test/ledger/books.ts";
import { sharedCluster } from "../../../test/postgres/cluster.ts";
import { describeOnPostgres } from "../../../test/postgres/on-postgres.ts";
import { noFailpoint } from "../../core/failpoint.ts";
import type { Log } from "../../core/log/log.ts";
import { systemClock } from "../../core/time/clock.ts";
import { migrate } from "../../db/migrate.ts";
import { openUnhurried } from "../../db/postgres.ts";
import { checkSnapshot } from "../audit/audit.ts";
import { createWriter, type Writer } from "../writer.ts";
import { openSharedTables } from "./allotment-tables.ts";
import { openSharedKeeper, type SharedKeeper } from "./keeper.ts";
import { withRecalls } from "./recalls.ts";

const quiet: Log = { info: () => {}, warn: () => {}, error: () => {} };

/** What one request does: holds so many thousandths of the credit, and uses so many hundredths of its hold. */
interface Step {
  readonly process: number;
  readonly share: number;
  readonly used: number;
  readonly end: "settle" | "void" | "grant";
}

const PROCESSES = 3;

const stepsOf: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.record({
    process: fc.nat(PROCESSES - 1),
    // Mostly small, so that processes hold from memory; some need what the others have.
    share: fc.oneof({ weight: 6, arbitrary: fc.nat(8) }, { weight: 1, arbitrary: fc.nat(900) }),
    used: fc.nat(130),
    end: fc.constantFrom("settle", "settle", "settle", "void", "grant"),
  }),
  { minLength: 20, maxLength: 90 },
);

describeOnPostgres("processes that race for one account", () => {
  for (const credit of [40n, 1_000_000n])
    test(`never hold and charge more than its ${credit}, and charge what they said`, async () => {
      const place = await (await sharedCluster()).database();
      const admin = openUnhurried(place.url);
      await migrate(admin, "postgres");
      const keepers: SharedKeeper[] = [];
      const writers: Writer[] = [];
      for (let i = 0; i < PROCESSES; i += 1) {
        const keeper = openSharedKeeper({
          openTables: (events) => openSharedTables(place.url, noFailpoint, events),
          clock: systemClock,
        });
        keepers.push(keeper);
        writers.push(withRecalls(createWriter(keeper, quiet, systemClock), keeper));
        const steadyMs = systemClock.steadyMs();
        await writers[i]?.submit({ kind: "heartbeat", boot: `p${i}`, leaseMs: 600_000, steadyMs });
      }
      let round = 0;
      let inMemory = 0;

      const race = async (steps: readonly Step[]): Promise<void> => {
        round += 1;
        const { createAccount, issueKey, grant, hold, settle, voided } = commandsFor(
          (name) => `${round}-${name}`,
        );
        const [first] = writers as [Writer];
        for (const command of [createAccount("a"), issueKey("k"), grant("g", credit)])
          await first.submit(command);
        let granted = credit;
        let open = 0n;
        let charged = 0n;
        // Each figure is noted so that there is never more in the books than here.
        const check = (): void => expect(open + charged <= granted).toBe(true);

        const request = async ({ process, share, used, end }: Step, i: number): Promise<void> => {
          const [writer, keeper] = [writers[process] as Writer, keepers[process] as SharedKeeper];
          const amount = (credit * BigInt(share)) / 1_000n;
          if (end === "grant") {
            const given = BigInt(share) % 2n === 0n ? amount : -amount;
            if (given > 0n) granted += given;
            const answer = await writer.submit(grant(`g${i}`, given));
            if (answer.ok && given < 0n) granted += given;
            return;
          }
          const nowMs = Date.now();
          const wanted = hold(`h${i}`, amount, {
            boot: `p${process}`,
            nowMs,
            expiresAtMs: nowMs + 3_600_000,
          });
          let isDirect = false;
          const answer = await keeper.hold(wanted, (command) => {
            isDirect = true;
            return writer.submit(command);
          });
          if (!answer.ok) {
            expect(answer.reason).toBe("insufficient_credits");
            return;
          }
          if (!isDirect) inMemory += 1;
          open += amount;
          check();
          await Bun.sleep(i % 3);
          open -= amount;
          const cost = (amount * BigInt(used)) / 100n;
          if (end === "void") expect(await writer.submit(voided(`h${i}`))).toEqual({ ok: true });
          else {
            const settled = await writer.submit(settle(`h${i}`, cost));
            if (!settled.ok) throw new Error(settled.reason);
            expect(settled.charged <= cost && (used > 100 || settled.charged === cost)).toBe(true);
            charged += settled.charged;
          }
          check();
        };

        await Promise.all(
          Array.from({ length: 9 }, async (_, caller) => {
            for (let i = caller; i < steps.length; i += 9) await request(steps[i] as Step, i);
          }),
        );
        const row = await admin
          .selectFrom("accounts")
          .select(["balance", "held"])
          .where("id", "=", `${round}-a`)
          .executeTakeFirstOrThrow();
        expect(row).toEqual({ balance: granted - charged, held: 0n });
      };

      await fc.assert(fc.asyncProperty(stepsOf, race), { ...RUNS, numRuns: Math.ceil(RUNS.numRuns / 2) });
      await auditBooks(admin);
      for (const keeper of keepers) expect(await keeper.compare()).toEqual([]);
      // Else the test has not met what it is about.
      if (credit > 1_000n) expect(inMemory).toBeGreaterThan(0);
      await Promise.all(writers.map((writer) => writer.close()));
      expect(await admin.selectFrom("allotments").selectAll().execute()).toEqual([]);
      const { checks } = await checkSnapshot(admin, "postgres", { full: true, nowMs: 0 });
      expect(checks.filter(({ ok }) => !ok)).toEqual([]);
      await admin.destroy();
      await place.drop();
    }, 120_000);
});
