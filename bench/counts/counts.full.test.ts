import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describeWithStrace } from "../../test/crash/strace.ts";
import { tearDown } from "../teardown.ts";
import { countRequests, countsTable } from "./counts.ts";
import { LIMITS } from "./limits.ts";

let folder = "";
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), "switchyard-counts-"))));
afterEach(async () => {
  await tearDown();
  rmSync(folder, { recursive: true, force: true });
});

describeWithStrace("a plain request does not do more than it did:", () => {
  for (const limit of LIMITS)
    test(`${limit.scene}, ${limit.atOnce} at once`, async () => {
      const counts = await countRequests(limit, folder);
      const risen = counts.filter(({ each, most }) => each > most);
      expect(risen.length === 0 ? "" : countsTable(risen)).toBe("");
    }, 120_000);
});
