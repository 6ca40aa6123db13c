import { expect } from "bun:test";
import type { Json } from "../gateway/gateway.ts";
import { useDesk } from "./desk.ts";
import { openPlace, orderBy, rowsOf } from "./hands.ts";
import { describeInLooks } from "./looks.ts";

// The life of an account, by hand in a browser; the admin API tells what became of each step.

describeInLooks("an account", (next) => {
  const desk = useDesk(next);

  const named = async (name: string): Promise<Json> =>
    (await desk.read("/accounts?limit=1000")).data.find((account: Json) => account.name === name);

  desk.story("is made by a dialog, which leads to its page", async (opened) => {
    const { page } = opened;
    await openPlace(page, "Accounts & keys");
    await page.getByRole("button", { name: "Create an account" }).click();
    const dialog = page.getByRole("dialog", { name: "Create an account" });
    await opened.picture("dialog-new-account");
    expect(await opened.axe()).toEqual([]);

    // Escape leaves everything as it was, and the focus where it had been.
    await dialog.getByLabel("Name").fill("not this");
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    expect(await page.locator("button:focus").textContent()).toBe("Create an account");
    expect(await named("not this")).toBeUndefined();

    await page.keyboard.press("Enter");
    await page.locator("input:focus").waitFor();
    await page.keyboard.type("Research");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: "Research" }).waitFor();
    const account = await named("Research");
    expect(account).toMatchObject({ balance: 0, held: 0, status: "active" });
    expect(page.url()).toEndWith(`/console/accounts/${account.id}`);
  });

  desk.story("is given credit and has some taken back, and both stand in its ledger", async (opened) => {
    const { page } = opened;
    const { json: account } = await desk.gateway.admin("POST", "/accounts", { name: "Payer" });
    await page.goto(`${desk.gateway.url}/console/accounts/${account.id}`);
    const balance = page.getByRole("group", { name: "Balance, cr" });
    const dialog = page.getByRole("dialog", { name: "Credit of Payer" });

    await page.getByRole("button", { name: "Credit…" }).click();
    expect(await dialog.getByRole("button", { name: "Give credit" }).isDisabled()).toBe(true);
    await dialog.getByLabel("Credits", { exact: true }).fill("1500.5");
    await dialog.getByLabel("Reason").fill("Invoice 7");
    expect(await dialog.getByRole("status").textContent()).toContain("1,500.50");
    await opened.picture("dialog-credit");
    await page.keyboard.press("Enter");
    await dialog.waitFor({ state: "detached" });
    await balance.getByText("1,500.50").waitFor();
    expect((await desk.read(`/accounts/${account.id}`)).balance).toBe(1_500.5);

    await page.getByRole("button", { name: "Credit…" }).click();
    await dialog.getByLabel("What to do").selectOption({ label: "Take credit back" });
    await dialog.getByLabel("Credits", { exact: true }).fill("500.5");
    await dialog.getByLabel("Reason").fill("Paid twice");
    await dialog.getByRole("button", { name: "Take back" }).click();
    await dialog.waitFor({ state: "detached" });
    await balance.getByText("1,000.00").waitFor();
    const { data } = await desk.read(`/accounts/${account.id}/ledger`);
    expect(data.map(({ amount, reason }: Json) => [amount, reason])).toEqual([
      [1_500.5, "Invoice 7"],
      [-500.5, "Paid twice"],
    ]);
    const ledger = page.getByRole("region", { name: "Table of the ledger" });
    await ledger.getByText("Paid twice").waitFor();
    expect(await rowsOf(ledger).count()).toBe(2);
    expect(await rowsOf(ledger).locator('td[data-label="What"]').allInnerTexts()).toEqual([
      expect.stringContaining("Taken back"),
      expect.stringContaining("Grant"),
    ]);
  });

  desk.story("is told what it cannot do: more cannot be taken back than there is", async (opened) => {
    const { page } = opened;
    const { json: account } = await desk.gateway.admin("POST", "/accounts", { name: "Poor" });
    await page.goto(`${desk.gateway.url}/console/accounts/${account.id}`);
    await page.getByRole("button", { name: "Credit…" }).click();
    const dialog = page.getByRole("dialog", { name: "Credit of Poor" });
    await dialog.getByLabel("What to do").selectOption({ label: "Take credit back" });
    await dialog.getByLabel("Credits", { exact: true }).fill("5");
    await dialog.getByLabel("Reason").fill("Too much");
    await dialog.getByRole("button", { name: "Take back" }).click();
    await dialog.locator('[aria-invalid="true"], [role="alert"]').waitFor();
    await opened.picture("dialog-credit-refused");
    expect((await desk.read(`/accounts/${account.id}`)).balance).toBe(0);
    // The browser logs the refusal.
    expect(opened.faults().length).toBe(1);
  });

  desk.story("has its name changed", async ({ page }) => {
    const { json: account } = await desk.gateway.admin("POST", "/accounts", { name: "Old name" });
    await page.goto(`${desk.gateway.url}/console/accounts/${account.id}`);
    await page.getByRole("button", { name: "Rename…" }).click();
    await page.getByRole("dialog").getByLabel("Name").fill("New name");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: "New name" }).waitFor();
    expect((await desk.read(`/accounts/${account.id}`)).name).toBe("New name");
  });

  desk.story("is closed once its name was typed: keys end, tasks that wait are cancelled", async (opened) => {
    const { page } = opened;
    const { gateway } = desk;
    const { json: account } = await gateway.admin("POST", "/accounts", { name: "Leaving" });
    await gateway.admin("POST", `/accounts/${account.id}/credits`, { amount: 900, reason: "a test" });
    const { json: key } = await gateway.admin("POST", "/keys", { account_id: account.id, name: "theirs" });
    const headers = { authorization: `Bearer ${key.key}` };
    const waiting = await gateway.post(
      "/api/v1/images/generations",
      { model: "alibaba/qwen-image-2.0", prompt: "A harbour", size: "512*512", async: true },
      { headers: { ...headers, "x-sandbox": "pending_ms=3600000" } },
    );
    const task = (await waiting.json()) as Json;
    expect(waiting.status).toBe(202);

    await page.goto(`${gateway.url}/console/accounts/${account.id}`);
    await page.getByRole("button", { name: "Close…" }).click();
    const dialog = page.getByRole("dialog", { name: "Close Leaving" });
    const close = dialog.getByRole("button", { name: "Close for ever" });
    expect(await close.isDisabled()).toBe(true);
    await dialog.getByLabel(/^Type the name/).fill("leaving");
    expect(await close.isDisabled()).toBe(true);
    expect((await desk.read(`/accounts/${account.id}`)).status).toBe("active");
    await opened.picture("dialog-close-account");
    expect(await opened.axe()).toEqual([]);
    await dialog.getByLabel(/^Type the name/).fill("Leaving");
    await page.keyboard.press("Enter");
    await page.getByText("It is closed: no key spends from it").waitFor();

    expect(await desk.read(`/accounts/${account.id}`)).toMatchObject({
      status: "closed",
      balance: 900,
      held: 0,
    });
    expect((await desk.read(`/tasks/${task.id}`)).status).toBe("cancelled");
    expect((await fetch(`${gateway.url}/api/v1/models`, { headers })).status).toBe(401);
    expect((await desk.read(`/keys/${key.id}`)).revoked_at).not.toBeNull();
    expect(await page.getByRole("link", { name: "Create a key" }).count()).toBe(0);
    // Its rest can still be taken back, and nothing be given.
    await page.getByRole("button", { name: "Credit…" }).click();
    const credit = page.getByRole("dialog", { name: "Credit of Leaving" });
    await credit.getByLabel("What to do").selectOption({ label: "Take credit back" });
    expect(await credit.getByRole("option", { name: "Give credit" }).isDisabled()).toBe(true);
    await credit.getByLabel("Credits", { exact: true }).fill("900");
    await credit.getByLabel("Reason").fill("Paid out");
    await credit.getByRole("button", { name: "Take back" }).click();
    await credit.waitFor({ state: "detached" });
    expect((await desk.read(`/accounts/${account.id}`)).balance).toBe(0);
  });

  desk.story(
    "shows the newest entries of a long ledger first, and the oldest at a click",
    async ({ page }) => {
      const { json: account } = await desk.gateway.admin("POST", "/accounts", { name: "Long ledger" });
      const give = (reason: string) =>
        desk.gateway.admin("POST", `/accounts/${account.id}/credits`, { amount: 1, reason });
      await give("the oldest");
      // One read of the page gives 1,000.
      await Promise.all(Array.from({ length: 1_000 }, () => give("one of many")));
      await give("the newest");
      await page.goto(`${desk.gateway.url}/console/accounts/${account.id}`);
      const ledger = page.getByRole("region", { name: "Ledger" }).first();
      await ledger.getByText("1,000 entries shown, newest first; there are more").waitFor();
      const first = (): Promise<string> =>
        rowsOf(ledger).first().locator('td[data-label="Reason"]').innerText();
      expect(await first()).toContain("the newest");
      await orderBy(ledger, "Written", "↑");
      await ledger.getByText("1,000 entries shown, oldest first; there are more").waitFor();
      expect(await first()).toContain("the oldest");
    },
  );
});
