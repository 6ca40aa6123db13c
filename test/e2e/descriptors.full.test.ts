import { expect, test } from "bun:test";
import { descriptorLimit } from "../../src/runtime/descriptors.ts";
import { openCrowd } from "./crowd.ts";

test.skipIf(descriptorLimit() === undefined)(
  "400 clients that send nothing under ulimit -n 256 are ended by the runtime within 12 seconds, and others are served again",
  async () => {
    const crowd = await openCrowd(256);
    await crowd.connect(400, "");
    await crowd.logged("descriptors have run short");
    expect((await crowd.served()).status).toBe(200);
    expect(crowd.isAlive()).toBe(true);
    await crowd.close();
  },
  60_000,
);
