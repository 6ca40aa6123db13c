import { beforeAll, expect } from "bun:test";
import type { Page, Request } from "playwright-core";
import type { Json } from "../gateway/gateway.ts";
import { until } from "../tasks/station.ts";
import { useDesk } from "./desk.ts";
import { openPlace, rowsOf } from "./hands.ts";
import { describeInLooks, LOOKS } from "./looks.ts";

// Rows of a table: all of them are drawn, though not at once, and each leads to its own page as a link does.

const ACCOUNTS = 70;
/** Keeps when Overview's heading came into the page. */
const WATCH_HEADING = `new MutationObserver(() => {
  if (document.querySelector("h1")?.textContent === "Overview") globalThis.headed ??= performance.now();
}).observe(document, { subtree: true, childList: true })`;
/** Whether the last reads were sent before. */
const IS_AHEAD = `performance.getEntriesByType("resource")
  .findLast(({ name }) => name.endsWith("/console/api/reads")).startTime < headed`;
/** Keeps how many rows the table of a page has had, and how high it was then. */
const WATCH_ROWS = `globalThis.drawn = [];
  (function look() {
    const table = document.querySelector("table");
    const rows = table?.querySelectorAll("tbody tr:not([aria-hidden])").length ?? 0;
    if (rows > 0 && drawn.at(-1)?.rows !== rows) drawn.push({ rows, height: table.offsetHeight });
    requestAnimationFrame(look);
  })();`;

/** How many values settings have, whatever they are grouped by. */
function leavesOf(value: Json): number {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return 1;
  const parts: readonly Json[] = Object.values(value);
  return parts.length === 0 ? 1 : parts.reduce((sum: number, part) => sum + leavesOf(part), 0);
}

describeInLooks("the rows of a table", (next) => {
  const desk = useDesk(next);
  let first: string;
  beforeAll(async () => {
    for (let at = 1; at < ACCOUNTS; at += 1)
      await desk.gateway.admin("POST", "/accounts", { name: `Team ${at}` });
    first = desk.gateway.accountId;
  });
  const go = (page: Page, path: string) => page.goto(`${desk.gateway.url}/console/${path}`);
  const linkTo = (page: Page, id: string) => page.locator(`td a[href*="/accounts/${id}"]`).first();

  desk.story("are all drawn, also where the page derives them from what it has read", async ({ page }) => {
    const { settings } = await desk.read("/status");
    const all = leavesOf(settings);
    await go(page, "health?settings=true");
    const rows = rowsOf(page.getByRole("region", { name: "Configuration in force" }).last());
    await until(async () => (await rows.count()) === all, `${all} settings`);
    await page.getByLabel("Setting").fill("timeouts.");
    await until(async () => {
      const texts = await rows.allTextContents();
      return texts.length > 10 && texts.every((text) => text.includes("timeouts."));
    }, "the settings that are looked for");
  });

  desk.story("are drawn as far as the window has room, and then the others", async ({ page }) => {
    await go(page, "settings");
    await page.setViewportSize({ width: 1024, height: 400 });
    await page.evaluate(WATCH_ROWS);
    await page.getByRole("navigation", { name: "Places" }).getByRole("link", { name: "Accounts" }).click();
    const rows = rowsOf(page.getByRole("region", { name: "Table of accounts" }));
    await until(async () => (await rows.count()) === ACCOUNTS, "all accounts");
    const drawn = await page.evaluate<readonly { rows: number; height: number }[]>("drawn");
    expect(drawn[0]?.rows).toBeLessThan(20);
    expect(drawn.at(-1)?.rows).toBe(ACCOUNTS);
    // What follows the table stands where it stood.
    expect(Math.abs((drawn[0]?.height ?? 0) - (drawn.at(-1)?.height ?? 0))).toBeLessThan(ACCOUNTS);
  });

  desk.story("lead to their page by a click, and back to where the reader was", async ({ page }) => {
    await go(page, "accounts");
    await page.evaluate("globalThis.isSame = true");
    await linkTo(page, first).click();
    await page.waitForURL(`**/console/accounts/${first}`);
    await page.getByRole("heading", { level: 1, name: "test" }).waitFor();
    await page.goBack();
    await linkTo(page, first).waitFor();
    // The page was not loaded anew.
    expect(await page.evaluate("isSame")).toBe(true);
  });

  desk.story("open in another tab with Ctrl, and the list stays", async ({ page }) => {
    await go(page, "accounts");
    const opened = page.context().waitForEvent("page");
    await linkTo(page, first).click({ modifiers: ["ControlOrMeta"] });
    const other = await opened;
    await other.getByRole("heading", { level: 1, name: "test" }).waitFor();
    expect(new URL(other.url()).pathname).toBe(`/console/accounts/${first}`);
    expect(new URL(page.url()).pathname).toBe("/console/accounts");
  });

  desk.story("load the page that they lead to when the pointer is on them", async ({ page }) => {
    await go(page, "accounts");
    await linkTo(page, first).waitFor();
    await page.waitForLoadState("networkidle");
    const loaded = page.waitForRequest((request) => request.resourceType() === "script");
    await linkTo(page, first).hover();
    await loaded;
    expect(new URL(page.url()).pathname).toBe("/console/accounts");
  });

  desk.story("are reached and followed by the keyboard", async ({ page }) => {
    await go(page, "accounts");
    await linkTo(page, first).focus();
    await page.keyboard.press("Enter");
    await page.waitForURL(`**/console/accounts/${first}`);
  });
});

describeInLooks(
  "a table without room for all columns",
  (next) => {
    const desk = useDesk(next);
    desk.story("says which it leaves out", async ({ page }) => {
      await page.goto(`${desk.gateway.url}/console/models`);
      const table = page.getByRole("region", { name: "Table of models" });
      await table.waitFor();
      const heads = async (): Promise<readonly string[]> =>
        (await page.getByRole("columnheader").allTextContents()).map((head) => head.trim());
      const all = await heads();
      expect(await table.locator("caption").count()).toBe(0);
      await page.setViewportSize({ width: 720, height: 900 });
      await table.locator("caption").waitFor();
      const [, left = ""] = ((await table.locator("caption").textContent()) ?? "").split(": ");
      expect([...(await heads()), ...left.split(" · ")].toSorted()).toEqual(all.toSorted());
      await page.setViewportSize({ width: 1440, height: 900 });
      await until(async () => (await table.locator("caption").count()) === 0, "all columns");
    });
  },
  LOOKS.filter(({ width }) => width === 1440),
);

describeInLooks("a name without a space, as long as one may be", (next) => {
  const desk = useDesk(next);
  const NAME = "W".repeat(200);
  let account: Json;
  let key: Json;
  beforeAll(async () => {
    const { admin, chat } = desk.gateway;
    account = (await admin("POST", "/accounts", { name: NAME })).json;
    await admin("POST", `/accounts/${account.id}/credits`, { amount: 1_000, reason: "R".repeat(500) });
    key = (await admin("POST", "/keys", { account_id: account.id, name: NAME })).json;
    const headers = { authorization: `Bearer ${key.key}` };
    const body = { model: "openai/gpt-5.6-luna", messages: [{ role: "user", content: "Hi" }] };
    expect((await chat(body, { headers })).status).toBe(200);
  });
  const isWide = (page: Page, selector: string): Promise<boolean> =>
    page.evaluate(`(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth)(
      document.querySelector(${JSON.stringify(selector)}))`);

  desk.story("makes no page wider", async ({ page }) => {
    const places = ["overview", "requests", "accounts", "accounts?tab=keys", "keys/new", "settings"];
    for (const path of [...places, `accounts/${account.id}`, `keys/${key.id}`]) {
      await page.goto(`${desk.gateway.url}/console/${path}`);
      await page.waitForLoadState("networkidle");
      expect([path, await isWide(page, "html")]).toEqual([path, false]);
    }
  });

  desk.story("folds no column of a list", async ({ page }) => {
    for (const path of ["requests", "accounts", "accounts?tab=keys", `accounts/${account.id}`]) {
      await page.goto(`${desk.gateway.url}/console/${path}`);
      await page.waitForLoadState("networkidle");
      expect([path, await page.locator("caption").allTextContents()]).toEqual([path, []]);
    }
  });

  desk.story("makes no dialog wider", async ({ page }) => {
    await page.goto(`${desk.gateway.url}/console/accounts/${account.id}`);
    for (const name of ["Close…", "Rename…", "Credit…"]) {
      await page.getByRole("button", { name }).click();
      await page.getByRole("dialog").waitFor();
      expect([name, await isWide(page, "[role=dialog]")]).toEqual([name, false]);
      await page.keyboard.press("Escape");
      await page.getByRole("dialog").waitFor({ state: "detached" });
    }
  });
});

describeInLooks("a place that is opened", (next) => {
  const desk = useDesk(next);

  desk.story(
    "makes all its reads as one request, which is on its way before the page is drawn",
    async ({ page }) => {
      const call = { model: "openai/gpt-5.6-luna", messages: [{ role: "user", content: "hi" }] };
      expect((await desk.gateway.chat(call)).status).toBe(200);
      await page.goto(`${desk.gateway.url}/console/settings`);
      await page.waitForLoadState("networkidle");
      const asked: Request[] = [];
      page.on("request", (request) => {
        if (request.url().includes("/console/api/")) asked.push(request);
      });
      await page.evaluate(WATCH_HEADING);
      await openPlace(page, "Overview");
      await page.locator("main figure canvas").nth(2).waitFor();
      expect(asked).toHaveLength(1);
      const sent = asked[0]?.postDataJSON() as { readonly reads: readonly string[] } | undefined;
      expect(sent?.reads.length).toBeGreaterThan(12);
      expect(await page.evaluate<boolean>(IS_AHEAD)).toBe(true);
    },
  );
});
