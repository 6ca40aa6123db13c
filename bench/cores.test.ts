import { expect, test } from "bun:test";
import { parseCpuList } from "./cores.ts";

const cases = [
  { list: "0\n", want: [0] },
  { list: "0-1", want: [0, 1] },
  { list: "0-2,5,7-8", want: [0, 1, 2, 5, 7, 8] },
];
for (const { list, want } of cases) {
  test(`cores ${list.trim()}`, () => expect(parseCpuList(list)).toEqual(want));
}
