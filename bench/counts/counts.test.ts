import { expect, test } from "bun:test";
import { withLoopCounters } from "./loop-counters.ts";
import { countSyncs } from "./syncs.ts";

test("syncs are calls that sync, and writes to files that were opened for synced writes", () => {
  const before = `7 openat(AT_FDCWD</tmp>, "/tmp/journal", O_RDWR|O_CREAT|O_DSYNC, 0600) = 9</tmp/journal>
7 fdatasync(8</tmp/store.db-wal>) = 0
`;
  const counted = `7 fdatasync(8</tmp/store.db-wal> <unfinished ...>
8 write(3</tmp/log>, "fsync(3)", 8) = 8
7 <... fdatasync resumed>) = 0
7 pwrite64(9</tmp/journal>, "x", 1, 0) = 1
7 fsync(8</tmp>) = 0
7 msync(0x7f, 4096, MS_ASYNC) = 0
`;
  expect(countSyncs(before + counted, before.length)).toBe(3);
  expect(countSyncs(before + counted, 0)).toBe(4);
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
