import { beforeAll, expect } from "bun:test";
import type { Page } from "playwright-core";
import type { Json } from "../gateway/gateway.ts";
import { useDesk } from "./desk.ts";
import { openFilters, openPlace, rowsOf } from "./hands.ts";
import { describeInLooks } from "./looks.ts";

// What a developer sees who signs in with an API key: the playground, the models, that key's requests, tasks, usage and
// balance, and nothing else.

const MODEL = "openai/gpt-5.6-luna";
const ONLY_MODEL = "anthropic/claude-haiku-4.5";

describeInLooks("a developer", (next) => {
  const desk = useDesk(next);
  let own: Json;
  /** What others have, by a text of theirs that must stand nowhere. */
  let others: Record<"account" | "key" | "request" | "refusal" | "task", string>;
  let ownRequest: string;
  /** A key for one model alone, which is not the first call's. */
  let narrow: Json;

  beforeAll(async () => {
    const { gateway } = desk;
    const chat = async (key: string, body: object = {}): Promise<string> => {
      const asked = { model: MODEL, messages: [{ role: "user", content: "Hi" }], ...body };
      const response = await gateway.chat(asked, { headers: { authorization: `Bearer ${key}` } });
      await response.text();
      return response.headers.get("x-request-id") ?? "";
    };
    own = (
      await gateway.admin("POST", "/keys", { account_id: gateway.accountId, name: "their own", budget: 500 })
    ).json;
    const account = (await gateway.admin("POST", "/accounts", { name: "Secret client" })).json;
    await gateway.admin("POST", `/accounts/${account.id}/credits`, { amount: 9_000, reason: "a test" });
    const key = (await gateway.admin("POST", "/keys", { account_id: account.id, name: "secret key" })).json;
    ownRequest = await chat(own.key);
    narrow = (
      await gateway.admin("POST", "/keys", {
        account_id: gateway.accountId,
        name: "narrow",
        models: [ONLY_MODEL],
      })
    ).json;
    const body = { model: "alibaba/qwen-image-2.0", prompt: "A harbour", size: "512*512", async: true };
    const theirs = await gateway.post("/api/v1/images/generations", body, {
      headers: { authorization: `Bearer ${key.key}`, "x-sandbox": "pending_ms=3600000" },
    });
    others = {
      account: account.id,
      key: key.id,
      request: await chat(key.key),
      refusal: await chat(own.key, { max_tokens: -1 }),
      task: ((await theirs.json()) as Json).id,
    };
  }, 60_000);

  const as = (): string => own.key;
  const go = async (page: Page, path: string): Promise<void> => {
    await page.goto(`${desk.gateway.url}/console/${path}`);
    await page.waitForLoadState("networkidle");
  };
  const expectNothingOfOthers = async (page: Page): Promise<void> => {
    const text = await page.content();
    for (const secret of ["Secret client", "secret key"])
      expect([page.url(), text.includes(secret)]).toEqual([page.url(), false]);
  };

  desk.story(
    "has five places, each of which shows what is theirs",
    async (opened) => {
      const { page } = opened;
      await page.getByRole("heading", { level: 1, name: "Playground" }).waitFor();
      const rail = page.getByRole("navigation", { name: "Places" });
      const places = (await rail.getByRole("link").allTextContents()).filter((name) => name !== "Switchyard");
      expect(places).toEqual(["Playground", "Models", "Requests", "Tasks", "Settings"]);
      for (const place of places) {
        await rail.getByRole("link", { name: place }).click();
        await page.getByRole("heading", { level: 1, name: place }).waitFor();
        await page.waitForLoadState("networkidle");
        await expectNothingOfOthers(page);
        await opened.picture(`developer-${place}`);
      }
      await page
        .getByRole("region", { name: "Your key" })
        .getByText(/500\.00/)
        .first()
        .waitFor();
      await rail.getByRole("link", { name: "Requests" }).click();
      const table = page.getByRole("region", { name: "Table of requests" });
      expect(await rowsOf(table).count()).toBe(1);
      const filters = await openFilters(page);
      for (const label of ["Provider", "Account", "Key"])
        expect(await filters.getByLabel(label).count()).toBe(0);
      await table.getByRole("link").first().click();
      await page.waitForURL(new RegExp(`/requests/${ownRequest}$`));
      await page.getByText("You owe the provider").waitFor({ state: "detached" });
      await opened.picture("developer-request");
    },
    as,
  );

  desk.story(
    "finds no more by the palette",
    async ({ page }) => {
      await page.keyboard.press("Control+k");
      for (const name of ["Overview", "Accounts", "Health"]) {
        await page.getByRole("combobox", { name: /^Go to/ }).fill(name);
        expect(await page.getByRole("option", { name }).count()).toBe(0);
      }
    },
    as,
  );

  desk.story(
    "comes by no typed address to an operator's page or to what is another's",
    async (opened) => {
      const { page } = opened;
      const addresses = [
        "overview",
        "accounts",
        "accounts?tab=keys",
        "keys/new",
        "health",
        "welcome",
        `accounts/${others.account}`,
        `keys/${others.key}`,
        `requests/${others.request}`,
        `requests/${others.refusal}`,
        `tasks/${others.task}`,
        `requests?key_id=${others.key}`,
        `tasks?account_id=${others.account}`,
        "requests?tab=refused",
      ];
      for (const address of addresses) {
        await go(page, address);
        await expectNothingOfOthers(page);
        // Every page says something, and none offers what the session may not do.
        expect([address, await page.getByRole("heading", { level: 1 }).count()]).toEqual([address, 1]);
        for (const name of ["Create a key", "Create an account", "Credit…", "Revoke…", "Cancel task"])
          expect([address, name, await page.getByRole("button", { name }).count()]).toEqual([
            address,
            name,
            0,
          ]);
        await opened.picture(`developer-at-${address.replaceAll(/\W+/g, "-").replace(/_[0-9a-f]{12,}/, "")}`);
        const faults = opened.faults();
        expect(faults.filter((fault) => !/ 40[034] /.test(fault))).toEqual([]);
      }
    },
    as,
  );

  desk.story(
    "cancels a task of the own key that waits",
    async ({ page }) => {
      const body = { model: "alibaba/qwen-image-2.0", prompt: "A harbour", size: "512*512", async: true };
      const response = await desk.gateway.post("/api/v1/images/generations", body, {
        headers: { authorization: `Bearer ${own.key}`, "x-sandbox": "pending_ms=3600000" },
      });
      const { id } = (await response.json()) as Json;
      await go(page, `tasks/${id}`);
      await page.getByRole("button", { name: "Cancel task" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Cancel task" }).click();
      await page.getByText("The task was cancelled. It was not charged.").first().waitFor();
      expect((await desk.read(`/tasks/${id}`)).status).toBe("cancelled");
    },
    as,
  );

  desk.story(
    "runs the playground through the own key, whose budget it spends",
    async ({ page }) => {
      await go(page, `playground?model=${MODEL}`);
      const before = (await desk.read(`/keys/${own.id}`)).spent;
      await page.getByLabel("Message").fill("Good morning");
      await page.keyboard.press("Enter");
      await page
        .getByRole("article")
        .getByText(/cr · <?\$/)
        .waitFor();
      const { spent } = await desk.read(`/keys/${own.id}`);
      expect(spent).toBeGreaterThan(before);
      const [{ model, credit }] = (await desk.read(`/requests?key_id=${own.id}`)).data;
      expect(model).toBe(MODEL);
      expect(credit).toBeCloseTo(spent - before, 6);
      await openPlace(page, "Settings");
      await page.getByRole("region", { name: "Your key" }).getByText(spent.toFixed(2)).first().waitFor();
    },
    as,
  );

  desk.story(
    "sees what the own key has used in a range, and what its next request may hold",
    async (opened) => {
      const { page } = opened;
      await go(page, "settings");
      const panel = page.getByRole("region", { name: "Your key" });
      const { available } = await desk.read(`/keys/${own.id}`);
      expect(available.bound).toBe("budget");
      const left = panel.getByText(/\(what is left of the budget\)/);
      expect(await left.locator("..").textContent()).toContain(`${available.amount.toFixed(2)} cr`);
      for (const title of ["Spend by model, credits", "Requests by model"])
        await page.getByRole("figure", { name: title }).getByText(MODEL).first().waitFor();
      expect(await opened.axe()).toEqual([]);
      await opened.picture("developer-usage");

      // A range in which the key was not used has an empty chart.
      await page.goto(`${desk.gateway.url}/console/settings?from=1700000000&to=1700086400`);
      await page
        .getByRole("region", { name: "Requests by model" })
        .getByText("Nothing in this range")
        .waitFor();
      await page.getByLabel("Range of time").selectOption("7d");
      await page.getByRole("figure", { name: "Requests by model" }).waitFor();

      await desk.gateway.admin("PATCH", `/keys/${own.id}`, { budget: null });
      await page.reload();
      await panel.getByText("(what the account has left)").waitFor();
      await desk.gateway.admin("PATCH", `/keys/${own.id}`, { budget: 500 });
    },
    as,
  );

  desk.story(
    "is out within five seconds of the key's end, on a page that reads by itself",
    async (opened) => {
      const { page } = opened;
      await go(page, "tasks");
      await page.getByRole("heading", { level: 1, name: "Tasks" }).waitFor();
      await desk.gateway.admin("DELETE", `/keys/${own.id}`);
      await page.getByText("This API key was revoked", { exact: false }).waitFor({ timeout: 5_000 });
      expect(await page.getByLabel("Admin token or API key").count()).toBe(1);
      expect(opened.faults().filter((fault) => !fault.includes(" 401 "))).toEqual([]);
      await opened.picture("developer-revoked");
      await page.getByLabel("Admin token or API key").fill(own.key);
      await page.keyboard.press("Enter");
      await page.locator('input[aria-invalid="true"]').waitFor();
      opened.faults();
    },
    as,
  );

  desk.story(
    "begins the playground with a model that the key may use",
    async ({ page }) => {
      await go(page, "playground");
      const picker = page.getByRole("region", { name: "First model" });
      expect(await picker.getByLabel("Model", { exact: true }).inputValue()).toBe(ONLY_MODEL);
    },
    () => narrow.key,
  );
});
