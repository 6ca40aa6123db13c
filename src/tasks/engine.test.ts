import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { describeOnEngines } from "../../test/gateway/engines.ts";
import {
  completed,
  CREDIT,
  openStation,
  type Station,
  type TestProcess,
  until,
} from "../../test/tasks/station.ts";
import { TaskStop } from "./runner.ts";

describeOnEngines("the engine", (on) => {
  let station: Station;
  beforeEach(async () => {
    station = await openStation(on);
  });
  afterEach(async () => {
    await station.audit();
    await station.close();
  });

  const started = async (options: Parameters<Station["process"]>[0] = {}): Promise<TestProcess> => {
    const process = station.process(options);
    await process.engine.start();
    return process;
  };

  describe("a task that is submitted", () => {
    test("is run at once, and ends with its result and its charge", async () => {
      const process = await started();
      const task = await process.submit({ payload: { prompt: "a dog" }, warnings: ["w"] });
      expect(task).toMatchObject({ state: "pending", accountId: "a", warnings: ["w"], result: null });
      await until(() => process.runs.has(task.id));
      const { run, end } = process.runs.get(task.id)!;
      expect(run).toMatchObject({
        payload: { prompt: "a dog" },
        provider: "p",
        job: null,
        attempts: 0,
        model: "m/picture",
      });
      expect(run.hold.amount).toBe(10n);
      expect((await process.tasks.find("image", task.id, "a"))?.state).toBe("running");
      end(completed());
      const ended = await process.tasks.ended(task, new AbortController().signal);
      expect(ended).toMatchObject({ state: "completed", charge: 5n, provider: "p", failure: null });
      expect(ended.result?.files.map(({ name }) => name)).toEqual(["f.png"]);
      expect(await station.account()).toEqual({ balance: CREDIT - 5n, held: 0n });
    });

    test("fails without a charge where its runner says so", async () => {
      const process = await started();
      const task = await process.submit();
      await until(() => process.runs.has(task.id));
      process.runs.get(task.id)!.end({
        kind: "failed",
        failure: { type: "content_moderation", message: "no" },
        unfinished: false,
      });
      const ended = await process.tasks.ended(task, new AbortController().signal);
      expect(ended).toMatchObject({
        state: "failed",
        failure: { type: "content_moderation", message: "no" },
        charge: null,
      });
      expect(await station.account()).toEqual({ balance: CREDIT, held: 0n });
    });
  });
  void TaskStop;
});
