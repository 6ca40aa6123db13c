import { expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ADMIN_TOKEN, startGateway } from "../gateway/gateway.ts";

const PAGE = join(import.meta.dir, "../../docs/admin.md");

/** The answer of each call of the page, in order. */
async function answersOfPage(url: string, token: string): Promise<readonly Record<string, unknown>[]> {
  const commands = [...readFileSync(PAGE, "utf8").matchAll(/```sh\n([\s\S]*?)```/g)]
    .map(([, block]) => block)
    .join("\n")
    .replaceAll("http://127.0.0.1:8080", url);
  const folder = mkdtempSync(join(tmpdir(), "switchyard-admin-page-"));
  const shell = Bun.spawn(["sh", "-e", "-c", commands], {
    cwd: folder,
    env: { PATH: process.env.PATH ?? "", SWITCHYARD_ADMIN_TOKEN: token },
    stdin: "ignore",
    stderr: "inherit",
  });
  const output = await shell.stdout.text();
  rmSync(folder, { recursive: true, force: true });
  expect(await shell.exited).toBe(0);
  return output
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line));
}

// A machine without curl cannot run these.
test.skipIf(Bun.which("curl") === null)(
  "the admin page's commands do what it says, pasted in order",
  async () => {
    const gateway = await startGateway();
    const answers = await answersOfPage(gateway.url, ADMIN_TOKEN);
    const account = expect.stringMatching(/^acct_/);
    expect(answers).toMatchObject([
      { balance: 50_000 },
      { id: account, name: "Search team", balance: 50_000, held: 0 },
      { balance: 40_000 },
      {
        data: [
          { amount: 50_000, balance_after: 50_000 },
          { amount: -10_000, balance_after: 40_000 },
        ],
      },
      { id: account, name: "Last year", status: "closed" },
      { account_id: account, key: expect.stringMatching(/^sk-/) },
      { models: ["openai/gpt-5.6-luna"], budget: 20_000 },
      { limits: { requests_per_minute: 60, tokens_per_minute: 100_000, concurrency: 4 } },
      { data: expect.arrayContaining([expect.objectContaining({ name: "search, production" })]) },
      { revoked: true },
      { data: [{ model: "openai/gpt-5.6-luna", credential: null, state: "healthy", calls: 0 }] },
      { data: [] },
      { data: [] },
      { interval: "day", group_by: "model", data: [] },
      { interval: "all", group_by: "route", data: [] },
      { data: [], next: null },
      { data: [] },
      { ok: true },
    ]);
    await gateway.close();
  },
);
