import { expect, test } from "bun:test";
import { selfTimes } from "./cpu-profile.ts";

const node = (id: number, functionName: string, url: string, hitCount: number) => ({
  id,
  hitCount,
  callFrame: { functionName, url, lineNumber: 9 },
});

test("a function's samples are added up over its places in the tree, the most first", () => {
  const nodes = [
    node(1, "(root)", "", 0),
    node(2, "push", "file:///repo/src/a.ts", 1),
    node(3, "stringify", "", 5),
    node(4, "push", "file:///repo/src/a.ts", 2),
    node(5, "", "file:///repo/src/a.ts", 2),
  ];
  expect(selfTimes({ nodes }, "/repo")).toEqual([
    { name: "stringify (native)", samples: 5, share: 0.5 },
    { name: "push src/a.ts:10", samples: 3, share: 0.3 },
    { name: "(anonymous) src/a.ts:10", samples: 2, share: 0.2 },
  ]);
});

test("a profile without samples has no functions", () => {
  expect(selfTimes({ nodes: [node(1, "(root)", "", 0)] }, "/repo")).toEqual([]);
});
