import { expect } from "bun:test";
import { ADMIN_TOKEN } from "../gateway/gateway.ts";
import { useDesk } from "./desk.ts";
import { openPlace, openRequest } from "./hands.ts";
import { describeInLooks } from "./looks.ts";

// Who comes into the console, and how a session ends, by hand in a browser (catalogue, S30, S31).

const UNAUTHORIZED =
  "console: Failed to load resource: the server responded with a status of 401 (Unauthorized)";
const TOO_MANY =
  "console: Failed to load resource: the server responded with a status of 429 (Too Many Requests)";

describeInLooks("the sign-in", (next) => {
  const desk = useDesk(next);

  desk.visit("takes the admin token from the keyboard, and no other credential", async (opened) => {
    const { page } = opened;
    await page.goto(`${desk.gateway.url}/`);
    expect(page.url()).toStartWith(`${desk.gateway.url}/console/`);
    const field = page.getByLabel("Admin token or API key");
    await field.waitFor();
    expect(await page.locator("input:focus").getAttribute("type")).toBe("password");
    expect(await page.getByRole("button", { name: "Sign in" }).isDisabled()).toBe(true);
    opened.faults();

    await page.keyboard.type("adm-wrong");
    await page.keyboard.press("Enter");
    await page.getByText("This is neither the admin token of this gateway nor an API key").waitFor();
    expect(await field.getAttribute("aria-invalid")).toBe("true");
    expect(opened.faults()).toEqual([UNAUTHORIZED]);
    await opened.picture("sign-in-wrong");

    await field.fill(ADMIN_TOKEN);
    await page.keyboard.press("Enter");
    await page.getByRole("navigation", { name: "Places" }).waitFor();
    const [cookie] = await page.context().cookies();
    expect(cookie).toMatchObject({
      name: "switchyard_console",
      path: "/console/api",
      httpOnly: true,
      sameSite: "Strict",
    });
    expect(await page.evaluate("document.cookie")).toBe("");
    expect(page.url()).not.toContain(cookie?.value ?? "");
  });

  desk.story(
    "is over where another page has ended it, also for the button that would end it",
    async (opened) => {
      const { page } = opened;
      // A page that reads nothing by itself.
      await page.goto(`${desk.gateway.url}/console/models`);
      await page.waitForLoadState("networkidle");
      const other = await page.context().newPage();
      await other.goto(`${desk.gateway.url}/console/settings`);
      await other.getByRole("region", { name: "Session" }).getByRole("button", { name: "Sign out" }).click();
      await other.getByLabel("Admin token or API key").waitFor();
      await page.getByRole("banner").getByRole("button", { name: "Sign out" }).click();
      await page.getByLabel("Admin token or API key").waitFor();
      expect(opened.faults()).toEqual([UNAUTHORIZED]);
    },
  );

  desk.visit("stays on the address that was asked for", async (opened) => {
    const { page } = opened;
    await page.goto(`${desk.gateway.url}/console/tasks?status=failed`);
    await page.getByLabel("Admin token or API key").fill(ADMIN_TOKEN);
    expect(opened.faults()).toEqual([UNAUTHORIZED]);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: "Tasks" }).waitFor();
    expect(page.url()).toBe(`${desk.gateway.url}/console/tasks?status=failed`);
  });

  desk.story("ends by the button, here and on the gateway, and Back shows nothing of it", async (opened) => {
    const { page } = opened;
    await openPlace(page, "Accounts & keys");
    await page.getByRole("link", { name: "test", exact: true }).waitFor();
    const [cookie] = await page.context().cookies();
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByLabel("Admin token or API key").waitFor();
    expect(await page.context().cookies()).toEqual([]);
    const kept = await fetch(`${desk.gateway.url}/console/api/session`, {
      headers: { cookie: `${cookie?.name}=${cookie?.value}` },
    });
    expect(kept.status).toBe(401);
    await page.goBack();
    await page.getByLabel("Admin token or API key").waitFor();
    expect(await page.getByRole("link", { name: "test", exact: true }).count()).toBe(0);
  });

  desk.story(
    "is not left while the gateway is away: the page says so, and leaves it once the gateway is back",
    async (opened) => {
      const { page } = opened;
      await page.goto(`${desk.gateway.url}/console/settings`);
      await page.waitForLoadState("networkidle");
      const note = page.getByRole("alert").filter({ hasText: "You are still signed in." });
      const buttons = [
        page.getByRole("banner").getByRole("button", { name: "Sign out" }),
        page.getByRole("region", { name: "Session" }).getByRole("button", { name: "Sign out" }),
      ];
      await page.route(/\/console\/api\/session$/, (route) => route.abort());
      for (const button of buttons) {
        await button.click();
        await note.getByText("The gateway cannot be reached.").waitFor();
        expect(await opened.axe()).toEqual([]);
        await opened.picture("sign-out-away");
        await note.getByRole("button", { name: "Close" }).click();
        expect(await note.count()).toBe(0);
      }
      await buttons[0]?.click();
      await note.waitFor();
      await page.unroute(/\/console\/api\/session$/);
      await note.getByRole("button", { name: "Try again" }).click();
      await page.getByLabel("Admin token or API key").waitFor();
      expect(await page.context().cookies()).toEqual([]);
      expect(opened.faults().filter((fault) => !fault.includes("ERR_FAILED"))).toEqual([]);
      await page.getByLabel("Admin token or API key").fill(ADMIN_TOKEN);
      await page.keyboard.press("Enter");
      await page.getByRole("navigation", { name: "Places" }).waitFor();
      expect(await note.count()).toBe(0);
    },
  );

  desk.story(
    "is asked for again once a session has ended by itself, and leads back to where the reader was",
    async (opened) => {
      const { page } = opened;
      await page.goto(`${desk.gateway.url}/console/accounts?tab=keys`);
      await page.getByRole("heading", { level: 1, name: "Accounts & keys" }).waitFor();
      await desk.clock.advance(31 * 60_000);
      await page.getByRole("link", { name: "Create a key" }).first().click();
      await page.getByText("This session has ended: sign in again.").waitFor();
      expect(opened.faults()[0]).toBe(UNAUTHORIZED);
      await opened.picture("sign-in-ended");
      await page.getByLabel("Admin token or API key").fill(ADMIN_TOKEN);
      await page.keyboard.press("Enter");
      await page.getByRole("heading", { level: 1, name: "Create a key" }).waitFor();
    },
  );

  desk.visit(
    "tells who tries too often how long to wait, and still lets the right token in",
    async (opened) => {
      const tries = Array.from({ length: 20 }, (_, at) =>
        fetch(`${desk.gateway.url}/console/api/session`, {
          method: "POST",
          headers: { origin: desk.gateway.url, "content-type": "application/json" },
          body: JSON.stringify({ credential: `adm-${at}` }),
        }),
      );
      await Promise.all(tries);
      const { page } = opened;
      await page.goto(`${desk.gateway.url}/console/`);
      const field = page.getByLabel("Admin token or API key");
      await field.fill("adm-once-more");
      opened.faults();
      await page.keyboard.press("Enter");
      await page.getByText("Wait, then try again. The wait ends in 10 min.").waitFor();
      expect(opened.faults()).toEqual([TOO_MANY]);
      await opened.picture("sign-in-too-often");
      await field.fill(ADMIN_TOKEN);
      await page.keyboard.press("Enter");
      await page.getByRole("navigation", { name: "Places" }).waitFor();
    },
  );

  desk.story(
    "in another tab is taken over by this one: what it shows and sends is the new session's",
    async (opened) => {
      const { page } = opened;
      await page.goto(`${desk.gateway.url}/console/models`);
      await page.waitForLoadState("networkidle");
      const other = await page.context().newPage();
      const signInAs = async (credential: string): Promise<void> => {
        await other.goto(`${desk.gateway.url}/console/settings`);
        await other.getByRole("banner").getByRole("button", { name: "Sign out" }).click();
        await other.getByLabel("Admin token or API key").fill(credential);
        await other.keyboard.press("Enter");
        await other.getByRole("navigation", { name: "Places" }).waitFor();
        await page.bringToFront();
      };
      await signInAs(desk.gateway.key);
      await page.getByRole("banner").getByText("Key test").waitFor();
      await openPlace(page, "Settings");
      await page.getByRole("region", { name: "Your key" }).waitFor();

      await signInAs(ADMIN_TOKEN);
      await page.getByRole("banner").getByText("Key test").waitFor({ state: "detached" });
      await openPlace(page, "Accounts & keys");
      await page.getByRole("button", { name: "Create an account" }).click();
      const dialog = page.getByRole("dialog");
      await dialog.getByLabel("Name").fill("From the first tab");
      await dialog.getByRole("button", { name: "Create" }).click();
      await page.getByRole("heading", { level: 1, name: "From the first tab" }).waitFor();

      // The same reader again: what was begun stays.
      await openPlace(page, "Accounts & keys");
      await page.getByRole("button", { name: "Create an account" }).click();
      await dialog.getByLabel("Name").fill("Begun before");
      await signInAs(ADMIN_TOKEN);
      await page.waitForLoadState("networkidle");
      await dialog.getByRole("button", { name: "Create" }).click();
      await page.getByRole("heading", { level: 1, name: "Begun before" }).waitFor();
      // A read of the first tab may come between the two sessions.
      expect(opened.faults().filter((fault) => fault !== UNAUTHORIZED)).toEqual([]);
    },
  );

  desk.story(
    "comes back to the page as it was: what was typed, where it was, and the queries go on",
    async (opened) => {
      const { page } = opened;
      await openPlace(page, "Accounts & keys");
      await page.getByRole("button", { name: "Create an account" }).click();
      const dialog = page.getByRole("dialog", { name: "Create an account" });
      await dialog.getByLabel("Name").fill("Typed before the end");
      await desk.clock.advance(31 * 60_000);
      await page.keyboard.press("Enter");
      await page.getByText("This session has ended: sign in again.").waitFor();
      // Nothing of the page can be found by who comes next: neither text nor fields.
      expect(await page.getByRole("dialog").count()).toBe(1);
      expect(await page.locator("input").count()).toBe(1);
      expect(await page.content()).not.toContain("acct_");
      expect(await page.title()).toBe("Sign in · Switchyard");
      expect(opened.faults()[0]).toBe(UNAUTHORIZED);
      expect(await opened.axe()).toEqual([]);
      await opened.picture("sign-in-again");
      await desk.gateway.admin("POST", "/accounts", { name: "Opened meanwhile" });

      const credential = page.getByLabel("Admin token or API key");
      expect(await page.locator("input:focus").getAttribute("type")).toBe("password");
      await credential.fill("adm-wrong");
      await page.keyboard.press("Enter");
      await page.getByText("This is neither the admin token").waitFor();
      expect(opened.faults()).toEqual([UNAUTHORIZED]);
      await page.keyboard.press("Escape");
      await credential.fill(ADMIN_TOKEN);
      await page.keyboard.press("Enter");
      await dialog.waitFor();
      expect(await dialog.getByLabel("Name").inputValue()).toBe("Typed before the end");
      await dialog.locator("input:focus").waitFor();
      await page.locator("table").getByText("Opened meanwhile").waitFor();
      expect(await page.title()).toBe("Accounts & keys · Switchyard");
      await dialog.getByRole("button", { name: "Create" }).click();
      await page.getByRole("heading", { level: 1, name: "Typed before the end" }).waitFor();
    },
  );

  desk.story("by another reader finds nothing of the one before", async (opened) => {
    const { page } = opened;
    await openPlace(page, "Playground");
    await page.getByLabel("Message").fill("An operator's words");
    await (await openRequest(page)).getByLabel("System prompt").fill("An operator's prompt");
    await desk.clock.advance(31 * 60_000);
    await openPlace(page, "Tasks");
    await page.getByText("This session has ended: sign in again.").waitFor();
    expect(await page.evaluate<string>("JSON.stringify(sessionStorage)")).not.toContain("operator's");
    await page.getByLabel("Admin token or API key").fill(desk.gateway.key);
    await page.keyboard.press("Enter");
    await page.getByTitle("Signed in with the key test").waitFor({ state: "attached" });
    await openPlace(page, "Playground");
    await page.getByLabel("Message").waitFor();
    expect(await page.getByLabel("Message").inputValue()).toBe("");
    expect(await (await openRequest(page)).getByLabel("System prompt").inputValue()).toBe("");
    expect(await page.content()).not.toContain("acct_");
    opened.faults();
  });

  desk.story(
    "keeps a conversation and what was written to a model, also for the next reload",
    async (opened) => {
      const { page } = opened;
      await page.goto(`${desk.gateway.url}/console/playground`);
      await (await openRequest(page)).getByLabel("System prompt").fill("Be short.");
      await page.getByLabel("Message").fill("Not sent yet");
      await desk.clock.advance(31 * 60_000);
      // The pointer rests on a link, and the page reads ahead.
      const places = page.getByRole("navigation", { name: "Places" });
      await places.getByRole("link", { name: "Overview" }).hover();
      await page.getByText("This session has ended: sign in again.").waitFor();
      expect(opened.faults()[0]).toBe(UNAUTHORIZED);
      await page.getByLabel("Admin token or API key").fill(ADMIN_TOKEN);
      await page.keyboard.press("Enter");
      expect(await page.getByLabel("Message").inputValue()).toBe("Not sent yet");
      expect(await (await openRequest(page)).getByLabel("System prompt").inputValue()).toBe("Be short.");
      await page.reload();
      expect(await (await openRequest(page)).getByLabel("System prompt").inputValue()).toBe("Be short.");
    },
  );
});
