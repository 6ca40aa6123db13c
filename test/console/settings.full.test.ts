import { expect } from "bun:test";
import { describeInChromium } from "../browser/chromium.ts";
import type { Json } from "../gateway/gateway.ts";
import { useDesk } from "./desk.ts";

// What an operator sets: the account that the playground is charged to, and how the pages look.

describeInChromium("the settings", () => {
  const desk = useDesk();

  desk.story("choose what the playground is charged to, and change it", async (opened) => {
    const { page } = opened;
    const { json: payer } = await desk.gateway.admin("POST", "/accounts", { name: "Payer" });
    await page.getByRole("navigation", { name: "Places" }).getByRole("link", { name: "Settings" }).click();
    const panel = page.getByRole("region", { name: "Playground" });
    await panel.getByText("Nothing is chosen yet.").waitFor();
    await panel.getByLabel("Account").selectOption({ label: "Payer" });
    await panel.getByLabel("Budget, credits").fill("75");
    await panel.getByRole("button", { name: "Save" }).click();
    await panel.getByText("Saved").waitFor();
    const keys = async (): Promise<readonly Json[]> =>
      (await desk.read("/keys?limit=1000")).data.filter(({ name }: Json) => name === "playground");
    expect((await keys()).map(({ account_id, budget }) => [account_id, budget])).toEqual([[payer.id, 75]]);

    await panel.getByLabel("Budget, credits").fill("");
    await panel.getByRole("button", { name: "Save" }).click();
    await panel.getByText("Saved").waitFor();
    await page.reload();
    await panel.getByRole("link", { name: "The key" }).waitFor();
    expect(await panel.getByLabel("Budget, credits").inputValue()).toBe("");
    expect(await panel.getByLabel("Account").inputValue()).toBe(payer.id);
    expect((await keys()).map(({ budget }) => budget)).toEqual([null]);
    await panel.getByRole("link", { name: "The key" }).click();
    await page.getByRole("heading", { level: 1, name: "playground" }).waitFor();

    await desk.gateway.admin("POST", "/accounts", { name: "Spare" });
    await desk.gateway.admin("POST", `/accounts/${payer.id}/close`);
    await page.goto(`${desk.gateway.url}/console/settings`);
    await panel.getByText("Nothing is chosen yet.").waitFor();
    await panel.getByRole("option", { name: "Spare" }).waitFor({ state: "attached" });
    expect(await panel.getByRole("option", { name: "Payer" }).count()).toBe(0);
    expect(await panel.getByLabel("Account").inputValue()).not.toBe(payer.id);
  });

  desk.story("change the theme, which later visits keep", async ({ page }) => {
    const ink = (): Promise<string> => page.evaluate("getComputedStyle(document.body).color");
    const light = await ink();
    await page.goto(`${desk.gateway.url}/console/settings`);
    await page.getByRole("radio", { name: "Dark" }).check();
    const dark = await ink();
    expect(dark).not.toBe(light);
    expect(await page.getByRole("button", { name: "Theme: dark" }).count()).toBe(1);
    await page.reload();
    await page.getByRole("radio", { name: "Dark" }).waitFor();
    expect(await ink()).toBe(dark);
    // The button of the bar goes on to what the system says, and to the light one.
    await page.getByRole("button", { name: "Theme: dark" }).click();
    expect(await page.getByRole("radio", { name: "As the system" }).isChecked()).toBe(true);
    await page.emulateMedia({ colorScheme: "dark" });
    expect(await ink()).toBe(dark);
    await page.getByRole("button", { name: "Theme: system" }).click();
    expect(await ink()).toBe(light);
  });
});
