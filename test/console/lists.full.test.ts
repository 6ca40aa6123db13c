import { beforeAll, expect } from "bun:test";
import { readFileSync } from "node:fs";
import type { Page } from "playwright-core";
import type { Json } from "../gateway/gateway.ts";
import { until } from "../tasks/station.ts";
import { useDesk } from "./desk.ts";
import { isOnPhone, openFilters, orderBy, rowsOf } from "./hands.ts";
import { describeInLooks } from "./looks.ts";
import { reads } from "./reads.ts";

// Every list filters, sorts, pages and exports, and its address keeps what is shown: for a reload, for Back, for others.

const LUNA = "openai/gpt-5.6-luna";
/** Whether no table of the page is wider than its room. */
const IS_FITTING = `[...document.querySelectorAll("[role=region]:has(> table)")]
  .every(({ scrollWidth, clientWidth }) => scrollWidth <= clientWidth)`;
/** Counts in the page how often what its main part holds leaves the document. */
const WATCH_PAGE = `globalThis.left = 0;
  new MutationObserver((changes) => {
    for (const { removedNodes } of changes) left += removedNodes.length;
  }).observe(document.querySelector("main"), { childList: true });`;
/** How high the ids of models in a list are. */
const MODEL_HEIGHTS = `[...document.querySelectorAll('td[data-label="Model"] > [title]')]
  .map((each) => each.getBoundingClientRect().height)`;
/** Where the dollars of each account's balance begin. */
const DOLLAR_PLACES = `[...document.querySelectorAll('td[data-label^="Balance"] > span > span')]
  .map((each) => each.getBoundingClientRect().left)`;
/** One read of a list gives this many. */
const PAGE = 100;

describeInLooks("a list", (next) => {
  const desk = useDesk(next);
  let second: Json;
  let secondKey: Json;
  let other: string;

  beforeAll(async () => {
    const { gateway } = desk;
    const models = (await (
      await fetch(`${gateway.url}/api/v1/models`, { headers: { authorization: `Bearer ${gateway.key}` } })
    ).json()) as Json;
    other = models.data.find(
      ({ vendor, category }: Json) => vendor === "anthropic" && category === "language",
    ).id;
    second = (await gateway.admin("POST", "/accounts", { name: "Second" })).json;
    await gateway.admin("POST", `/accounts/${second.id}/credits`, { amount: 100_000, reason: "a test" });
    secondKey = (await gateway.admin("POST", "/keys", { account_id: second.id, name: "second key" })).json;
    const chat = async (model: string, key: string, max_tokens: number): Promise<number> => {
      const body = { model, max_tokens, messages: [{ role: "user", content: "Say hello." }] };
      return (await gateway.chat(body, { headers: { authorization: `Bearer ${key}` } })).status;
    };
    for (let at = 0; at <= PAGE; at += 1) expect(await chat(LUNA, gateway.key, 8 + (at % 3))).toBe(200);
    for (let at = 0; at < 2; at += 1) expect(await chat(other, secondKey.key, 8)).toBe(200);
    expect(await chat(LUNA, gateway.key, -1)).toBe(400);
    expect(await chat(LUNA, "sk-nobody", 8)).toBe(401);
    for (const [path, model] of [
      ["/api/v1/images/generations", "alibaba/qwen-image-2.0"],
      ["/api/v1/videos", "bytedance/seedance-2.0-fast"],
    ] as const) {
      const body = path.endsWith("videos") ? { resolution: "480p" } : { size: "512*512", async: true };
      const headers = { "x-sandbox": "pending_ms=3600000" };
      expect((await gateway.post(path, { model, prompt: "A harbour", ...body }, { headers })).status).toBe(
        202,
      );
    }
    for (let at = 0; at < PAGE; at += 1) await gateway.admin("POST", "/accounts", { name: `Team ${at}` });
  }, 120_000);

  const go = (page: Page, path: string) => page.goto(`${desk.gateway.url}/console/${path}`);
  const searchOf = (page: Page): Record<string, string> =>
    Object.fromEntries(new URL(page.url()).searchParams);
  const shown = (page: Page, words: string) => page.getByRole("status").getByText(words).waitFor();

  /** What the button saves, as lines. */
  const exported = async (page: Page, panel: string): Promise<readonly string[]> => {
    const saved = page.waitForEvent("download");
    await page
      .getByRole("region", { name: panel, exact: true })
      .getByRole("button", { name: "Export" })
      .click();
    const file = await saved;
    expect(file.suggestedFilename()).toEndWith(".csv");
    return readFileSync(await file.path(), "utf8")
      .trimEnd()
      .split("\r\n");
  };

  desk.story("of requests pages, and its filters stand in the address", async (opened) => {
    const { page } = opened;
    await go(page, "requests");
    await shown(page, `${PAGE} requests shown`);
    // Also the rows that are not loaded are in the file.
    expect((await exported(page, "Requests that ended")).length).toBe(PAGE + 3 + 1);
    await page.getByRole("button", { name: "Load more" }).click();
    await shown(page, `${PAGE + 3} requests shown`);
    expect(await page.getByRole("button", { name: "Load more" }).count()).toBe(0);

    const filters = await openFilters(page);
    await filters.getByLabel("Model").fill(other);
    await page.keyboard.press("Enter");
    await shown(page, "2 requests shown");
    expect(searchOf(page)).toEqual({ model: other });
    const lines = await exported(page, "Requests that ended");
    expect(lines.length).toBe(3);
    expect(lines[0]).toStartWith("Ended,Request,Model,Provider,Key,Outcome");
    expect(lines[1]).toContain(`,${other},`);

    // The rows before stand dimmed until those of the next filter are there.
    const held = Promise.withResolvers<void>();
    await page.route(/\/console\/api\//, async (route) => {
      if (reads(route.request(), /\/requests\?/)) await held.promise;
      await route.fallback();
    });
    await filters.getByLabel("Account").selectOption({ label: "test" });
    const table = page.getByRole("region", { name: "Table of requests" });
    await page.locator('[aria-busy="true"]').filter({ has: table }).waitFor();
    expect(await rowsOf(table).count()).toBe(2);
    expect(await page.getByRole("button", { name: "Export" }).isDisabled()).toBe(true);
    held.resolve();
    await page.getByText("No request fits these filters").waitFor();
    await opened.picture("requests-no-match");
    await page.goBack();
    await shown(page, "2 requests shown");
    expect(searchOf(page)).toEqual({ model: other });
    await page.reload();
    await shown(page, "2 requests shown");
    await openFilters(page);
    expect(await filters.getByLabel("Model").inputValue()).toBe(other);
    await page.getByRole("button", { name: "Clear filters" }).click();
    await shown(page, `${PAGE} requests shown`);
    expect(searchOf(page)).toEqual({});
    expect(await filters.getByLabel("Model").inputValue()).toBe("");
  });

  desk.story("that was open before stays in the document while it is read again", async ({ page }) => {
    await go(page, "requests");
    await shown(page, `${PAGE} requests shown`);
    await rowsOf(page.getByRole("region", { name: "Table of requests" }))
      .first()
      .getByRole("link")
      .first()
      .click();
    await page.getByRole("heading", { level: 2 }).first().waitFor();
    await page.goBack();
    await shown(page, `${PAGE} requests shown`);
    await page.evaluate(WATCH_PAGE);
    await page.getByRole("button", { name: "Load more" }).click();
    await shown(page, `${PAGE + 3} requests shown`);
    const filters = await openFilters(page);
    await filters.getByLabel("Account").selectOption({ label: "Second" });
    await shown(page, "2 requests shown");
    expect(await page.evaluate("left")).toBe(0);
  });

  desk.story("is put in order by a head, either way, also after a reload", async ({ page }) => {
    await go(page, "requests");
    const table = page.getByRole("region", { name: "Table of requests" });
    const cells = rowsOf(table).locator('td[data-label="Tokens out"]');
    const tokens = async (): Promise<readonly number[]> => {
      // Those below the window are drawn after the others.
      await until(async () => (await cells.count()) === PAGE, "all rows");
      return (await cells.allTextContents()).map(Number);
    };
    const list = page.getByRole("region", { name: "Requests that ended" });
    /** What tells the reader the order: a head, and on a phone the choice. */
    const toldOrder = async (): Promise<string | null> =>
      isOnPhone(page)
        ? list.getByLabel("Order").locator("option:checked").textContent()
        : list.getByRole("columnheader", { name: /^Tokens out/ }).getAttribute("aria-sort");
    await orderBy(list, "Tokens out");
    await shown(page, "in order among these");
    expect(searchOf(page)).toEqual({ sort: "-out" });
    expect(await toldOrder()).toBe(isOnPhone(page) ? "Tokens out ↓" : "descending");
    const down = await tokens();
    expect(down).toEqual(down.toSorted((a, b) => b - a));
    expect(new Set(down).size).toBeGreaterThan(1);
    await orderBy(list, "Tokens out", "↑");
    await page.waitForURL(/sort=out/);
    await page.reload();
    await shown(page, "in order among these");
    expect(await tokens()).toEqual(down.toReversed());
    expect(await toldOrder()).toBe(isOnPhone(page) ? "Tokens out ↑" : "ascending");
  });

  desk.story(
    "folds its least important columns where it has no room, and never scrolls sideways",
    async ({ page }) => {
      const heads = (): Promise<readonly string[]> => page.getByRole("columnheader").allTextContents();
      const fits = () =>
        until(async () => (await page.evaluate(IS_FITTING)) === true, "a table without a sideways scroll");
      // A phone has cards, without heads.
      await page.setViewportSize({ width: 1440, height: 900 });
      await go(page, "requests");
      await shown(page, `${PAGE} requests shown`);
      const all = await heads();
      for (const width of [1280, 1024, 720]) {
        await page.setViewportSize({ width, height: 900 });
        await fits();
      }
      const few = await heads();
      expect(few.length).toBeLessThan(all.length);
      expect(few.map((head) => head.trim())).toContain("Outcome");
      expect((await exported(page, "Requests that ended"))[0]).toContain("Provider");
      await page.setViewportSize({ width: 1440, height: 900 });
      await until(async () => (await heads()).length === all.length, "all columns");
      expect(await heads()).toEqual(all);

      await page.setViewportSize({ width: 720, height: 900 });
      for (const path of [
        "requests?tab=refused",
        "tasks",
        "models",
        "accounts",
        "accounts?tab=keys",
        "health",
      ]) {
        await go(page, path);
        await page.getByRole("columnheader").first().waitFor();
        await fits();
      }
    },
  );

  desk.story("of refusals has its own filters, which the other tab does not take along", async ({ page }) => {
    await go(page, "requests");
    await page.getByRole("tab", { name: "Refused" }).click();
    await shown(page, "2 refusals shown");
    expect(searchOf(page)).toEqual({ tab: "refused" });
    await (await openFilters(page)).getByLabel("Status").selectOption("401");
    await shown(page, "1 refusal shown");
    await page.reload();
    await shown(page, "1 refusal shown");
    expect((await exported(page, "Refusals")).length).toBe(2);
    await page.getByLabel("Group refusals").selectOption("status");
    await page.getByRole("figure").getByText("401").waitFor();
    expect(searchOf(page)).toMatchObject({ tab: "refused", group: "status" });
    await page.getByRole("tab", { name: "Paid" }).click();
    await shown(page, `${PAGE} requests shown`);
    expect(searchOf(page)).toEqual({});
  });

  desk.story("of tasks filters by state, kind and maker", async ({ page }) => {
    await go(page, "tasks");
    await shown(page, "2 tasks shown");
    await page.getByRole("tab", { name: "Pending" }).click();
    await (await openFilters(page)).getByLabel("Kind").selectOption({ label: "Video" });
    await shown(page, "1 task shown");
    expect(searchOf(page)).toEqual({ status: "pending", kind: "video" });
    await page.reload();
    await shown(page, "1 task shown");
    expect((await exported(page, "Images and videos")).length).toBe(2);
    await page.goBack();
    await shown(page, "2 tasks shown");
  });

  desk.story("of accounts and of keys is searched, put in order and exported", async ({ page }) => {
    await go(page, "accounts");
    await shown(page, `${PAGE} accounts shown`);
    await page.getByRole("button", { name: "Load more" }).click();
    await shown(page, `${PAGE + 2} accounts shown`);
    await (await openFilters(page)).getByLabel("Name or id").fill("second");
    await page.keyboard.press("Enter");
    await shown(page, "1 account shown");
    expect(searchOf(page)).toEqual({ text: "second" });
    expect((await exported(page, "Accounts")).length).toBe(2);
    await page.getByRole("link", { name: "1", exact: true }).click();
    await page.getByRole("region", { name: "Table of keys" }).getByText("second key").waitFor();
    expect(searchOf(page)).toEqual({ tab: "keys", account_id: second.id, status: "live" });
    await page.reload();
    const keys = page.getByRole("region", { name: "Table of keys" });
    await keys.getByText("second key").waitFor();
    await orderBy(page.getByRole("region", { name: "Keys", exact: true }), "Spent in all");
    await page.waitForURL(/sort=-spent/);
    expect(await rowsOf(keys).count()).toBe(1);
    expect((await exported(page, "Keys"))[1]).toStartWith("second key,Second,live,");
  });

  desk.story("of an account's keys and of its ledger stand in one address", async ({ page }) => {
    await go(page, `accounts/${second.id}`);
    await orderBy(page.getByRole("region", { name: "Keys", exact: true }), "Spent in all");
    await page.waitForURL(/keys=-spent/);
    await (await openFilters(page)).getByLabel("What").selectOption({ label: "Charge" });
    await shown(page, "2 entries shown");
    expect(searchOf(page)).toEqual({ keys: "-spent", kind: "settle" });
    await page.reload();
    await shown(page, "2 entries shown");
    expect((await exported(page, "Ledger")).length).toBe(3);
  });

  desk.story("of models is narrowed by what a model takes, costs and is called", async ({ page }) => {
    await go(page, "models");
    await page
      .getByRole("status")
      .getByText(/^(\d+) of \1 models/)
      .waitFor();
    const filters = await openFilters(page);
    await filters.getByLabel("Category").selectOption("video");
    await filters.getByLabel("Name, id or maker").fill("seedance");
    await page.keyboard.press("Enter");
    await page.waitForURL(/text=seedance/);
    expect(searchOf(page)).toEqual({ category: "video", text: "seedance" });
    await page.reload();
    const table = page.getByRole("region", { name: "Table of models" });
    await table.getByText("bytedance/seedance-2.0-fast").waitFor();
    const names = await rowsOf(table).locator('td[data-label="Model"]').allTextContents();
    expect(names.every((name) => /seedance/i.test(name))).toBe(true);
    expect((await exported(page, "Models that are served")).length).toBe(names.length + 1);
  });

  desk.story("of routes is narrowed by state and provider", async ({ page }) => {
    await go(page, "health");
    const panel = page.getByRole("region", { name: "Routes and breakers" }).first();
    await panel.getByLabel("Model").fill("seedance-2.0-fast");
    await panel.getByLabel("State").selectOption("healthy");
    await page.waitForURL(/state=healthy/);
    await page.reload();
    expect(await panel.getByLabel("Model").inputValue()).toBe("seedance-2.0-fast");
    const models = rowsOf(panel).locator('td[data-label="Model"]');
    await models.first().waitFor();
    const names = await models.allTextContents();
    expect(names.every((name) => name.includes("seedance-2.0-fast"))).toBe(true);
  });

  desk.story("has ids of models in one line, and credits in line with each other", async ({ page }) => {
    for (const width of [720, 800, 900]) {
      await page.setViewportSize({ width, height: 900 });
      for (const path of ["requests", "tasks", "health"]) {
        await go(page, path);
        await page.locator('td[data-label="Model"] > [title]').first().waitFor();
        const heights = await page.evaluate<number[]>(MODEL_HEIGHTS);
        expect([path, width, Math.max(...heights) <= 20]).toEqual([path, width, true]);
      }
    }
    await go(page, "accounts");
    await shown(page, `${PAGE} accounts shown`);
    const dollars = page.locator('td[data-label="Balance, cr · USD"] > span > span');
    const texts = new Set((await dollars.allTextContents()).map((text) => text.length));
    expect(texts.size).toBeGreaterThan(1);
    const lefts = await page.evaluate<number[]>(DOLLAR_PLACES);
    expect(new Set(lefts).size).toBe(1);
  });

  desk.story(
    "of accounts and of keys is searched as a whole, also what no page shows yet",
    async ({ page }) => {
      for (let at = 0; at <= PAGE; at += 1)
        await desk.gateway.admin("POST", "/keys", { account_id: second.id, name: `Number ${at}` });
      for (const [path, text, noun] of [
        ["accounts?", `Team ${PAGE - 1}`, "account"],
        ["accounts?tab=keys&", `Number ${PAGE}`, "key"],
      ] as const) {
        await go(page, `${path}text=${encodeURIComponent(text)}`);
        await page.getByRole("link", { name: text, exact: true }).waitFor();
        await shown(page, `1 ${noun} shown`);
      }
      await go(page, "accounts?text=nobody");
      await page.getByText("No account is like that").waitFor();
    },
  );

  desk.story(
    "says how far an export is, stops it at a click, and says why there is no file",
    async (opened) => {
      const { page } = opened;
      await go(page, "requests");
      await shown(page, `${PAGE} requests shown`);
      const held = Promise.withResolvers<void>();
      await page.route(/\/requests\?.*limit=1000/, async (route) => {
        await held.promise;
        await route.abort();
      });
      const panel = page.getByRole("region", { name: "Requests that ended", exact: true });
      await panel.getByRole("button", { name: "Export" }).click();
      await panel.getByText("0 of at most 50,000 rows read").waitFor();
      await opened.picture("export-reads");
      await panel.getByRole("button", { name: "Stop" }).click();
      await panel.getByRole("button", { name: "Export" }).click();
      held.resolve();
      await panel.getByText("Not exported. The gateway cannot be reached.").waitFor();
      await opened.picture("export-failed");
      opened.faults();
    },
  );

  desk.story("of accounts or of keys is in no order before all its rows are read", async ({ page }) => {
    await desk.clock.advance(1_000);
    const { json: last } = await desk.gateway.admin("POST", "/accounts", { name: "Made last" });
    for (let at = 0; at < PAGE; at += 1)
      await desk.gateway.admin("POST", "/keys", { account_id: last.id, name: `Key ${at}` });
    const budget = { account_id: last.id, name: "Largest", budget: 9_000 };
    await desk.gateway.admin("POST", "/keys", budget);
    for (const [path, title, first] of [
      ["accounts?sort=-since", "Since", "Made last"],
      [`accounts?tab=keys&account_id=${last.id}&sort=-budget`, "Budget", "Largest"],
    ] as const) {
      const held = Promise.withResolvers<void>();
      await page.route(/\/console\/api\//, async (route) => {
        if (reads(route.request(), /[?&]after=/)) await held.promise;
        await route.fallback();
      });
      await go(page, path);
      const list = page.getByRole("region", { name: /^Table of/ });
      await shown(page, "oldest first until all are read");
      expect(await rowsOf(list).first().innerText()).not.toContain(first);
      held.resolve();
      await rowsOf(list).first().getByText(first).waitFor();
      await shown(page, "in order among these");
      const head = list.locator("th[aria-sort=descending]");
      expect(await head.allTextContents()).toEqual([expect.stringContaining(title)]);
      await page.unroute(/\/console\/api\//);
    }
  });
});
