import { expect, test } from "bun:test";
import { goalCell, requestPathTable } from "./request-path.ts";
import { toRound } from "./rounds.ts";
import { scenesNamed } from "./scenes.ts";

const side = (cpuSeconds: number, p99Ms: number) => [
  toRound(cpuSeconds, 100, { requests: 100, errors: 0, seconds: 1, p50Ms: 1, p99Ms, events: 0 }),
];
const rounds = { bare: side(1, 2), tap: side(2, 2), ours: side(3, 5) };

test("a goal is judged against its reference, and the added p99 against one sync of the disk", () => {
  expect(goalCell({}, rounds, 1)).toBe("–");
  expect(goalCell({ tap: 1.5, bare: 2.9 }, rounds, 1)).toBe("✓ ≤ 1.5 × tap, ✗ ≤ 2.9 × bare");
  expect(goalCell({ addedMs: 1.5 }, rounds, 1)).toBe("✗ p99 + 3.00 ≤ 2.50 ms");
  expect(goalCell({ addedMs: 1.5 }, rounds, 1.5)).toBe("✓ p99 + 3.00 ≤ 3.00 ms");
});

test("the table has a column for each of the others that was measured", () => {
  const [scene] = scenesNamed(["chat stream"]);
  const [load] = scene!.loads;
  const table = requestPathTable([{ scene: scene!, load: load!, rounds, syncMs: 0.2 }], undefined);
  expect(table).toContain("| bare | tap | ours | × bare | × tap | goal |");
  expect(table).toContain("| 10000.0 (10000.0–10000.0) | 20000.0 (20000.0–20000.0) |");
  expect(table).not.toContain("nginx");
});
