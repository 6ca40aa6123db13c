import { afterAll, expect, test } from "bun:test";
import { descriptorLimit } from "../../src/runtime/descriptors.ts";
import { createLoadTable } from "../load/table.ts";
import { openCrowd } from "./crowd.ts";

const table = createLoadTable();
afterAll(() => table.print());

test.skipIf(descriptorLimit() === undefined)(
  "400 clients that send nothing under ulimit -n 256 are ended by the runtime within 12 seconds, and others are served again",
  async () => {
    const crowd = await openCrowd(256);
    await crowd.connect(400, "");
    await crowd.logged("descriptors have run short");
    const shortAt = performance.now();
    expect((await crowd.served()).status).toBe(200);
    expect(crowd.isAlive()).toBe(true);
    table.add(
      "L18 descriptors run short",
      "400 silent clients, ulimit -n 256",
      `others served again after ${((performance.now() - shortAt) / 1_000).toFixed(1)} s, by the same process`,
      "refused or 503, and recovery without a restart",
    );
    await crowd.close();
  },
  60_000,
);
