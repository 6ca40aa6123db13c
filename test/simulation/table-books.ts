import { type Failpoint, noFailpoint } from "../../src/core/failpoint.ts";
import { sqliteCompiler } from "../../src/db/sqlite.ts";
import {
  type Command,
  type Failure,
  movesMoney,
  type Outcome,
  type RecordCommand,
} from "../../src/ledger/commands.ts";
import { decide } from "../../src/ledger/decide/books.ts";
import { referencesOf } from "../../src/ledger/decide/state.ts";
import { recordAnswer, recordStatement } from "../../src/ledger/records.ts";
import { batchOf } from "../../src/ledger/sqlite/batch.ts";
import { openSqliteStore } from "../../src/ledger/sqlite/store.ts";
import type { SqliteDatabase } from "../../src/runtime/sqlite.ts";

/** Books with every hold in the tables, as processes share them. */
export interface TableBooks {
  /** Runs the commands as one transaction; where one fails, all are run again one by one. */
  apply(commands: readonly Command[]): readonly Outcome[];
}

/** A double of a shared store: the real tables and the one decision, on SQLite. */
export function openTableBooks(database: SqliteDatabase, failpoint: Failpoint = noFailpoint): TableBooks {
  const store = openSqliteStore(database, failpoint);
  const build = sqliteCompiler();

  const together = (commands: readonly Command[]): readonly Outcome[] | Failure => {
    const records = commands.filter((command): command is RecordCommand => !movesMoney(command));
    const money = commands.filter(movesMoney);
    // Records come first: the rows of the rest are read as they then are.
    const ground =
      records.length === 0
        ? { rows: [] }
        : store.write({ records: records.map((command) => statementOf(build, command)) });
    if (!("rows" in ground)) return ground;
    const decision = decide(store.load(referencesOf(money)), money);
    const written = money.length === 0 ? ground : store.write(batchOf([], decision.changes));
    if (!("rows" in written)) return written;
    return commands.map((command) =>
      movesMoney(command)
        ? decision.outcomes[money.indexOf(command)]!
        : { answer: recordAnswer(command, ground.rows[records.indexOf(command)]!) },
    );
  };

  const apply = (commands: readonly Command[]): readonly Outcome[] => {
    const outcomes = together(commands);
    if (!("failure" in outcomes)) return outcomes;
    return commands.length === 1 ? [outcomes] : commands.flatMap((command) => apply([command]));
  };
  return { apply };
}

function statementOf(build: ReturnType<typeof sqliteCompiler>, command: RecordCommand) {
  const { sql, parameters } = recordStatement(build, "sqlite", command);
  return { sql, values: [...parameters] };
}
