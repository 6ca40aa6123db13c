import { expect, test } from "bun:test";
import { describeAtStations } from "../../test/tasks/on-stations.ts";
import { completed, CREDIT, messageOf } from "../../test/tasks/station.ts";

// What the store does not take, and will not take: a check of its tables speaks against it, or an invariant of the books.

describeAtStations("what the store refuses", ({ on, station, started, runOf, isEnded }) => {
  test("as the end of a task does not keep the task: it fails, and is nobody's charge", async () => {
    const process = await started();
    const task = await process.submit();
    const { run, end } = await runOf(process, task);
    await run.beginAttempt();
    // No charge is below nothing.
    end(completed(-5n));
    await station().passing(() => isEnded(task), 10_000);
    expect(await station().row(task.id)).toMatchObject({ state: "failed", error_type: "generation_error" });
    expect(await station().account()).toEqual({ balance: CREDIT, held: 0n });
    expect(process.logs.join("\n")).toContain("the store did not take what became of a task");
    expect(process.logs.join("\n")).toContain("the end of a task was refused");
  });

  if (on.name === "postgres")
    test("as the name of a job is told to whoever noted it, and the run goes on to its end", async () => {
      const process = await started();
      const task = await process.submit();
      const { run, break: fail } = await runOf(process, task);
      await run.beginAttempt();
      // The server keeps no text with a zero in it.
      const noted = messageOf(run.noteJob("job\u0000")).then((message) => fail(new Error(message)));
      await station().passing(() => isEnded(task), 10_000);
      await noted;
      expect(await station().row(task.id)).toMatchObject({ state: "failed", job: null });
    });

  test("of one overdue task keeps no other from being ended", async () => {
    const process = station().process();
    const broken = await process.submit({ timeoutSec: 60 });
    const { hold_id: hold } = await station().row(broken.id);
    const task = await process.submit({ timeoutSec: 60 });
    await station().execute(
      `update holds set state = 'voided', ended_at_ms = 1 where id = '${String(hold)}'`,
    );
    await station().pass(60_000);
    await process.scheduler.start();
    await station().passing(() => isEnded(task), 4_000);
    expect(await isEnded(broken)).toBe(false);
    expect(process.logs.join("\n")).toContain("an overdue task could not be ended");
    await station().execute(
      `update holds set state = 'held', ended_at_ms = null where id = '${String(hold)}'`,
    );
    await station().passing(() => isEnded(broken), 4_000);
  });
});
