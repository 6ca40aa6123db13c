import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { descriptorsAt, printedOnFullDisk } from "../../../test/files.ts";
import { systemClock } from "../../core/time/clock.ts";
import type { Log } from "../../core/log/log.ts";
import { migrate } from "../../db/migrate.ts";
import { kyselyOver, openForReading } from "../../db/sqlite.ts";
import { openForWriting } from "../../db/sqlite-file.ts";
import { openSqlite } from "../../runtime/sqlite.ts";
import type { Command } from "../commands.ts";
import { keepBooks } from "./keep-books.ts";
import { createWriter, type Writer } from "../writer.ts";

const quiet: Log = { info: () => {}, warn: () => {}, error: () => {} };
const account: Command = { kind: "create_account", account: "a", name: "n", nowMs: 1 };
const grant = (n: number) =>
  ({
    kind: "grant",
    cause: `g${n}`,
    account: "a",
    amount: 1n,
    reason: "r",
    requestId: "req",
    nowMs: 1,
  }) satisfies Command;

let folder: string;
let file: string;
const open: Writer[] = [];

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "switchyard-executor-"));
  file = join(folder, "switchyard.db");
  const database = kyselyOver(openForWriting(file));
  await migrate(database, "sqlite");
  await database.destroy();
});

afterEach(async () => {
  await Promise.all(open.splice(0).map((writer) => writer.close()));
  rmSync(folder, { recursive: true, force: true });
});

async function openWriter(failpoint: string | undefined, databaseFile = file): Promise<Writer> {
  const writer = createWriter(
    await keepBooks({ file: databaseFile, threadFailpoint: failpoint }),
    quiet,
    systemClock,
  );
  open.push(writer);
  return writer;
}

async function balance(): Promise<bigint | undefined> {
  const database = openForReading(file);
  const row = await database.selectFrom("accounts").select("balance").executeTakeFirst();
  await database.destroy();
  return row?.balance;
}

function journalRow(): unknown {
  const database = openSqlite(file, { readonly: true });
  const row = database.prepare("select * from journal").get();
  database.close();
  return row;
}

describe("a writer over a real thread and a real file", () => {
  test("answers many commands at once, money as bigint, durable when answered", async () => {
    const writer = await openWriter(undefined);
    await writer.submit(account);
    const answers = await Promise.all(Array.from({ length: 700 }, (_, i) => writer.submit(grant(i))));
    expect(answers.every(({ ok }) => ok)).toBe(true);
    expect(answers.at(-1)).toEqual({ ok: true, balance: 700n });
    expect(await balance()).toBe(700n);
  });

  test("a commit that fails under many commands loses none and doubles none", async () => {
    const writer = await openWriter("writer.before_commit:throw:3");
    await writer.submit(account);
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, i) => writer.submit(grant(i)).catch(() => undefined)),
    );
    const done = answers.filter((answer) => answer?.ok === true).length;
    expect(done).toBeGreaterThanOrEqual(49);
    expect(await balance()).toBe(BigInt(done));
  });

  test("a commit that fails under one command is answered, and the command can come again", async () => {
    const writer = await openWriter("writer.before_commit:throw:3");
    await writer.submit(account);
    const refused = await writer.submit(grant(1)).catch((error: Error) => error.name);
    expect(refused as string).toBe("CommandRefused");
    expect(await balance()).toBe(0n);
    expect(await writer.submit(grant(1))).toEqual({ ok: true, balance: 1n });
  });

  test("one that is closed leaves all of it in the tables, which say that they were closed", async () => {
    const writer = await openWriter(undefined);
    await writer.submit(account);
    expect(journalRow()).toMatchObject({
      is_closed: 0n,
      journal: expect.stringMatching(/^books_[0-9a-f]{32}$/),
    });
    await writer.close();
    expect(journalRow()).toMatchObject({ is_closed: 1n });
    await openWriter(undefined);
    expect(journalRow()).toMatchObject({ is_closed: 0n });
  });

  test("books whose journal is missing are taken over, also where the caller gave no function for gaps", async () => {
    await (await openWriter(undefined)).close();
    for (const name of ["journal-a", "journal-b"]) rmSync(`${file}.${name}`, { force: true });
    const database = openForWriting(file);
    database.execute("update journal set is_closed = 0");
    database.close();
    expect(await (await openWriter(undefined)).submit(account)).toEqual({ ok: true });
    const gaps = openSqlite(file, { readonly: true });
    expect(gaps.prepare("select kind from journal_gaps").all()).toEqual([{ kind: "incomplete" }]);
    gaps.close();
  });

  test.skipIf(process.platform !== "linux")(
    "one thread alone has the tables open once they are taken over",
    async () => {
      await openWriter(undefined);
      expect(descriptorsAt(`${file}-wal`)).toHaveLength(1);
    },
  );

  test("a disk that cannot be written is told at the start, in one sentence", async () => {
    const refused = await keepBooks({ file, threadFailpoint: "writer.before_commit:throw:1" }).then(
      () => "it started",
      (error: Error) => error.message,
    );
    expect(refused).toBe(
      "The database cannot be written now: failpoint writer.before_commit. Start again when it can.",
    );
  });
});

test("the keeper reports once that a disk has failed to keep a commit, and writes nothing from then on", () => {
  const script = `
    const { keepBooks } = await import(${JSON.stringify(join(import.meta.dir, "keep-books.ts"))});
    const lost = [];
    const keeper = await keepBooks({ file: ${JSON.stringify(file)}, onLost: (reason) => lost.push(reason) });
    await keeper.execute([{ kind: "grant", cause: "g", account: "nobody", amount: 1n, reason: "r", requestId: "q", nowMs: 1 }]);
    const name = "n".repeat(300_000);
    let tries = 0;
    let outcome;
    do [outcome] = await keeper.execute([{ kind: "create_account", account: "a" + tries, name, nowMs: 1 }]);
    while ("answer" in outcome && (tries += 1) < 30);
    const told = [...lost];
    const [after] = await keeper.execute([{ kind: "ping" }]);
    // It asks the thread once more, which tells the loss with each answer.
    await keeper.hold({ kind: "hold", hold: "h", account: "a0", key: "k" }).catch(() => undefined);
    await keeper.close();
    console.log(JSON.stringify({ wasDone: tries > 0, outcome, told, after, lost }));
  `;
  const failure = { failure: "disk I/O error", passing: true };
  expect(JSON.parse(printedOnFullDisk(script, 3_000))).toEqual({
    wasDone: true,
    outcome: failure,
    told: ["disk I/O error"],
    after: failure,
    lost: ["disk I/O error"],
  });
});

test("a process ends by itself once its executor is closed", async () => {
  const script = `
    const { keepBooks } = await import(${JSON.stringify(join(import.meta.dir, "keep-books.ts"))});
    const executor = await keepBooks({ file: ${JSON.stringify(file)} });
    await executor.execute([{ kind: "ping" }]);
    await executor.close();
  `;
  const child = Bun.spawn([process.execPath, "-e", script], {
    stdout: "ignore",
    stderr: "ignore",
    timeout: 30_000,
  });
  expect(await child.exited).toBe(0);
});

test("a process killed before its commit leaves nothing of the batch, and the file opens again", async () => {
  const script = `
    const { keepBooks } = await import(${JSON.stringify(join(import.meta.dir, "keep-books.ts"))});
    const executor = await keepBooks({ file: ${JSON.stringify(file)}, threadFailpoint: "writer.before_commit:kill:3" });
    await executor.execute([{ kind: "create_account", account: "a", name: "n", nowMs: 1 }]);
    await executor.execute([{ kind: "grant", cause: "g", account: "a", amount: 5n, reason: "r", requestId: "q", nowMs: 1 }]);
  `;
  const child = Bun.spawn([process.execPath, "-e", script], { stdout: "ignore", stderr: "ignore" });
  await child.exited;
  expect(child.signalCode).toBe("SIGKILL");
  expect(await balance()).toBe(0n);
  expect(await (await openWriter(undefined)).submit(grant(1))).toEqual({ ok: true, balance: 1n });
});
