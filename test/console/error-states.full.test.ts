import { expect } from "bun:test";
import type { Page } from "playwright-core";
import type { ConsolePage } from "./browser.ts";
import { useDesk } from "./desk.ts";
import { describeInLooks } from "./looks.ts";
import { reads, refuseReads } from "./reads.ts";

// What a reader sees where something is amiss: what happened, by which id the log has it, and a way on.

const BROKEN = { error: { message: "The store took too long to answer.", type: "internal_error" } };

describeInLooks("a page", (next) => {
  const desk = useDesk(next);

  const go = async (page: Page, path: string): Promise<void> => {
    await page.goto(`${desk.gateway.url}/console/${path}`);
    await page.getByRole("heading", { level: 1 }).first().waitFor();
  };
  /** Answers reads of a path with a 500 until the function that it returns is called. */
  const breakReads = (page: Page, path: string): Promise<() => Promise<void>> =>
    refuseReads(page, new RegExp(`/console/api/${path}(\\?|$)`), {
      status: 500,
      json: BROKEN,
      requestId: "req_of_the_failure",
    });
  /** Takes what the browser has logged of answers with these statuses, and of a network that is away. */
  const expectLogged = (opened: ConsolePage, about: RegExp): void =>
    expect(opened.faults().filter((fault) => !about.test(fault))).toEqual([]);

  desk.story("says what could not be read, by which id, and reads it again", async (opened) => {
    const { page } = opened;
    const mend = await breakReads(page, "accounts");
    await go(page, "accounts");
    const failure = page.getByRole("alert").filter({ hasText: "This could not be read" });
    await failure.getByText("The store took too long to answer.").waitFor();
    await failure.getByRole("button", { name: "Copy request id" }).click();
    expect(await page.evaluate("navigator.clipboard.readText()")).toBe("req_of_the_failure");
    expect(await opened.axe()).toEqual([]);
    await opened.picture("error-read");
    await page.getByRole("button", { name: "Create an account" }).click();
    await page.getByRole("dialog").waitFor();
    await opened.picture("error-dialog");
    await page.keyboard.press("Escape");
    // The page also reads again by itself, which takes the button away: it is pressed while the fault lasts.
    const again = page.waitForRequest((request) => reads(request, /\/console\/api\/accounts/));
    await failure.getByRole("button", { name: "Try again" }).click();
    await again;
    expect(await failure.count()).toBe(1);
    await mend();
    await page.getByRole("link", { name: "test", exact: true }).waitFor();
    expect(await failure.count()).toBe(0);
    expectLogged(opened, / 500 /);
  });

  desk.story(
    "keeps what it has read while the gateway is away, and goes on once it is back",
    async (opened) => {
      const { page } = opened;
      await go(page, "tasks");
      await page.getByText("No task began in this time").waitFor();
      await go(page, "accounts");
      await page.getByRole("link", { name: "test", exact: true }).waitFor();
      await page.context().setOffline(true);
      // What was read stays; what was not says that nobody answers.
      await page.getByRole("tab", { name: "Keys" }).click();
      await page.getByText("The gateway cannot be reached").first().waitFor();
      await opened.picture("error-offline");
      await page.getByRole("tab", { name: "Accounts" }).click();
      await page.getByRole("link", { name: "test", exact: true }).waitFor();
      // A page whose script was not loaded yet.
      await page.getByRole("link", { name: "test", exact: true }).click();
      await page.getByRole("alert").first().waitFor();
      await opened.picture("error-offline-page");
      expect(await page.getByRole("navigation", { name: "Places" }).count()).toBe(1);
      await page.context().setOffline(false);
      await page.getByRole("button", { name: "Try again" }).first().click();
      await page.getByRole("heading", { level: 1, name: "test" }).waitFor();
      expectLogged(opened, /ERR_INTERNET_DISCONNECTED|dynamically imported module/);
    },
  );

  desk.story("that is live says that its rows are not current", async (opened) => {
    const { page } = opened;
    const body = { model: "alibaba/qwen-image-2.0", prompt: "A harbour", size: "512*512", async: true };
    const headers = { "x-sandbox": "pending_ms=3600000" };
    await desk.gateway.post("/api/v1/images/generations", body, { headers });
    await go(page, "tasks");
    const row = page.getByRole("region", { name: "Tasks" }).getByText("Pending");
    await row.waitFor();
    const mend = await breakReads(page, "tasks");
    await page.getByText("Not current: the last read failed").waitFor();
    expect(await row.count()).toBe(1);
    await opened.picture("error-not-current");
    await mend();
    await page.getByText("Not current: the last read failed").waitFor({ state: "detached" });
    expectLogged(opened, / 500 /);
  });

  desk.story("of a thing that there is none of says so, and leads on", async (opened) => {
    const { page } = opened;
    for (const [path, words] of [
      ["accounts/acct_none", "There is no account"],
      ["keys/key_none", "There is no key"],
      ["models/none%2Fsuch", "No such model is served"],
      ["tasks/img_none", "There is no task of this id"],
      ["requests/req_none", "There is no ended request of this id"],
      ["nowhere", "There is no such page"],
    ] as const) {
      await page.goto(`${desk.gateway.url}/console/${path}`);
      await page.getByRole("main").getByText(words).first().waitFor();
      expect([path, await page.getByRole("main").getByRole("link").count()]).toEqual([path, 1]);
      await opened.picture(`missing-${path.split("/")[0]}`);
      expectLogged(opened, / 404 /);
    }
  });

  desk.story("that is empty says what will be there", async (opened) => {
    const { page } = opened;
    const { json: account } = await desk.gateway.admin("POST", "/accounts", { name: "New" });
    for (const [path, words] of [
      ["requests?range=1h", "Each request that holds credit stands here once it has ended."],
      ["requests?tab=refused", "They cost nothing."],
      ["tasks?kind=video&status=failed", "a task that fits appears by itself"],
      ["accounts?text=none", "Other filters may find it."],
      ["accounts?tab=keys&text=none", "Other filters may find it."],
      [`accounts/${account.id}`, "An application calls the gateway with a key"],
      [`accounts/${account.id}`, "Nothing was booked in this time"],
      [`keys/${desk.gateway.keyId}`, "Its requests stand here once they have ended."],
      ["models?text=none", "Take a filter away."],
      ["health?model=none", "Other filters may find it."],
      ["playground?model=openai/gpt-5.6-luna", "The answer streams in here"],
      ["playground/videos", "What you make stands here with its price"],
      ["overview", "The first call shows up here as soon as it has ended."],
    ] as const) {
      await go(page, path);
      await page.getByText(words).first().waitFor();
    }
  });

  desk.story("of one account or key says that its amounts are not current", async (opened) => {
    const { page } = opened;
    const { accountId, keyId } = desk.gateway;
    for (const path of [`accounts/${accountId}`, `keys/${keyId}`]) {
      await go(page, path);
      const head = page.getByRole("main").locator("header").first();
      await head.getByRole("heading", { level: 1, name: "test" }).waitFor();
      await breakReads(page, path);
      await head.getByText("Not current: the last read failed").waitFor();
    }
    expectLogged(opened, / 500 /);
  });

  desk.story("of Overview or Health says in the same words that it is not current", async (opened) => {
    const { page } = opened;
    // Overview leads the reader of an unused gateway to the first call.
    const body = { model: "openai/gpt-5.6-luna", messages: [{ role: "user", content: "Hi" }] };
    expect((await desk.gateway.chat(body)).status).toBe(200);
    // A named range is another one with each minute, and what was never read cannot be out of date.
    const nowSec = Math.floor(desk.clock.nowMs() / 1_000);
    for (const [path, read] of [
      [`overview?from=${nowSec - 7_200}&to=${nowSec}`, "usage"],
      ["health", "status"],
    ] as const) {
      await go(page, path);
      const head = page.getByRole("main").locator("header").first();
      await head.getByRole("heading", { level: 1 }).waitFor();
      await page.waitForLoadState("networkidle");
      await breakReads(page, read);
      await head.getByText("Not current: the last read failed").waitFor();
    }
    expectLogged(opened, / 500 /);
  });
});
