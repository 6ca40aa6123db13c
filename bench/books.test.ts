import { expect, test } from "bun:test";
import { type BooksRow, booksTable } from "./books.ts";

const row = (theirs: string | undefined, cpuSeconds: number, serverCpuSeconds: number): BooksRow => ({
  store: "PostgreSQL",
  theirs,
  accounts: 1,
  callers: 8,
  rounds: [
    { pairs: 100, seconds: 1, p50Ms: 1, p99Ms: 2, cpuSeconds, commits: 50, serverCpuSeconds, syncMs: [0.1] },
  ],
});

test("books are held against those of another commit, gateway and server together", () => {
  const table = booksTable([row("abc1234", 0.1, 0.3), row(undefined, 0.02, 0.04)]).split("\n");
  expect(table[0]).toEndWith("| together × abc1234 | goal |");
  expect(table[2]).toStartWith("| PostgreSQL, abc1234 | 1 | 8 | 1.00 / 2.00 | 100 | 1000 (1000–1000) |");
  expect(table[3]).toEndWith("| 0.500 | 100 | 0.15 (0.15–0.15) | ✓ ≤ 0.2 |");
});

test("books alone have no such columns", () => {
  expect(booksTable([row(undefined, 1, 1)])).not.toContain("together");
});
