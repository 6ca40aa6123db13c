import { beforeAll, expect } from "bun:test";
import type { Locator } from "playwright-core";
import { until } from "../tasks/station.ts";
import { useDesk } from "./desk.ts";
import { fillDesk, type Filled } from "./fill.ts";
import { describeInLooks, PHONES } from "./looks.ts";

// What stands beside what on a phone: nothing hides what has to be read or chosen.

/** The names of what is pressed on a page and is lower than 40 pixels; what lies over its edges counts. */
const TOO_LOW = `[...document.querySelectorAll("button, select, summary, textarea, input, [role=tab]")]
  .filter((each) => each.checkVisibility() && !["checkbox", "radio", "file"].includes(each.type))
  .filter((each) => {
    const { height } = each.getBoundingClientRect();
    const over = getComputedStyle(each, "::after");
    const more = over.position === "absolute" ? -parseFloat(over.top) - parseFloat(over.bottom) : 0;
    return height > 0 && height + more < 40;
  })
  .map((each) => each.getAttribute("aria-label") ?? each.textContent)`;

describeInLooks(
  "on a phone",
  (next) => {
    const desk = useDesk(next);

    /** Whether two elements share a place on the page. */
    const overlap = async (one: Locator, other: Locator): Promise<boolean> => {
      const [a, b] = [await one.boundingBox(), await other.boundingBox()];
      if (a === null || b === null) throw new Error("An element has no place.");
      const isApart = (from: number, length: number, to: number, others: number): boolean =>
        from + length <= to || to + others <= from;
      return !isApart(a.x, a.width, b.x, b.width) && !isApart(a.y, a.height, b.y, b.height);
    };

    desk.story("what is written to a model hides nothing before the account is chosen", async (opened) => {
      const { page } = opened;
      await page.goto(`${desk.gateway.url}/console/playground`);
      await page.getByText("Nothing is chosen yet.").waitFor();
      const composer = page.locator("form").filter({ has: page.getByLabel("Message") });
      expect(await overlap(composer, page.getByLabel("Model", { exact: true }))).toBe(false);
      await opened.picture("phone-playground");
      // An image needs the same choice, where the reader is.
      await page.getByRole("link", { name: "Images" }).click();
      await page.getByLabel("Prompt").fill("A harbour");
      const make = page.getByRole("button", { name: "Make images" });
      expect(await make.isDisabled()).toBe(true);
      await opened.picture("phone-images");
      await page.getByRole("button", { name: "Save" }).click();
      await page.getByRole("region", { name: "What runs are charged to" }).waitFor({ state: "detached" });
      expect(await make.isEnabled()).toBe(true);
      await page.getByRole("link", { name: "Text", exact: true }).click();
      // Once it is chosen the composer stays in sight.
      await composer.waitFor();
      const box = await composer.boundingBox();
      expect((box?.y ?? 0) + (box?.height ?? 0)).toBeLessThan(844);
    });

    desk.story(
      "the range of time has the same room for who is signed in with a key",
      async ({ page }) => {
        await page.goto(`${desk.gateway.url}/console/requests`);
        const range = page.getByLabel("Range of time");
        await range.waitFor();
        /** Whether it is as wide as its words. */
        const asWide = async (): Promise<boolean> =>
          page.evaluate(`(() => {
            const range = document.querySelector("header select");
            const { width } = range.getBoundingClientRect();
            range.style.flex = "none";
            return Math.abs(range.getBoundingClientRect().width - width) < 1;
          })()`);
        expect(await asWide()).toBe(true);
        await page.goto(`${desk.gateway.url}/console/models`);
        await page.getByTitle(/^Signed in with the key/).waitFor();
      },
      () => desk.gateway.key,
    );

    desk.story(
      "the page Health shows what needs a look, and the rest at a click that the address keeps",
      async (opened) => {
        const { page } = opened;
        await page.goto(`${desk.gateway.url}/console/health`);
        for (const says of ["All hold.", "All are healthy."]) await page.getByText(says).waitFor();
        expect(await page.evaluate("document.documentElement.scrollHeight")).toBeLessThan(3_000);
        await opened.picture("phone-health");
        const settings = page.getByRole("region", { name: "Configuration in force" }).first();
        // What is looked for is shown without unfolding the rest.
        await settings.getByLabel("Setting").fill("process.sandbox");
        await settings.getByText("process.sandbox").waitFor();
        await settings.getByLabel("Setting").fill("");
        for (const name of [/^Show all \d+ invariants$/, /^Show all \d+ routes$/, /^Show all \d+ settings$/])
          await page.getByRole("button", { name }).click();
        await page.waitForURL(/settings=true/);
        await page.reload();
        await settings.getByText("process.sandbox").waitFor();
        await page.getByRole("cell", { name: "journal" }).first().waitFor();
        expect(
          await page.getByRole("button", { name: /^Show all \d+ (invariants|routes|settings)$/ }).count(),
        ).toBe(0);
      },
    );

    desk.story(
      "the button that copies a call stands beside its lines, and a call is told in the words of all pages",
      async (opened) => {
        const { gateway } = desk;
        const asked = { model: "openai/gpt-5.6-luna", messages: [{ role: "user", content: "Hi" }] };
        await (await gateway.chat(asked, { headers: { authorization: `Bearer ${gateway.key}` } })).text();
        const { page } = opened;
        await page.goto(`${gateway.url}/console/welcome`);
        const call = page.getByRole("region", { name: "the call" });
        await call.waitFor();
        expect(await overlap(call, page.getByRole("button", { name: "Copy the call" }))).toBe(false);
        await page.getByText("Completed", { exact: true }).waitFor();
        await opened.picture("phone-welcome");
        await page.goto(`${gateway.url}/console/overview`);
        const tasks = page.getByRole("region", { name: "Tasks by state" });
        await tasks.getByText("Cancelled", { exact: true }).waitFor();
        await opened.picture("phone-overview");
      },
    );

    desk.story(
      "what a thumb presses is high enough, and nothing is wider than the page",
      async ({ page }) => {
        for (const path of [
          "overview",
          "playground",
          "playground/images",
          "models",
          "requests",
          "requests?tab=refused",
          "tasks",
          "accounts?tab=keys",
          `accounts/${desk.gateway.accountId}`,
          `keys/${desk.gateway.keyId}`,
          "keys/new",
          "health",
          "settings",
        ]) {
          await page.setViewportSize({ width: 390, height: 844 });
          await page.goto(`${desk.gateway.url}/console/${path}`);
          await page.waitForLoadState("networkidle");
          expect([path, await page.evaluate(TOO_LOW)]).toEqual([path, []]);
          await page.setViewportSize({ width: 360, height: 844 });
          // Charts take the new width with the next frame.
          const width = () => page.evaluate("document.documentElement.scrollWidth");
          await until(async () => (await width()) === 360, `${path} within 360 px`);
        }
      },
    );
  },
  PHONES,
);

/** The links in cards that are lower than 40 pixels or that another one covers, and how many links there are. */
const CARD_LINKS = `(() => {
  const links = [...document.querySelectorAll("td a")].filter((each) => each.checkVisibility());
  const isHard = (link) => {
    link.scrollIntoView({ block: "center" });
    const { left, top, width, height } = link.getBoundingClientRect();
    const at = document.elementFromPoint(left + width / 2, top + height / 2);
    return height < 40 || !link.contains(at);
  };
  return { count: links.length, hard: links.filter(isHard).map((link) => link.outerHTML) };
})()`;

/** Whether all lines of each program on the page are within its box. */
const IS_WRAPPED = `[...document.querySelectorAll("pre")].every((each) => each.scrollWidth <= each.clientWidth)`;

describeInLooks(
  "on a phone with rows",
  (next) => {
    const desk = useDesk(next);
    let filled: Filled;
    beforeAll(async () => {
      filled = await fillDesk(desk);
    }, 60_000);

    desk.story("a link in a card is high enough for a thumb", async (opened) => {
      const { page } = opened;
      for (const path of [
        "requests",
        "tasks",
        "accounts",
        "accounts?tab=keys",
        `accounts/${filled.account}`,
        `keys/${filled.key}`,
        "models",
      ]) {
        await page.goto(`${desk.gateway.url}/console/${path}`);
        await page.locator("td a").first().waitFor();
        await page.waitForLoadState("networkidle");
        const { count, hard } = await page.evaluate<{ count: number; hard: string[] }>(CARD_LINKS);
        expect([path, hard]).toEqual([path, []]);
        expect(count).toBeGreaterThan(0);
        if (path === "tasks" || path === "accounts") await opened.picture(`phone-cards-${path}`);
      }
    });

    desk.story("the lines of a call are within the page, each of them whole", async (opened) => {
      const { page } = opened;
      for (const width of [360, 390]) {
        await page.setViewportSize({ width, height: 844 });
        await page.goto(`${desk.gateway.url}/console/welcome`);
        const call = page.getByRole("region", { name: "the call" });
        await call.waitFor();
        for (const tab of await page.getByRole("tab").all()) {
          await tab.click();
          await call.waitFor();
          expect([width, await tab.innerText(), await page.evaluate(IS_WRAPPED)]).toEqual([
            width,
            await tab.innerText(),
            true,
          ]);
        }
        await page.getByRole("tab").first().click();
        await opened.picture(`phone-calls-${width}`);
        // The breaks are drawn, and not in the text.
        await page.getByRole("button", { name: "Copy the call" }).click();
        const copied = await page.evaluate<string>("navigator.clipboard.readText()");
        expect(copied).toBe((await call.textContent()) ?? "");
      }
    });
  },
  PHONES,
);
