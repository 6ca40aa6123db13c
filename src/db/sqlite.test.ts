import { expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openForWriting } from "./sqlite.ts";

const HOLDER = `
  const database = new (require("bun:sqlite").Database)(process.argv[1]);
  database.run("begin exclusive");
  process.stdout.write("held");
  setTimeout(() => database.run("commit"), 50);
`;

/** Whether the file could be opened while another process held it for a moment longer. */
async function opensWhileHeld(file: string): Promise<boolean> {
  const holder = Bun.spawn([process.execPath, "-e", HOLDER, file], {
    stdin: "ignore",
    stdout: "pipe",
    stderr: "ignore",
  });
  await holder.stdout.getReader().read();
  try {
    openForWriting(file).close();
    return true;
  } catch {
    return false;
  } finally {
    await holder.exited;
  }
}

test("a file that another connection holds for a moment is waited for", async () => {
  const folder = mkdtempSync(join(tmpdir(), "switchyard-sqlite-"));
  // On a machine that is busy the holder may take longer than is waited; without a wait no try succeeds.
  const tries: boolean[] = [];
  for (let i = 0; i < 5 && !tries.includes(true); i++)
    tries.push(await opensWhileHeld(join(folder, `${i}.db`)));
  rmSync(folder, { recursive: true, force: true });
  expect(tries).toContain(true);
});
