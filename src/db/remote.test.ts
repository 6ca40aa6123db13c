import { expect, test } from "bun:test";
import { kyselyOverRuns } from "./remote.ts";

for (const [engine, where] of [
  ["sqlite", "?"],
  ["postgres", "$1"],
] as const)
  test(`statements for ${engine} are written as it reads them, and their rows come back`, async () => {
    const asked: unknown[] = [];
    const database = kyselyOverRuns(engine, async (...statement) => {
      asked.push(statement);
      return [{ id: "key_1" }];
    });
    const keys = database.selectFrom("keys").select("id").where("id", "=", "key_1");
    expect(await keys.execute()).toEqual([{ id: "key_1" }]);
    expect(asked).toEqual([[`select "id" from "keys" where "id" = ${where}`, ["key_1"]]]);
  });
