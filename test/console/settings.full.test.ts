import { expect } from "bun:test";
import type { Json } from "../gateway/gateway.ts";
import { useDesk } from "./desk.ts";
import { openPlace } from "./hands.ts";
import { describeInLooks } from "./looks.ts";

// What an operator sets: the account that the playground is charged to, and how the pages look.

describeInLooks("the settings", (next) => {
  const desk = useDesk(next);

  desk.story("choose what the playground is charged to, and change it", async (opened) => {
    const { page } = opened;
    const { json: payer } = await desk.gateway.admin("POST", "/accounts", { name: "Payer" });
    await openPlace(page, "Settings");
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

  desk.story("change the theme, which later visits keep", async ({ page }, { theme: ofSystem }) => {
    const ink = (): Promise<string> => page.evaluate("getComputedStyle(document.body).color");
    const inkOfSystem = await ink();
    const [other, name] = ofSystem === "light" ? (["dark", "Dark"] as const) : (["light", "Light"] as const);
    await page.goto(`${desk.gateway.url}/console/settings`);
    await page.getByRole("radio", { name }).check();
    const inkOfOther = await ink();
    const lightInk = other === "light" ? inkOfOther : inkOfSystem;
    expect(inkOfOther).not.toBe(inkOfSystem);
    expect(await page.getByRole("button", { name: `Theme: ${other}` }).count()).toBe(1);
    await page.reload();
    await page.getByRole("radio", { name }).waitFor();
    expect(await ink()).toBe(inkOfOther);
    // The button of the bar goes from the light theme to the dark one, to what the system says, and to the light one.
    if (other === "light") await page.getByRole("button", { name: "Theme: light" }).click();
    await page.getByRole("button", { name: "Theme: dark" }).click();
    expect(await page.getByRole("radio", { name: "As the system" }).isChecked()).toBe(true);
    await page.emulateMedia({ colorScheme: other });
    expect(await ink()).toBe(inkOfOther);
    await page.getByRole("button", { name: "Theme: system" }).click();
    expect(await ink()).toBe(lightInk);
  });
});
