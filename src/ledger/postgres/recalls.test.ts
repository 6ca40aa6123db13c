import { describe, expect, test } from "bun:test";
import { commandsFor } from "../../../test/ledger/books.ts";
import { taskCommandsFor } from "../../../test/ledger/task-commands.ts";
import { GatewayError } from "../../core/errors.ts";
import type { AnswerTo, Command } from "../commands.ts";
import type { Writer } from "../writer.ts";
import type { Recalled } from "./allotment-statements.ts";
import { withRecalls } from "./recalls.ts";

const { createAccount, grant, hold, settle, close } = commandsFor((name) => name);
const { submit } = taskCommandsFor((name) => name);

type Answer = AnswerTo<Command>;

const SHORT: Answer = { ok: false, reason: "insufficient_credits" };
const OK: Answer = { ok: true };

interface Given {
  /** What the writer answers, one after the other; the last again and again. */
  readonly answers: readonly Answer[];
  readonly isContested?: boolean;
  /** Whether every process gives back, or why they cannot be asked. */
  readonly recall?: boolean | Error;
  readonly leaseMs?: number;
}

/** A writer with recalls, over doubles of the writer and of the keeper that note what they are asked. */
function open({ answers, isContested = true, recall = true, leaseMs = 2_001 }: Given) {
  const sent: Command[] = [];
  const recalled: Recalled[] = [];
  let closed = 0;
  const left = [...answers];
  const inner: Writer = {
    submit: (async (command: Command) => {
      sent.push(command);
      return left.length > 1 ? left.shift() : left[0];
    }) as Writer["submit"],
    close: async () => void (closed += 1),
  };
  const writer = withRecalls(inner, {
    async recall(of) {
      recalled.push(of);
      if (recall instanceof Error) throw recall;
      return recall;
    },
    wasContested: (account) => isContested && account === "a",
    leaseMs: () => leaseMs,
  });
  const submit = (command: Command): Promise<Answer | GatewayError> =>
    writer.submit(command).catch((error: GatewayError) => error);
  return { writer, submit, sent, recalled, closed: () => closed };
}

const silenceOf = (answer: Answer | GatewayError) =>
  answer instanceof GatewayError ? [answer.kind, answer.retryAfterSec] : answer;

describe("a command that was refused for want of credit", () => {
  test("is sent again once every process has given back", async () => {
    for (const command of [hold("h", 1n), grant("back", -1n), submit("t", 1n)]) {
      const { submit: send, sent, recalled } = open({ answers: [SHORT, SHORT, OK] });
      expect(await send(command)).toEqual(OK);
      expect([sent, recalled]).toEqual([
        [command, command, command],
        [{ account: "a" }, { account: "a" }],
      ]);
    }
  });

  test("stays refused where nothing is allotted, and where it is refused for something else", async () => {
    for (const given of [
      { answers: [SHORT], isContested: false },
      { answers: [{ ok: false, reason: "key_not_live" } as Answer] },
    ]) {
      const { submit, recalled } = open(given);
      expect(await submit(hold("h", 1n))).toEqual(given.answers[0]!);
      expect(recalled).toEqual([]);
    }
  });

  test("gets a 503 where a process is silent, with the time at which a lease has ended", async () => {
    const { submit, sent } = open({ answers: [SHORT], recall: false });
    expect(silenceOf(await submit(hold("h", 1n)))).toEqual(["overloaded_error", 3]);
    expect(sent).toHaveLength(1);
    const unleased = open({ answers: [SHORT], recall: false, leaseMs: 0 });
    expect(silenceOf(await unleased.submit(hold("h", 1n)))).toEqual(["overloaded_error", 1]);
  });

  test("is sent five times where others are quicker each time", async () => {
    const { submit, sent, recalled } = open({ answers: [SHORT] });
    expect(silenceOf(await submit(hold("h", 1n)))).toEqual(["overloaded_error", 3]);
    expect([sent.length, recalled.length]).toEqual([5, 4]);
  });

  test("takes a shorter output the second time, also where a process is silent, and only then", async () => {
    const elastic = { tokenPrice: 1n, maxTokens: 9, floorTokens: 1 };
    const wanted = hold("h", 1n, { elastic });
    const bounded: Command = { ...wanted, isBoundFinal: true };
    const { submit, sent } = open({ answers: [SHORT, OK], recall: false });
    expect(await submit(wanted)).toEqual(OK);
    expect(sent).toEqual([wanted, bounded]);
    const silent = open({ answers: [SHORT], recall: false });
    expect(silenceOf(await silent.submit(wanted))).toEqual(["overloaded_error", 3]);
    expect(silent.sent).toEqual([wanted, bounded]);
  });

  test("gets a 503 that says that the store is away, where no process can be asked", async () => {
    const { submit } = open({ answers: [SHORT], recall: new Error("away") });
    expect(silenceOf(await submit(hold("h", 1n)))).toEqual(["overloaded_error", 2]);
  });
});

describe("a command that ends or narrows something", () => {
  const key = { kind: "change_key", key: "k" } as const;
  const cases: Readonly<Record<string, readonly [command: Command, recalled: Recalled]>> = {
    "the end of an account": [close("b"), { account: "b" }],
    "the end of a key": [{ kind: "revoke_key", key: "k", nowMs: 1 }, { key: "k" }],
    "a budget": [{ ...key, budget: 5n }, { key: "k" }],
    "an expiry": [{ ...key, expiresAtMs: 5 }, { key: "k" }],
  };
  for (const [name, [command, of]] of Object.entries(cases))
    test(`${name} is answered when every process has given back`, async () => {
      const { submit, recalled } = open({ answers: [OK] });
      expect(await submit(command)).toEqual(OK);
      expect(recalled).toEqual([of]);
      const silent = open({ answers: [OK], recall: false });
      expect(silenceOf(await silent.submit(command))).toEqual(["overloaded_error", 3]);
      const refused = open({ answers: [{ ok: false, reason: "unknown_key" }] });
      await refused.submit(command);
      expect(refused.recalled).toEqual([]);
    });

  test("needs no process where it lifts a bound or changes none, and no other command does", async () => {
    for (const command of [
      { ...key, budget: null, expiresAtMs: null },
      { ...key, name: "n" },
      createAccount("a"),
      settle("h", 1n),
      { kind: "ping" } as const,
    ]) {
      const { submit, recalled, sent } = open({ answers: [OK] });
      expect([await submit(command), sent, recalled]).toEqual([OK, [command], []]);
    }
  });

  test("a settlement that is refused is not sent again", async () => {
    const { submit, sent } = open({ answers: [SHORT] });
    expect([await submit(settle("h", 1n)), sent.length]).toEqual([SHORT, 1]);
  });

  test("the writer ends with it", async () => {
    const { writer, closed } = open({ answers: [OK] });
    await writer.close();
    expect(closed()).toBe(1);
  });
});
