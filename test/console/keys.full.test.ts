import { expect } from "bun:test";
import type { Json } from "../gateway/gateway.ts";
import { useDesk } from "./desk.ts";
import { describeInLooks } from "./looks.ts";

// The life of a key, by hand in a browser; the admin API tells what became of each step.

const MODEL = "openai/gpt-5.6-luna";

describeInLooks("a key", (next) => {
  const desk = useDesk(next);

  const named = async (name: string): Promise<Json> =>
    (await desk.read("/keys?limit=1000")).data.find((key: Json) => key.name === name);

  desk.story(
    "is made with a budget and a model, and is shown once with a call that works",
    async (opened) => {
      const { page } = opened;
      await page.goto(`${desk.gateway.url}/console/accounts/${desk.gateway.accountId}`);
      await page.getByRole("link", { name: "Create a key" }).first().click();
      await page.getByLabel("Name").fill("first app");
      await page.getByLabel("Budget, credits").fill("250");
      await page.getByLabel("Requests a minute").fill("30");
      await page.getByLabel("Models").selectOption({ label: "Only those chosen" });
      await page.getByText("With none chosen the key can call no model.").waitFor();
      await page.getByLabel("Find a model").fill("luna");
      await page.getByRole("checkbox", { name: MODEL, exact: true }).check();
      await opened.picture("new-key");
      await page.getByRole("button", { name: "Create the key" }).click();
      await page.getByRole("heading", { level: 1, name: "The key first app" }).waitFor();

      const key = await named("first app");
      expect(key).toMatchObject({
        account_id: desk.gateway.accountId,
        budget: 250,
        models: [MODEL],
        limits: { requests_per_minute: 30, tokens_per_minute: null, concurrency: null },
        expires_at: null,
      });
      await page.getByRole("button", { name: "Copy key" }).click();
      await page.getByRole("button", { name: "Copied" }).waitFor();
      const text: string = await page.evaluate("navigator.clipboard.readText()");
      expect(text).toStartWith("sk-");
      await opened.picture("new-key-made");
      expect(await opened.axe()).toEqual([]);

      // The call beside it, as a shell would run it.
      const call = (await page.getByRole("region", { name: "the call" }).textContent()) ?? "";
      const url = /https?:\/\/[^\s"'\\]+/.exec(call)?.[0] ?? "";
      const body = call.slice(call.indexOf("{"), call.lastIndexOf("}") + 1);
      const answer = await fetch(url, {
        method: "POST",
        headers: { authorization: `Bearer ${text}`, "content-type": "application/json" },
        body,
      });
      expect([url.startsWith(desk.gateway.url), answer.status]).toEqual([true, 200]);
      expect(call).toContain("$SWITCHYARD_KEY");
      expect(call).not.toContain(text);

      // Nothing shows it again: not the address, not the page of the key, not the way back.
      expect(page.url()).not.toContain(text);
      await page.getByRole("link", { name: "To the page of the key" }).click();
      await page.getByRole("heading", { level: 1, name: "first app", exact: true }).waitFor();
      expect(await page.content()).not.toContain(text);
      await page.goBack();
      await page.getByRole("button", { name: "Create the key" }).waitFor();
      expect(await page.content()).not.toContain(text);
    },
  );

  desk.story("tells at the field what is wrong with it", async (opened) => {
    const { page } = opened;
    await page.goto(`${desk.gateway.url}/console/keys/new`);
    await page.getByLabel("Name").fill("too fine");
    await page.getByLabel("Budget, credits").fill("0.0000001");
    await page.getByRole("button", { name: "Create the key" }).click();
    await page.locator('input[aria-invalid="true"]').waitFor();
    expect(await page.getByLabel("Budget, credits").getAttribute("aria-invalid")).toBe("true");
    expect(await named("too fine")).toBeUndefined();
    await opened.picture("new-key-refused");
    // The browser logs the refusal.
    expect(opened.faults().length).toBe(1);
  });

  desk.story("is not given an expiry that has passed, neither when it is made nor later", async (opened) => {
    const { page } = opened;
    await page.goto(`${desk.gateway.url}/console/keys/new`);
    await page.getByLabel("Name").fill("too late");
    const expires = page.getByLabel("Expires");
    await expires.fill("2020-01-01T00:00");
    await page.getByRole("button", { name: "Create the key" }).click();
    await page.getByText("The time under Expires is in the past.").waitFor();
    expect(await expires.getAttribute("aria-invalid")).toBe("true");
    expect(await page.locator("input:focus").getAttribute("type")).toBe("datetime-local");
    await opened.picture("new-key-expired");
    expect(await named("too late")).toBeUndefined();
    await expires.fill("2100-01-01T00:00");
    expect(await page.getByText("is in the past").count()).toBe(0);
    await page.getByRole("button", { name: "Create the key" }).click();
    await page.getByRole("heading", { level: 1, name: "The key too late" }).waitFor();

    const { id, expires_at } = await named("too late");
    await page.goto(`${desk.gateway.url}/console/keys/${id}`);
    await page.getByRole("button", { name: "Change…" }).click();
    const dialog = page.getByRole("dialog", { name: "Change too late" });
    await dialog.getByLabel("Expires").fill("2020-01-01T00:00");
    await dialog.getByRole("button", { name: "Save" }).click();
    await dialog.getByText("The time under Expires is in the past.").waitFor();
    expect((await desk.read(`/keys/${id}`)).expires_at).toBe(expires_at);
  });

  desk.story("is changed: only what the reader has changed is sent", async (opened) => {
    const { page } = opened;
    const { json: key } = await desk.gateway.admin("POST", "/keys", {
      account_id: desk.gateway.accountId,
      name: "to change",
      budget: 10,
      limits: { concurrency: 4 },
    });
    await page.goto(`${desk.gateway.url}/console/keys/${key.id}`);
    await page.getByRole("button", { name: "Change…" }).click();
    const dialog = page.getByRole("dialog", { name: "Change to change" });
    const save = dialog.getByRole("button", { name: "Save" });
    expect(await save.isDisabled()).toBe(true);
    await opened.picture("dialog-change-key");
    await dialog.getByLabel("Budget, credits").fill("75");
    await dialog.getByLabel("Requests at once").fill("");
    await dialog.getByLabel(/may ask for a route/).check();
    const sent = page.waitForRequest((request) => request.method() === "PATCH");
    await save.click();
    expect((await sent).postDataJSON()).toEqual({ budget: 75, routes: true, limits: { concurrency: null } });
    await dialog.waitFor({ state: "detached" });
    await page.getByText("of a budget of").waitFor();
    expect(await desk.read(`/keys/${key.id}`)).toMatchObject({
      name: "to change",
      budget: 75,
      routes: true,
      limits: { concurrency: null },
    });
  });

  desk.story("is revoked for ever, after a question", async (opened) => {
    const { page } = opened;
    const { json: key } = await desk.gateway.admin("POST", "/keys", {
      account_id: desk.gateway.accountId,
      name: "to revoke",
    });
    const status = async () => {
      const headers = { authorization: `Bearer ${key.key}` };
      return (await fetch(`${desk.gateway.url}/api/v1/models`, { headers })).status;
    };
    await page.goto(`${desk.gateway.url}/console/keys/${key.id}`);
    await page.getByRole("button", { name: "Revoke…" }).click();
    const dialog = page.getByRole("dialog", { name: "Revoke to revoke" });
    await opened.picture("dialog-revoke");
    await dialog.getByRole("button", { name: "Cancel" }).click();
    await dialog.waitFor({ state: "detached" });
    expect(await status()).toBe(200);

    await page.getByRole("button", { name: "Revoke…" }).click();
    await dialog.getByRole("button", { name: "Revoke for ever" }).click();
    await dialog.waitFor({ state: "detached" });
    await page.getByTitle("The key was revoked for ever.").waitFor();
    expect(await status()).toBe(401);
    expect((await desk.read(`/keys/${key.id}`)).revoked_at).not.toBeNull();
    for (const name of ["Revoke…", "Change…"])
      expect(await page.getByRole("button", { name }).count()).toBe(0);
  });
});
