import { expect, test } from "bun:test";
import { closeSync, constants, mkdtempSync, openSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { withLoopCounters } from "./loop-counters.ts";
import { countSyncs, syncedFiles } from "./syncs.ts";

test("syncs are calls that sync, and writes to files that are open for synced writes", () => {
  const trace = `7 openat(AT_FDCWD</tmp>, "/tmp/journal", O_RDWR|O_CREAT|O_DSYNC, 0600) = 9</tmp/journal>
7 fdatasync(8</tmp/store.db-wal> <unfinished ...>
8 write(3</tmp/log>, "fsync(3)", 8) = 8
7 <... fdatasync resumed>) = 0
7 pwrite64(9</tmp/journal>, "x", 1, 0) = 1
7 pwrite64(10</tmp/earlier>, "x", 1, 0) = 1
7 fsync(8</tmp>) = 0
7 msync(0x7f, 4096, MS_ASYNC) = 0
`;
  expect(countSyncs(trace, new Set())).toBe(3);
  expect(countSyncs(trace, new Set(["/tmp/earlier"]))).toBe(4);
});

test("a file that this process has open for synced writes is found", () => {
  const folder = mkdtempSync(join(tmpdir(), "switchyard-synced-"));
  const [synced, other] = [join(folder, "synced"), join(folder, "other")];
  const open = [
    openSync(synced, constants.O_CREAT | constants.O_RDWR | constants.O_DSYNC),
    openSync(other, "w"),
  ];
  const found = syncedFiles(process.pid);
  for (const descriptor of open) closeSync(descriptor);
  rmSync(folder, { recursive: true });
  expect([found.has(synced), found.has(other)]).toEqual([true, false]);
});

test("each turn of each loop is counted, and the loops do what they did", () => {
  const text = `let sum = 0;
    for (const x of [1, 2]) for (let i = 0; i < x; i++) sum += i;
    let left = 3; while (left > 0) { left--; if (left === 1) continue; sum += 10; }
    do sum++; while (sum < 5); return sum;`;
  let turns = 0;
  // oxlint-disable-next-line no-implied-eval, typescript/no-implied-eval -- the text stands above
  const run = new Function("__turn", withLoopCounters("a.ts", text)) as (turn: () => void) => number;
  expect(run(() => void turns++)).toBe(22);
  expect(turns).toBe(2 + 3 + 3 + 1);
});
