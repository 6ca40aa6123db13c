import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, test } from "bun:test";
import { ENDPOINTS, SHOWN, type Shown } from "./fault-matrix-table.ts";

const ROOT = join(import.meta.dirname, "../..");
const IDS = Array.from({ length: 62 }, (_, i) => `U${i + 1}`);

const pathOf = ({ file }: Shown): string => (file.includes("/") ? file : `test/e2e/${file}`);

/** The matrix makes the names of its tests from its rows. */
const isOwn = ({ file }: Shown): boolean => file === "fault-matrix.full.test.ts";

afterAll(() => {
  const lines = IDS.flatMap((id) => SHOWN.filter((row) => row.id === id)).map((row) => {
    const columns = ENDPOINTS.map((name) => (row.of.includes(name) ? name : "").padEnd(11));
    return [row.id.padEnd(4), ...columns, `${pathOf(row)}: ${row.test}`].join("");
  });
  console.log(`\n${lines.join("\n")}\n`);
});

test("each row of the catalogue of faults is shown by a test that there is", () => {
  expect(IDS.filter((id) => !SHOWN.some((row) => row.id === id))).toEqual([]);
  expect(SHOWN.filter(({ id }) => !IDS.includes(id))).toEqual([]);
  const lost = SHOWN.filter((row) => {
    const path = join(ROOT, pathOf(row));
    if (!existsSync(path)) return true;
    return !isOwn(row) && !readFileSync(path, "utf8").includes(row.test);
  });
  expect(lost).toEqual([]);
});
