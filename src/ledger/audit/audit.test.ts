import { expect, test } from "bun:test";
import { createFakeClock } from "../../../test/gateway/fake-clock.ts";
import { type AuditParts, createAudit } from "./audit.ts";
import type { AuditRequest } from "./request.ts";
import type { Findings } from "./checks.ts";
import type { Command } from "../commands.ts";
import type { Writer } from "../writer.ts";

const RIGHT = { id: "I1", ok: true, detail: "right" };
const WRONG = { id: "I2", ok: false, detail: "wrong" };

function open(findings: Partial<Findings> = {}, more: Partial<AuditParts> = {}) {
  const clock = createFakeClock();
  const asked: AuditRequest[] = [];
  const written: Command[] = [];
  const since = { ms: undefined as number | undefined };
  const submit = async (command: Command): Promise<unknown> => {
    written.push(command);
    return { ok: true };
  };
  const audit = createAudit({
    current: async () => {},
    auditor: async (request) => {
      asked.push(request);
      return { checks: [RIGHT], marks: [], ...findings };
    },
    writer: { submit: submit as Writer["submit"], close: async () => {} },
    clock,
    thereSinceMs: () => since.ms,
    ...more,
  });
  return { audit, asked, written, clock, since };
}

test("audits that are asked for at the same time are one; a full one is another, and so is a later one", async () => {
  const { audit, asked } = open();
  await Promise.all([audit.run(false), audit.run(true), audit.run(false), audit.run(true)]);
  expect(asked.map(({ full }) => full)).toEqual([false, true]);
  await audit.run(false);
  expect(asked).toHaveLength(3);
});

test("an audit is right when every check is, and counts from when the process was there", async () => {
  expect(await open().audit.run(false)).toEqual({ ok: true, checks: [RIGHT] });
  expect(await open({ checks: [RIGHT, WRONG] }).audit.run(false)).toMatchObject({ ok: false });
  const { audit, asked, clock, since } = open();
  const nowMs = clock.steadyMs();
  await audit.run(false);
  since.ms = 7;
  await audit.run(false);
  expect(asked.map(({ thereSinceMs }) => thereSinceMs)).toEqual([nowMs, 7]);
});

test("what was found right is written in commands of 500 marks, those of an account together", async () => {
  const marksOf = (account: number, count: number) =>
    Array.from({ length: count }, (_, i) => ({
      subject: `${account}-${i}`,
      ledgerSeq: 1n,
      requestSeq: 1n,
      amount: 1n,
      checkedAtMs: 1,
    }));
  const { audit, written } = open({
    marks: [marksOf(1, 499), marksOf(2, 1), marksOf(3, 2), marksOf(4, 499)],
  });
  await audit.run(false);
  const sizesOf = (commands: readonly Command[]): readonly number[] =>
    commands.map((command) => (command.kind === "mark_audited" ? command.marks.length : 0));
  expect(sizesOf(written)).toEqual([500, 2, 499]);
  const [none, one] = [open(), open({ marks: [marksOf(1, 1)] })];
  await none.audit.run(false);
  await one.audit.run(false);
  expect([sizesOf(none.written), sizesOf(one.written)]).toEqual([[], [1]]);
});

test("an audit begins when the tables have everything, and is none where they cannot have it", async () => {
  const { audit, asked } = open({}, { current: () => Promise.reject(new Error("full")) });
  expect(await audit.run(false).catch((error: Error) => error.message)).toBe("full" as never);
  expect([asked, audit.last()]).toEqual([[], undefined]);
  const now = Promise.withResolvers<void>();
  const later = open({}, { current: () => now.promise });
  const running = later.audit.run(false);
  await Bun.sleep(0);
  expect(later.asked).toEqual([]);
  now.resolve();
  expect(await running).toMatchObject({ ok: true });
});

test("an audit looks at memory and at the journal, where the process has them", async () => {
  const checksOf = async (openHolds: AuditParts["openHolds"]) => {
    const { checks } = await open({}, { openHolds }).audit.run(false);
    return checks.slice(1).map(({ id, ok, detail }) => [id, ok, /: (.*)$/.exec(detail)?.[1]]);
  };
  const nothing = async (): Promise<readonly string[]> => [];
  expect(await checksOf(undefined)).toEqual([]);
  expect(await checksOf({ compare: async () => ["a"] })).toEqual([["memory", false, "a"]]);
  expect(await checksOf({ compare: nothing, compareJournal: async () => ["record 7"] })).toEqual([
    ["memory", true, undefined],
    ["journal", false, "record 7"],
  ]);
});
