import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { RUNS } from "../../../test/ledger/books.ts";
import { type Busy, createFairOrder, type Line } from "./fair-order.ts";

const line = (accountId: string, provider = "p", limit = 100): Line => ({
  accountId,
  kind: "image",
  model: provider,
  provider,
  limit,
});

/** Takes the first `count` tasks of lines that never end, and tells whose they were. */
function taken(
  lines: readonly (readonly [Line, bigint])[],
  { busy = [], count }: { readonly busy?: readonly Busy[]; readonly count: number },
): string {
  const order = createFairOrder(busy);
  for (const [each, seq] of lines) order.at(each, seq);
  let names = "";
  for (let i = 0; i < count; i += 1) {
    const next = order.next();
    if (next === undefined) break;
    order.taken(next);
    names += next.accountId;
  }
  return names;
}

describe("who is next", () => {
  test("accounts with as many running tasks take turns, the one whose task came first before", () => {
    expect(
      taken(
        [
          [line("b"), 2n],
          [line("a"), 1n],
          [line("c"), 3n],
        ],
        { count: 6 },
      ),
    ).toBe("abcabc");
  });

  test("an account without any running task comes before one that has some, however old that one's are", () => {
    const busy = [{ accountId: "a", provider: "p", tasks: 3 }];
    expect(
      taken(
        [
          [line("a"), 1n],
          [line("b"), 9n],
        ],
        { busy, count: 5 },
      ),
    ).toBe("bbbab");
  });

  test("tasks that run at another provider count as well", () => {
    const busy = [{ accountId: "a", provider: "q", tasks: 2 }];
    expect(
      taken(
        [
          [line("a"), 1n],
          [line("b"), 2n],
        ],
        { busy, count: 4 },
      ),
    ).toBe("bbab");
  });

  test("a full provider gets none and stands in nobody's way", () => {
    const busy = [{ accountId: "x", provider: "p", tasks: 2 }];
    const lines = [
      [line("a", "p", 2), 1n],
      [line("a", "q", 1), 2n],
      [line("b", "q", 2), 3n],
    ] as const;
    expect(taken(lines, { busy, count: 5 })).toBe("ab");
  });

  test("a line that has ended is none", () => {
    const order = createFairOrder([]);
    const only = line("a");
    order.at(only, 1n);
    order.ended(only);
    expect(order.next()).toBeUndefined();
  });

  test("no account that waits has fewer than another had when it got its last", () => {
    const accounts = fc.array(fc.record({ busy: fc.nat(5), seq: fc.nat(100) }), {
      minLength: 2,
      maxLength: 8,
    });
    fc.assert(
      fc.property(accounts, fc.nat(40), (given, count) => {
        const has = given.map(({ busy }) => busy);
        const order = createFairOrder(
          given.map(({ busy }, i) => ({ accountId: String(i), provider: "p", tasks: busy })),
        );
        given.forEach(({ seq }, i) => order.at(line(String(i), "p", 1_000), BigInt(seq)));
        for (let i = 0; i < count; i += 1) {
          const next = order.next()!;
          expect(has[Number(next.accountId)]).toBe(Math.min(...has));
          has[Number(next.accountId)]! += 1;
          order.taken(next);
        }
      }),
      RUNS,
    );
  });
});
