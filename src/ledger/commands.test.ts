import { expect, test } from "bun:test";
import { commandsFor } from "../../test/ledger/books.ts";
import { taskCommandsFor } from "../../test/ledger/task-commands.ts";
import { movesMoney } from "./commands.ts";

test("commands about credit and tasks are decided over rows, and those that write a fact are not", () => {
  const { createAccount, issueKey, close, revokeKeys, grant, hold, settle, voided } = commandsFor((id) => id);
  const of = taskCommandsFor((id) => id);
  const money = [grant("g", 1n), hold("h", 1n), settle("h", 1n), voided("h")];
  const tasks = [
    of.submit("x", 1n),
    of.claim("x"),
    of.attempt("x", 1),
    of.noteRefusal("x", 1),
    of.noteJob("x", "job"),
    of.renew("x", 1),
    of.release("x"),
    of.finish("x", 1n),
    of.fail("x"),
    of.cancel("x"),
    of.forgetFiles("x"),
  ];
  expect([...money, ...tasks].filter((command) => !movesMoney(command))).toEqual([]);
  const facts = [createAccount("a"), issueKey("k"), close(), revokeKeys(1), { kind: "ping" } as const];
  expect(facts.filter(movesMoney)).toEqual([]);
});
