import { beforeAll, expect } from "bun:test";
import type { Locator, Page } from "playwright-core";
import { ADMIN_TOKEN, type Json } from "../gateway/gateway.ts";
import { signIn } from "./browser.ts";
import { useDesk } from "./desk.ts";
import { fillDesk, type Filled } from "./fill.ts";
import { rowsOf } from "./hands.ts";
import { describeInLooks } from "./looks.ts";

// What each screen must show, and that it is what the admin API answers.

/** Keeps how far the page has jumped, as the browser counts it, and not what a reader's input has moved. */
const WATCH_JUMPS = `globalThis.jumped = 0;
  new PerformanceObserver((list) => {
    for (const { value } of list.getEntries()) jumped += value;
  }).observe({ type: "layout-shift" });`;

/** How wide an image is, once it was read. */
const widthOf = async (image: Json): Promise<number> => {
  await image.decode();
  return image.naturalWidth;
};

const DAY_SEC = 86_400;
const CREDITS_PER_USD = 10_000;

/** Numbers as the console writes them. */
const written = (least: number, most: number) => {
  const format = new Intl.NumberFormat("en", { minimumFractionDigits: least, maximumFractionDigits: most });
  return (value: number): string => format.format(value).replace("-", "−");
};
const [count, grouped, credits, exactCredits] = [written(0, 0), written(0, 6), written(2, 2), written(2, 6)];

describeInLooks("a screen shows", (next) => {
  const desk = useDesk(next);
  let filled: Filled;
  beforeAll(async () => {
    filled = await fillDesk(desk);
  }, 60_000);

  /** The last day of the gateway's clock, which is ahead of the browser's. */
  const aDay = (): string => {
    const nowSec = Math.ceil(desk.clock.nowMs() / 1_000);
    return `from=${nowSec - DAY_SEC}&to=${nowSec + 60}`;
  };
  const go = (page: Page, path: string) => page.goto(`${desk.gateway.url}/console/${path}`);
  const panel = (page: Page, name: string): Locator => page.getByRole("region", { name, exact: true });
  const figure = (page: Page, name: RegExp | string): Locator =>
    page.getByRole("group", { name, exact: typeof name === "string" });
  /** Waits until each of these stands in a part of the page. */
  const stands = async (part: Locator, texts: readonly string[]): Promise<void> => {
    for (const text of texts) await part.getByText(text).first().waitFor();
  };

  desk.story(
    "on Overview what is spent, how fast answers come, and whether all is well",
    async ({ page }) => {
      const [total] = (await desk.read(`/usage?${aDay()}&interval=all&group_by=none`)).data as Json[];
      await go(page, `overview?${aDay()}`);
      await stands(figure(page, "Spend"), [credits(total.credit)]);
      await stands(figure(page, "Requests"), [count(total.requests)]);
      await stands(figure(page, /^Forecast for/), [`${credits(total.credit)} cr so far`]);
      await stands(figure(page, "Tokens"), [" in", " out"]);
      await stands(figure(page, "Error rate"), ["0 failed", "1 refused"]);
      await stands(figure(page, "Latency, p50"), ["p95"]);
      await stands(figure(page, "First token, p50"), ["p95"]);
      await stands(figure(page, "Tasks running"), ["0 waiting"]);
      await stands(panel(page, "Tasks by state"), ["Completed", "Failed"]);
      const { data: routes } = await desk.read("/routes");
      await stands(panel(page, "Routes"), [count(routes.length), "Healthy"]);
      await stands(panel(page, "Top models"), [filled.model]);
      await stands(panel(page, "Top accounts"), ["Filled"]);
      await stands(panel(page, "Top keys"), ["filled"]);
      // The sandbox serves, and every page says so.
      await stands(page.getByRole("banner"), ["Sandbox"]);
    },
  );

  desk.story("on Overview new numbers by themselves, and nothing jumps", async ({ page }) => {
    const chat = async (): Promise<void> => {
      const body = { model: filled.model, messages: [{ role: "user", content: "Hi" }] };
      const headers = { authorization: `Bearer ${desk.gateway.key}` };
      expect((await desk.gateway.chat(body, { headers })).status).toBe(200);
    };
    // The key has its line among the top keys before.
    await chat();
    const [{ requests: before }] = (await desk.read(`/usage?${aDay()}&interval=all&group_by=none`)).data;
    await go(page, `overview?${aDay()}`);
    const requests = figure(page, "Requests");
    await requests.getByText(count(before), { exact: true }).waitFor();
    await page.waitForLoadState("networkidle");
    await page.evaluate(WATCH_JUMPS);
    await chat();
    await requests.getByText(count(before + 1), { exact: true }).waitFor();
    expect(await page.evaluate<number>("jumped")).toBeLessThan(0.001);
  });

  desk.story(
    "on the page of a request its way, its attempts, and the sum of its charge",
    async ({ page }) => {
      const request = await desk.read(`/requests/${filled.request}`);
      await go(page, `requests/${filled.request}`);
      await stands(panel(page, "Timeline"), ["Check and hold", "Prepare", "Answer", "Settle"]);
      expect(await rowsOf(panel(page, "Attempts")).count()).toBe(request.attempts.length);
      await stands(panel(page, "Attempts"), ["sandbox", "Answered"]);
      await stands(
        panel(page, "Tokens by bucket"),
        Object.values<number>(request.usage).map((tokens) => count(tokens)),
      );
      const charge = panel(page, "Charge");
      const lines: readonly Json[] = request.lines;
      await stands(charge, [
        ...lines.flatMap(({ quantity, credit }) => [grouped(quantity), exactCredits(credit)]),
        credits(request.credit),
      ]);
      // What stands there is a sum.
      const sum = lines.reduce((all, { credit }) => all + credit, 0);
      expect(sum).toBeCloseTo(request.credit, 6);
      await stands(panel(page, "Ledger"), [exactCredits(-request.credit)]);
      await stands(page.getByRole("main"), ["The client received the whole answer."]);
      await panel(page, "Details").getByRole("link", { name: "Filled", exact: true }).click();
      await page.waitForURL(`**/accounts/${filled.account}`);
    },
  );

  desk.story("on the page of a task its states, its attempts, its job and what it made", async ({ page }) => {
    const task = await desk.read(`/tasks/${filled.task}`);
    await go(page, `tasks/${filled.task}`);
    await stands(panel(page, "States"), ["Pending", "Running", "Completed"]);
    await stands(figure(page, "Attempts"), [count(task.attempts)]);
    await stands(panel(page, "Details"), [task.job, task.provider]);
    const image = panel(page, "Images").locator("img").first();
    await image.waitFor();
    expect(await image.evaluate(widthOf)).toBe(512);
  });

  desk.story(
    "on the page of a model its limits, prices, routes and examples, and what a request costs",
    async ({ page }) => {
      await go(page, `models/${encodeURIComponent(filled.model)}`);
      await stands(panel(page, "What it takes and gives"), ["Context", "Longest output", "Chat completions"]);
      const arithmetic = panel(page, "What a request costs");
      await arithmetic.getByLabel("Output, tokens").fill("1000000");
      await arithmetic.getByLabel("Input, tokens").fill("0");
      const { data: models } = await desk.read("/prices");
      const { prices } = models.find(({ unique_id }: Json) => unique_id === `language/${filled.model}`);
      const { price } = prices.find(({ bucket }: Json) => bucket === "output");
      await stands(arithmetic, [`${credits(price * CREDITS_PER_USD)} credits`]);
      await stands(panel(page, "Prices"), ["Input", "Output"]);
      // All columns are there.
      expect(await page.getByText("Not shown for lack of room").count()).toBe(0);
      await stands(panel(page, "Routes and their health"), ["sandbox", "Healthy"]);
      await stands(panel(page, "Examples"), ["curl -sS"]);
      await stands(panel(page, "Parameters"), ["messages", "max_completion_tokens"]);
      await stands(panel(page, "Limits"), ["Body of a request"]);
      const address = await page.getByRole("link", { name: "llms.txt" }).getAttribute("href");
      const text = await (await page.request.get(new URL(address ?? "", desk.gateway.url).href)).text();
      expect(text).toContain(filled.model);
    },
  );

  desk.story(
    "on Health the invariants with their last run, the store, what waits, and no secret",
    async ({ page }) => {
      const status = await desk.read("/status");
      await go(page, "health?settings=true&providers=true&all=true&invariants=true");
      await stands(panel(page, "Gateway"), [
        status.version,
        status.store.engine,
        "Tasks waiting",
        "Open holds",
      ]);
      await page.getByRole("button", { name: "Run now" }).click();
      await stands(panel(page, "Invariants").first(), ["Last run", "Holds"]);
      await stands(panel(page, "Providers").first(), ["sandbox", "Live"]);
      await stands(panel(page, "Routes and breakers").first(), [filled.model]);
      await stands(panel(page, "Configuration in force").first(), ["process.sandbox"]);
      const html = await page.content();
      for (const secret of [ADMIN_TOKEN, desk.gateway.key]) expect(html.includes(secret)).toBe(false);
    },
  );

  desk.story(
    "on the page of an account what it has, what is held, and each entry's balance",
    async ({ page }) => {
      const account = await desk.read(`/accounts/${filled.account}`);
      const { data: entries } = await desk.read(`/accounts/${filled.account}/ledger`);
      await go(page, `accounts/${filled.account}`);
      await stands(figure(page, "Balance, cr"), [credits(account.balance)]);
      await stands(figure(page, "Held, cr"), [credits(account.held)]);
      await stands(panel(page, "Keys").first(), ["filled", "1,000.00"]);
      const balances = rowsOf(panel(page, "Ledger").first()).locator('td[data-label="Balance, cr · USD"]');
      await balances.nth(entries.length - 1).waitFor();
      expect(await balances.count()).toBe(entries.length);
      const shown = (await balances.allTextContents()).map((text) => text.split(" ")[0] ?? "");
      expect(shown.toSorted()).toEqual(entries.map((entry: Json) => credits(entry.balance_after)).toSorted());
    },
  );

  desk.story(
    "how long requests took behind the percentiles, and exact times on relative ones",
    async ({ page }) => {
      const rows = (await desk.read(`/usage?${aDay()}&group_by=none&figures=latency_spread`)).data as Json[];
      expect(rows.flatMap(({ latency_spread }) => latency_spread).length).toBeGreaterThan(0);
      await go(page, `overview?${aDay()}`);
      await stands(page.getByRole("figure", { name: "Latency" }), [
        "completed requests, the denser the more",
      ]);

      const { ended_at: endedAt } = await desk.read(`/requests/${filled.request}`);
      await go(page, `requests?id=${filled.request}`);
      const time = page.getByRole("region", { name: "Table of requests" }).locator("time").first();
      const title = new Date((await time.getAttribute("title")) ?? "");
      expect(Math.floor(title.getTime() / 1_000)).toBe(Math.floor(endedAt));
      expect(await time.textContent()).toMatch(/ago|in |now/);
    },
  );

  desk.story("on the page of a key its budget and its limits, and what is used of them", async ({ page }) => {
    const given = { budget: 1_000, limits: { requests_per_minute: 600 } };
    const key = { account_id: filled.account, name: "limited", ...given };
    const { json: made } = await desk.gateway.admin("POST", "/keys", key);
    const body = { model: filled.model, messages: [{ role: "user", content: "Hi" }] };
    const headers = { authorization: `Bearer ${made.key}` };
    for (let at = 0; at < 3; at += 1) expect((await desk.gateway.chat(body, { headers })).status).toBe(200);
    const { spent } = await desk.read(`/keys/${made.id}`);
    await go(page, `keys/${made.id}`);
    const rights = panel(page, "What it may do");
    await stands(rights, [`${credits(spent)} cr`, "spent and", `${credits(given.budget)} cr`]);
    const bar = rights.getByRole("progressbar", { name: "Used of the budget" });
    expect([await bar.getAttribute("value"), await bar.getAttribute("max")]).toEqual([`${spent}`, "1000"]);
    await stands(rights, ["3 of 600 used", "no limit"]);
    await stands(panel(page, "Last requests"), [filled.model]);
  });

  desk.story("on Welcome the first call by curl and by the SDK of each format", async ({ page }) => {
    await go(page, `welcome?model=${filled.model}`);
    const call = panel(page, "2. A call");
    for (const [client, code] of [
      ["curl", "curl "],
      ["OpenAI SDK", "new OpenAI("],
      ["Anthropic SDK", "new Anthropic("],
      [/^Google/, "new GoogleGenAI("],
    ] as const) {
      await call.getByRole("tab", { name: client }).click();
      const text = await call
        .getByRole("tabpanel")
        .locator("code, pre")
        .filter({ hasText: code })
        .first()
        .textContent();
      expect(text).toContain(desk.gateway.url);
    }
    await call.getByRole("link", { name: "Try it here" }).waitFor();
  });

  desk.visit("on Overview how far its figures are from those of the period before", async (opened) => {
    const { page } = opened;
    const HOUR_SEC = 3_600;
    const chats = async (count: number): Promise<void> => {
      const body = { model: filled.model, max_tokens: 8, messages: [{ role: "user", content: "Hi" }] };
      for (let at = 0; at < count; at += 1) expect((await desk.gateway.chat(body)).status).toBe(200);
    };
    const hour = Math.ceil(desk.clock.nowMs() / 1_000 / HOUR_SEC) * HOUR_SEC;
    await desk.clock.advance((hour + 60) * 1_000 - desk.clock.nowMs());
    await chats(4);
    await desk.clock.advance(HOUR_SEC * 1_000);
    await chats(6);
    await signIn(opened, desk.gateway.url, ADMIN_TOKEN);
    opened.faults();
    await go(page, `overview?from=${hour + HOUR_SEC}&to=${hour + 2 * HOUR_SEC}`);
    await stands(figure(page, "Requests"), ["6", "+50%"]);
    await stands(figure(page, "Spend"), ["+50%"]);
    await stands(figure(page, "Tokens"), ["+50%"]);
    await stands(figure(page, "Error rate"), ["0 failed", "0% before"]);
    await opened.picture("overview-deltas");
    // The hour after has nothing, and the one that is compared is that of the six.
    await go(page, `overview?from=${hour + 2 * HOUR_SEC}&to=${hour + 3 * HOUR_SEC}`);
    await stands(figure(page, "Requests"), ["0", "−100%"]);
    // Before the hour after next there is nothing to compare with.
    await go(page, `overview?from=${hour + 3 * HOUR_SEC}&to=${hour + 4 * HOUR_SEC}`);
    await stands(figure(page, "Requests"), ["0"]);
    await page.waitForLoadState("networkidle");
    expect(await figure(page, "Requests").innerText()).not.toContain("%");
  });
});
