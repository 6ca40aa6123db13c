import { describe, expect, test } from "bun:test";
import { describeOnEngines } from "../gateway/engines.ts";
import { openBooks, type TestBooks, useBooks } from "./books.ts";
import type { Command, Outcome } from "../../src/ledger/commands.ts";

const words = (outcomes: readonly Outcome[]): readonly unknown[] =>
  outcomes.map((outcome) => ("answer" in outcome ? outcome.answer.ok : "failure"));

describeOnEngines("a command that fails", (engine) => {
  const books = useBooks(engine);

  /** Commands that nobody expects to fail; each needs the hold `h` of 4 on a balance of 10. */
  const failing: readonly { readonly name: string; readonly command: () => Command }[] = [
    {
      name: "by a column that must be filled",
      command: () => ({ ...books.grant("bad", 1n), nowMs: null }) as unknown as Command,
    },
    {
      name: "by the hash of another key",
      command: () => books.issueKey("bad", { hash: books.id("hash-k") }),
    },
    {
      name: "by another account's hold",
      command: () => books.settle("h", 1n, { account: books.id("other") }),
    },
    {
      name: "by another key's hold",
      command: () => books.voided("h", { key: books.id("other") }),
    },
    // Where one process keeps the books, it alone makes these ids, and a hold does not look them up.
    ...(engine.name === "sqlite"
      ? []
      : [{ name: "by the id of a request that there is", command: () => books.settle("same", 1n) }]),
    {
      name: "by the id of another account's hold",
      command: () => books.hold("h", 4n, { account: books.id("other") }),
    },
  ];
  const prepare = () =>
    books.apply(
      books.createAccount("other"),
      books.grant("g", 10n),
      books.hold("h", 4n),
      books.hold("done", 1n),
      books.hold("same", 1n, { requestId: books.id("req-done") }),
      books.settle("done", 1n),
    );

  for (const { name, command } of failing) {
    test(`${name} does not fail its neighbours, and leaves nothing`, async () => {
      expect(words(await prepare())).toEqual([true, true, true, true, true, true]);
      const outcomes = await books.apply(
        books.grant("g2", 5n),
        command(),
        { kind: "remember", name: books.id("fact"), value: "v" },
        books.hold("h2", 3n),
      );
      expect(words(outcomes)).toEqual([true, "failure", true, true]);
      expect(await books.account()).toEqual({ balance: 14n, held: 8n });
      expect(await books.entries("bad")).toEqual([]);
      await books.audit();
    });

    test(`${name} alone is told, and the next is done`, async () => {
      await prepare();
      expect(words(await books.apply(command()))).toEqual(["failure"]);
      expect(await books.account()).toEqual({ balance: 9n, held: 5n });
      expect(await books.run(books.grant("g2", 5n))).toEqual({ ok: true, balance: 14n });
      await books.audit();
    });
  }

  test("among many fails alone: 256 commands, every one after the other is answered in its place", async () => {
    await prepare();
    const failsAt = (i: number): boolean => i % 42 === 7 && (i - 7) / 42 < failing.length;
    const commands = Array.from({ length: 256 }, (_, i) =>
      failsAt(i) ? (failing[(i - 7) / 42]?.command() as Command) : books.grant(`many-${i}`, 1n),
    );
    const outcomes = await books.apply(...commands);
    expect(words(outcomes)).toEqual(commands.map((_, i) => (failsAt(i) ? "failure" : true)));
    expect((await books.account()).balance).toBe(9n + 256n - BigInt(failing.length));
    await books.audit();
  });

  test("of none: a batch of no commands has no answers", async () => {
    expect(await books.apply()).toEqual([]);
  });
});

/** Sends the batch again until it is taken, as the writer does; gives the answers and how often it was sent. */
async function insist(books: TestBooks, commands: readonly Command[]): Promise<readonly Outcome[]> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await books.apply(...commands);
    } catch (error) {
      if (tries === 3) throw error;
    }
  }
}

describeOnEngines("a batch whose commit", (engine) => {
  /** The commit of `begin`'s account; on SQLite the start commits once. */
  const nth = engine.name === "sqlite" ? 3 : 2;
  for (const point of ["writer.before_commit", "writer.after_commit"]) {
    describe(`breaks (${point})`, () => {
      test("is done in the end, each command once", async () => {
        const { books, begin, close } = await openBooks(engine, { writerFailpoint: `${point}:throw:${nth}` });
        try {
          await begin();
          const outcomes = await insist(books, [
            books.grant("g", 10n),
            { kind: "ping" },
            books.hold("h", 4n),
            books.settle("h", 3n),
            books.hold("h2", 4n),
          ]);
          expect(outcomes).toEqual([
            { answer: { ok: true, balance: 10n } },
            { answer: { ok: true } },
            { answer: { ok: true, amount: 4n } },
            { answer: { ok: true, charged: 3n } },
            { answer: { ok: true, amount: 4n } },
          ]);
          expect(await books.account()).toEqual({ balance: 7n, held: 4n });
          await books.audit();
        } finally {
          await close();
        }
      });
    });
  }

  test("never comes leaves nothing, and can come again", async () => {
    const { books, begin, close } = await openBooks(engine, {
      writerFailpoint: `writer.before_commit:throw:${nth}`,
    });
    try {
      await begin();
      const refused = await books.run(books.grant("g", 10n)).catch((error: unknown) => String(error));
      expect(refused as string).toContain("failpoint writer.before_commit");
      expect(await books.account()).toEqual({ balance: 0n, held: 0n });
      expect(await books.run(books.grant("g", 10n))).toEqual({ ok: true, balance: 10n });
    } finally {
      await close();
    }
  });
});
