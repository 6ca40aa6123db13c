import { expect } from "bun:test";
import type { Page } from "playwright-core";
import { until } from "../tasks/station.ts";
import { useDesk } from "./desk.ts";
import { openPlace } from "./hands.ts";
import { describeInLooks } from "./looks.ts";
import { ADMIN_TOKEN } from "../gateway/gateway.ts";
import { fillGateway, type Filled } from "./fill.ts";

// The ways to a page: the palette by the keyboard, the range of time, a part of a chart, the rail.

describeInLooks("a page is found", (next) => {
  const desk = useDesk(next);
  let filled: Promise<Filled> | undefined;
  const things = (): Promise<Filled> =>
    (filled ??= fillGateway(desk.gateway.url, desk.gateway.key, ADMIN_TOKEN));
  const searchOf = (page: Page): Record<string, string> =>
    Object.fromEntries(new URL(page.url()).searchParams);

  desk.story("by an id that is put into the palette", async (opened) => {
    const { page } = opened;
    const { request, task, account, key } = await things();
    const places = [
      [request, "requests", "Request"],
      [task, "tasks", "Task"],
      [account, "accounts", "Filled"],
      [key, "keys", "filled"],
    ] as const;
    for (const [id, place, heading] of places) {
      await page.keyboard.press("Control+k");
      const input = page.getByRole("combobox", { name: /Go to a page/ });
      await input.fill(id);
      await page.keyboard.press("Enter");
      await page.getByRole("heading", { level: 1, name: heading, exact: true }).waitFor();
      expect(page.url()).toBe(`${desk.gateway.url}/console/${place}/${id}`);
      await input.waitFor({ state: "detached" });
    }
  });

  desk.story(
    "by a part of its name, with the arrows, and Escape leaves things as they were",
    async (opened) => {
      const { page } = opened;
      await page.getByRole("button", { name: "Go to" }).click();
      const input = page.getByRole("combobox", { name: /Go to a page/ });
      await input.fill("luna");
      await page.getByRole("option", { name: /luna/ }).first().waitFor();
      expect(await opened.axe()).toEqual([]);
      await opened.picture("palette");
      await input.fill("no such thing");
      await page.getByRole("status").getByText("No page, model or id is called that.").waitFor();
      await input.fill("s");
      const options = page.getByRole("option");
      await page.keyboard.press("ArrowDown");
      expect(await options.nth(1).getAttribute("aria-selected")).toBe("true");
      expect(await input.getAttribute("aria-activedescendant")).toBe(await options.nth(1).getAttribute("id"));
      await page.keyboard.press("Escape");
      await input.waitFor({ state: "detached" });
      expect(page.url()).toEndWith("/console/overview");
      await page.keyboard.press("Control+k");
      await input.fill("heal");
      await page.keyboard.press("Enter");
      await page.getByRole("heading", { level: 1, name: "Health" }).waitFor();
    },
  );

  desk.story("with the range of time, which goes along from page to page", async ({ page }) => {
    const range = page.getByLabel("Range of time");
    await range.selectOption({ label: "Last 7 days" });
    await page.waitForURL(/range=7d/);
    await openPlace(page, "Requests");
    await page.getByRole("heading", { level: 1, name: "Requests" }).waitFor();
    expect(searchOf(page)).toEqual({ range: "7d" });
    await page.reload();
    await page.getByRole("heading", { level: 1, name: "Requests" }).waitFor();
    expect(await range.inputValue()).toBe("7d");
    await page.goBack();
    await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
    expect(searchOf(page)).toEqual({ range: "7d" });
  });

  desk.story(
    "with charts that follow the range from what is empty to what is not, and back",
    async ({ page }) => {
      await things();
      const range = page.getByLabel("Range of time");
      const [chart, top] = ["Requests by model", "Top models"].map((name) =>
        page.getByRole("region", { name }),
      );
      const expectEmpty = async (): Promise<void> => {
        for (const panel of [chart, top]) await panel?.getByText("Nothing in this range").waitFor();
      };
      await page.goto(`${desk.gateway.url}/console/overview?from=1700000000&to=1700086400`);
      await expectEmpty();
      await range.selectOption({ label: "Last 7 days" });
      await chart?.getByRole("figure").waitFor();
      await top?.getByRole("link").first().waitFor();
      await page.goBack();
      await expectEmpty();
    },
  );

  desk.story("whose charts give a model the colour that it has on all pages", async ({ page }) => {
    const { account } = await things();
    const chat = async (model: string, key: string): Promise<void> => {
      const body = { model, messages: [{ role: "user", content: "Hi" }] };
      const headers = { authorization: `Bearer ${key}` };
      expect((await desk.gateway.chat(body, { headers })).status).toBe(200);
    };
    const { json: key } = await desk.gateway.admin("POST", "/keys", { account_id: account, name: "colours" });
    /** The models of a page's chart with their colours. */
    const coloursOn = async (path: string, few: number): Promise<ReadonlyMap<string, string | null>> => {
      await page.goto(`${desk.gateway.url}/console/${path}`);
      const entries = page
        .getByRole("region", { name: "Requests by model" })
        .locator("figcaption span:has(> svg)");
      await entries.nth(few - 1).waitFor();
      return new Map(
        await Promise.all(
          (await entries.all()).map(
            async (entry) =>
              [
                ((await entry.textContent()) ?? "").split(" ")[0] ?? "",
                await entry.locator("rect").getAttribute("fill"),
              ] as const,
          ),
        ),
      );
    };
    await chat("xai/grok-4.7", key.key);
    const one = await coloursOn(`keys/${key.id}`, 1);
    // By their names alone, this one and the model before have one colour.
    const others = ["anthropic/claude-opus-5.5", "zhipu/glm-5.2"];
    for (const model of others) await chat(model, desk.gateway.key);
    for (const path of ["overview", `accounts/${account}`, `keys/${key.id}`])
      expect((await coloursOn(path, one.size)).get("xai/grok-4.7")).toBe(one.get("xai/grok-4.7") ?? "");
  });

  desk.story("closer: dragging over a chart makes its part the range of the page", async ({ page }) => {
    await things();
    await page.reload();
    const chart = page.getByRole("figure", { name: "Requests by model" }).locator(".u-over");
    await chart.scrollIntoViewIfNeeded();
    const box = await chart.boundingBox();
    if (box === null) throw new Error("The chart has no place.");
    const y = box.y + box.height / 2;
    await page.mouse.move(box.x + box.width * 0.25, y);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.5, y, { steps: 4 });
    await page.mouse.up();
    await page.waitForURL(/from=\d+&to=\d+/);
    const { from, to } = searchOf(page);
    // A quarter of a day, widened to whole hours: the gateway reads a part of one by its requests.
    expect([Number(from) % 3_600, Number(to) % 3_600]).toEqual([0, 0]);
    expect([6, 7]).toContain((Number(to) - Number(from)) / 3_600);
    expect(await page.getByLabel("Range of time").inputValue()).toBe("own");
    await page.goBack();
    await page.waitForURL((url) => !url.searchParams.has("from"));
    expect(await page.getByLabel("Range of time").inputValue()).toBe("24h");
  });

  desk.story("past the rail, by the keyboard alone", async ({ page }) => {
    // A screen that is still drawn takes the focus away.
    await page.getByRole("heading", { level: 1 }).first().waitFor();
    await page.waitForLoadState("networkidle");
    await page.keyboard.press("Tab");
    expect(await page.locator("a:focus").textContent()).toBe("Skip to the page");
    await page.keyboard.press("Enter");
    expect(await page.locator("main:focus").count()).toBe(1);
  });

  desk.story("on all charts of a page at once, with one cursor", async ({ page }) => {
    await things();
    await page.goto(`${desk.gateway.url}/console/overview`);
    const charts = ["Spend by model, credits", "Requests by model", "Latency"].map((name) =>
      page.getByRole("figure", { name }),
    );
    /** The moment whose values the legend of each chart tells. */
    const told = () =>
      Promise.all(charts.map((chart) => chart.locator("figcaption > span").first().textContent()));
    const over = charts[1]?.locator(".u-over");
    for (const chart of charts) await chart.locator(".u-over").waitFor();
    const newest = await told();
    expect(new Set(newest).size).toBe(1);
    await over?.hover({ position: { x: 40, y: 40 } });
    await until(
      async () => (await told()).every((text) => text !== newest[0]),
      "the legends follow the cursor",
    );
    expect(new Set(await told()).size).toBe(1);
  });

  desk.story("by the name of its tab, which is the page's heading", async ({ page }) => {
    for (const [path, title] of [
      ["models", "Models"],
      ["accounts?tab=keys", "Accounts & keys"],
      [`accounts/${desk.gateway.accountId}`, "test"],
      ["nowhere", "There is no such page"],
    ] as const) {
      await page.goto(`${desk.gateway.url}/console/${path}`);
      await page.getByRole("heading", { level: 1, name: title }).waitFor();
      expect(await page.title()).toBe(`${title} · Switchyard`);
    }
    await openPlace(page, "Settings");
    await page.getByRole("heading", { level: 1, name: "Settings" }).waitFor();
    expect(await page.title()).toBe("Settings · Switchyard");
    await page.getByRole("banner").getByRole("button", { name: "Sign out" }).click();
    await page.getByLabel("Admin token or API key").waitFor();
    expect(await page.title()).toBe("Sign in · Switchyard");
  });
});
