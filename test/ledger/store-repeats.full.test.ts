import { beforeEach, expect, test } from "bun:test";
import { describeOnEngines } from "../gateway/engines.ts";
import { type TestBooks, useBooks } from "./books.ts";
import type { Command, Outcome } from "../../src/ledger/commands.ts";

interface Repeat {
  readonly name: string;
  readonly command: (books: TestBooks) => Command;
  /** What has to be there before. */
  readonly before?: (books: TestBooks) => readonly Command[];
  /** What happens between the command and its repetition; the answer must be that of the first time even so. */
  readonly between?: (books: TestBooks) => readonly Command[];
}

const elastic = { tokenPrice: 2n, maxTokens: 100, floorTokens: 1 };

/** Every kind of command that may be sent a second time because its first answer was lost. */
const REPEATS: readonly Repeat[] = [
  {
    name: "a grant",
    command: (books) => books.grant("x", 7n),
    between: (books) => [books.grant("y", 3n), books.hold("z", 1n)],
  },
  {
    name: "a grant that takes back",
    command: (books) => books.grant("x", -100n),
    between: (books) => [books.grant("y", 3n)],
  },
  {
    name: "a hold",
    command: (books) => books.hold("x", 60n),
    between: (books) => [books.hold("z", 40n)],
  },
  {
    name: "a hold that has ended",
    command: (books) => books.hold("x", 60n),
    between: (books) => [books.settle("x", 50n)],
  },
  {
    name: "a hold whose key was revoked meanwhile",
    command: (books) => books.hold("x", 60n),
    between: (books) => [{ kind: "revoke_key", key: books.id("k"), nowMs: 3 }],
  },
  {
    name: "an elastic hold",
    command: (books) => books.hold("x", 10n, { elastic }),
    between: (books) => [books.hold("z", 30n)],
  },
  {
    name: "a settle",
    before: (books) => [books.hold("x", 60n)],
    command: (books) => books.settle("x", 70n),
    between: (books) => [books.grant("y", 500n)],
  },
  {
    name: "a settle above everything there is",
    before: (books) => [books.hold("x", 60n)],
    command: (books) => books.settle("x", 700n),
    between: (books) => [books.grant("y", 500n)],
  },
  {
    name: "a late settle",
    before: (books) => [books.hold("x", 60n), books.voided("x", { outcome: "process_died" })],
    command: (books) => books.settle("x", 70n),
  },
  {
    name: "a void",
    before: (books) => [books.hold("x", 60n)],
    command: (books) => books.voided("x"),
    between: (books) => [books.hold("z", 100n)],
  },
  {
    name: "a void of what was abandoned",
    before: (books) => [books.hold("x", 60n)],
    command: (books) => books.voided("x", { outcome: "expired" }),
  },
  {
    name: "a task's submission",
    command: (books) => books.submit("x", 60n, { maxPending: 1 }),
    between: (books) => [books.hold("z", 40n), { kind: "revoke_key", key: books.id("k"), nowMs: 3 }],
  },
  {
    name: "the submission of a task that was claimed meanwhile",
    command: (books) => books.submit("x", 60n),
    between: (books) => [books.claim("x"), books.attempt("x", 1)],
  },
  {
    name: "the submission of a task that was cancelled meanwhile",
    command: (books) => books.submit("x", 60n),
    between: (books) => [books.cancel("x")],
  },
  {
    name: "a claim",
    before: (books) => [books.submit("x", 60n)],
    command: (books) => books.claim("x", { providerLimit: 1 }),
    between: (books) => [books.attempt("x", 1), books.noteJob("x", "j"), books.renew("x", 900_000)],
  },
  {
    name: "a claim of what another had",
    before: (books) => [books.submit("x", 60n), books.claim("x", { boot: "dead" }), books.release("x")],
    command: (books) => books.claim("x", { seenEpoch: 1 }),
    between: (books) => [books.attempt("x", 1, { epoch: 2 })],
  },
  {
    name: "an attempt",
    before: (books) => [books.submit("x", 60n), books.claim("x")],
    command: (books) => books.attempt("x", 1),
    between: (books) => [books.noteJob("x", "j"), books.attempt("x", 2)],
  },
  {
    name: "an attempt at another provider",
    before: (books) => [books.submit("x", 60n), books.claim("x")],
    command: (books) => books.attempt("x", 1, { to: { provider: books.id("p2"), providerLimit: 1 } }),
    between: (books) => [
      books.noteRefusal("x", 1),
      books.attempt("x", 2, { to: { provider: books.id("p3"), providerLimit: 1 } }),
    ],
  },
  {
    name: "a refusal",
    before: (books) => [books.submit("x", 60n), books.claim("x"), books.attempt("x", 1)],
    command: (books) => books.noteRefusal("x", 1),
    between: (books) => [books.attempt("x", 2), books.noteRefusal("x", 2), books.attempt("x", 3)],
  },
  {
    name: "a provider's name for a task",
    before: (books) => [books.submit("x", 60n), books.claim("x")],
    command: (books) => books.noteJob("x", "j"),
    between: (books) => [books.attempt("x", 1)],
  },
  {
    // One that says more than the last is no repetition on PostgreSQL, whose clock has gone on.
    name: "a renewal of what lasts longer already",
    before: (books) => [books.submit("x", 60n), books.claim("x", { leaseMs: 900_000 })],
    command: (books) => books.renew("x", 1),
  },
  {
    name: "a task's release",
    before: (books) => [books.submit("x", 60n), books.claim("x")],
    command: (books) => books.release("x"),
  },
  {
    name: "a task's completion",
    before: (books) => [books.submit("x", 60n), books.claim("x")],
    command: (books) => books.finish("x", 70n),
    between: (books) => [books.grant("y", 500n), books.forgetFiles("x")],
  },
  {
    name: "a task's completion above everything there is",
    before: (books) => [books.submit("x", 60n), books.claim("x")],
    command: (books) => books.finish("x", 700n),
    between: (books) => [books.grant("y", 500n)],
  },
  {
    name: "a task's failure",
    before: (books) => [books.submit("x", 60n), books.claim("x")],
    command: (books) => books.fail("x", { unfinished: true }),
    between: (books) => [books.hold("z", 100n)],
  },
  {
    name: "the failure of a task that waited",
    before: (books) => [books.submit("x", 60n)],
    command: (books) => books.fail("x", { epoch: 0, type: "timeout_error" }),
  },
  {
    name: "a task's cancellation",
    before: (books) => [books.submit("x", 60n)],
    command: (books) => books.cancel("x"),
    between: (books) => [books.hold("z", 100n)],
  },
  {
    name: "a task's files forgotten",
    before: (books) => [books.submit("x", 60n), books.claim("x")],
    command: (books) => books.forgetFiles("x"),
    between: (books) => [books.attempt("x", 1)],
  },
  { name: "old tasks forgotten", command: () => ({ kind: "forget_tasks", beforeMs: 1 }) },
  { name: "an account", command: (books) => books.createAccount("x") },
  {
    name: "a key",
    command: (books) => books.issueKey("x"),
    between: (books) => [{ kind: "change_key", key: books.id("k"), budget: 3n }],
  },
  { name: "a change of a key", command: (books) => ({ kind: "change_key", key: books.id("k"), budget: 5n }) },
  { name: "a revocation", command: (books) => ({ kind: "revoke_key", key: books.id("k"), nowMs: 3 }) },
  { name: "a fact", command: (books) => ({ kind: "remember", name: books.id("x"), value: "v" }) },
  {
    name: "a fact in place of another",
    before: (books) => [{ kind: "remember", name: books.id("x"), value: "old" }],
    command: (books) => ({ kind: "remember", name: books.id("x"), value: "v", instead: "old" }),
  },
  { name: "a farewell", command: (books) => ({ kind: "leave", boot: books.id("x") }) },
  {
    name: "marks of the audit",
    command: (books) => ({
      kind: "mark_audited",
      marks: [{ subject: books.id("x"), ledgerSeq: 1n, amount: 2n, requestSeq: 3n, checkedAtMs: 4 }],
    }),
  },
];

describeOnEngines("a repeated command is answered alike and changes nothing:", (engine) => {
  const books = useBooks(engine);
  beforeEach(async () => void (await books.apply(books.grant("g", 100n))));

  /** Every row of the store, so that nothing can change unseen. */
  async function everything(): Promise<readonly string[]> {
    const tables = [
      "accounts",
      "keys",
      "price_versions",
      "holds",
      "ledger",
      "requests",
      "processes",
      "tasks",
      "task_payloads",
    ] as const;
    const rows = await Promise.all(
      [...tables, "installation" as const].map((table) =>
        books.store.database.selectFrom(table).selectAll().execute(),
      ),
    );
    return rows
      .flat()
      .map((row) => Bun.inspect(row))
      .sort();
  }

  for (const { name, command, before = () => [], between = () => [] } of REPEATS) {
    test(`${name}, in the same batch and in others`, async () => {
      await books.apply(...before(books));
      const [first, second] = await books.apply(command(books), command(books));
      expect(first).toMatchObject({ answer: { ok: true } });
      expect(second).toEqual(first as Outcome);
      await books.apply(...between(books));
      const after = await everything();
      expect(await books.apply(command(books))).toEqual([first as Outcome]);
      expect(await books.apply(command(books), command(books))).toEqual([first as Outcome, first as Outcome]);
      expect(await everything()).toEqual(after);
      await books.audit();
    });

    test(`${name}, alone the first time`, async () => {
      await books.apply(...before(books));
      const [first] = await books.apply(command(books));
      expect(first).toMatchObject({ answer: { ok: true } });
      const after = await everything();
      expect(await books.apply(command(books))).toEqual([first as Outcome]);
      expect(await everything()).toEqual(after);
    });
  }

  test("a key that was changed and revoked is issued again without any of that being undone", async () => {
    await books.run(books.issueKey("x", { budget: 9n }));
    await books.run({ kind: "change_key", key: books.id("x"), budget: 5n });
    await books.run({ kind: "revoke_key", key: books.id("x"), nowMs: 3 });
    const after = await everything();
    await books.run(books.issueKey("x", { budget: 9n }));
    expect(await everything()).toEqual(after);
  });
});
