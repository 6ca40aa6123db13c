import { afterAll, beforeAll, expect, test } from "bun:test";
import { type Browser, chromium, type Page } from "playwright-core";
import { chromiumPath, describeInChromium } from "../browser/chromium.ts";
import { ADMIN_TOKEN } from "../gateway/gateway.ts";
import { greeted, keyOf, useGatewayProcesses } from "../gateway/processes.ts";
import { type ConsolePage, openPage, signIn } from "./browser.ts";
import { openPlace, openRequest } from "./hands.ts";
import { describeInLooks, type Look, named } from "./looks.ts";

// What the console keeps and copies, and how it draws what a model says, in a real browser on plain HTTP.

/** A name that is not the machine's own: to browsers a page there is not secure, and has no clipboard. */
const HOST = "switchyard.test";

const processes = useGatewayProcesses();
let browser: Browser;
beforeAll(async () => {
  browser = await chromium.launch({
    executablePath: chromiumPath(),
    args: ["--no-sandbox", "--disable-dev-shm-usage", `--host-resolver-rules=MAP ${HOST} 127.0.0.1`],
  });
});
afterAll(() => browser.close());

/** A test of what a reader does in a look, on a gateway of its own. */
function story(
  look: Look,
  name: string,
  act: (opened: ConsolePage & { readonly url: string; readonly key: string }) => Promise<void>,
): void {
  test(`${name} (${named(look)})`, async () => {
    const gateway = processes.start({ SWITCHYARD_ADMIN_TOKEN: ADMIN_TOKEN, SWITCHYARD_SANDBOX: "on" });
    const url = (await greeted(gateway)).replace("127.0.0.1", HOST);
    const opened = await openPage(browser, look);
    await act({ ...opened, url, key: keyOf(gateway) });
    await opened.close();
  }, 120_000);
}

/** Lets the playground's calls be answered with `markdown`, in one event. */
async function answerWith(page: Page, markdown: string): Promise<void> {
  const chunks = [
    { choices: [{ index: 0, delta: { content: markdown } }] },
    { choices: [{ index: 0, delta: {}, finish_reason: "stop" }] },
  ];
  const body = `${chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join("")}data: [DONE]\n\n`;
  await page.route("**/console/api/play/chat/completions", (route) =>
    route.fulfill({ status: 200, headers: { "content-type": "text/event-stream" }, body }),
  );
}

async function say(page: Page, text: string): Promise<void> {
  await page.getByLabel("Message").fill(text);
  await page.getByRole("button", { name: "Send" }).click();
  await page.getByRole("button", { name: "Regenerate" }).waitFor();
}

describeInLooks("the console on plain HTTP", (next) => {
  story(next(), "a conversation is there after a reload, and for no other session", async (console) => {
    const { page, url, key } = console;
    await signIn(console, url, key);
    await page.goto(`${url}/console/playground`);
    await answerWith(page, "A track.");
    await (await openRequest(page)).getByLabel("System prompt").fill("Be short.");
    await say(page, "Where do cars go?");
    await page.reload();
    await page.getByText("A track.").waitFor();
    expect(await page.getByText("Where do cars go?").count()).toBe(1);
    expect(await page.getByLabel("System prompt").inputValue()).toBe("Be short.");
    const kept = () => page.evaluate<string>("JSON.stringify(sessionStorage)");
    expect(await kept()).toContain("Where do cars go?");
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByLabel("Admin token or API key").waitFor();
    expect(await kept()).not.toContain("cars");
    await page.reload();
    expect(await kept()).not.toContain("cars");
    await signIn(console, url, key);
    await page.goto(`${url}/console/playground`);
    await page.getByText("Nothing said yet").waitFor();
  });

  story(next(), "a conversation stays while the reader looks at another page", async (console) => {
    const { page, url, key } = console;
    await signIn(console, url, key);
    await page.goto(`${url}/console/playground`);
    await answerWith(page, "A track.");
    await say(page, "Where do cars go?");
    await openPlace(page, "Settings");
    await page.getByRole("heading", { name: "Settings" }).waitFor();
    await openPlace(page, "Playground");
    await page.getByText("Where do cars go?").waitFor();
  });

  story(
    next(),
    "an answer is drawn from its Markdown: no HTML of it lives, and nothing is loaded from elsewhere",
    async (console) => {
      const { page, url, key } = console;
      await signIn(console, url, key);
      await page.goto(`${url}/console/playground`);
      console.faults();
      const asked: string[] = [];
      page.on("request", (request) => asked.push(request.url()));
      await answerWith(
        page,
        [
          "# Yards",
          "- one\n- two",
          "| a | b |\n|---|--:|\n| x | 1 |",
          "```ts\nlet a = 1;\n```",
          "[safe](https://e.example/x) [not](javascript:alert(1)) ![map](https://e.example/map.png)",
          '<img src="https://e.example/i.png" onerror="document.title = \'taken\'"><script>alert(1)</script>',
        ].join("\n\n"),
      );
      await say(page, "Draw.");
      const answer = page.getByRole("article");
      expect(await answer.getByRole("heading", { name: "Yards" }).count()).toBe(1);
      expect(await answer.getByRole("listitem").allInnerTexts()).toEqual(["one", "two"]);
      expect(await answer.getByRole("cell").allInnerTexts()).toEqual(["x", "1"]);
      expect(await answer.locator("img, script").count()).toBe(0);
      expect(await answer.getByRole("link", { name: "not" }).count()).toBe(0);
      const safe = answer.getByRole("link", { name: "safe" });
      expect(await safe.getAttribute("rel")).toBe("noopener noreferrer");
      expect(await safe.getAttribute("target")).toBe("_blank");
      expect(await answer.getByText('<img src="https://e.example/i.png"').count()).toBe(1);
      expect(asked.filter((address) => address.includes("e.example"))).toEqual([]);
      expect([...console.faults(), ...(await console.axe())]).toEqual([]);
      await answer.getByRole("button", { name: "Copy code" }).click();
      await answer.getByRole("button", { name: "Copied" }).waitFor();
    },
  );

  story(
    next(),
    "what is copied without a clipboard is the text itself, and a refusal is told",
    async (console) => {
      const { page, url } = console;
      await signIn(console, url, ADMIN_TOKEN);
      await page.goto(`${url}/console/welcome`);
      expect(await page.evaluate<boolean>("navigator.clipboard === undefined")).toBe(true);
      const copy = page.getByRole("button", { name: "Copy the call" });
      await copy.first().click();
      await page.getByRole("button", { name: "Copied" }).waitFor();
      // The field is a plain one: what arrives there is what the clipboard has.
      const field = page.getByLabel("Name of the key");
      await field.fill("");
      await field.press("Control+v");
      expect(await field.inputValue()).toStartWith("curl http://");
      await page.evaluate("document.execCommand = () => false");
      await page.getByRole("button", { name: "Copied" }).waitFor({ state: "detached" });
      await copy.first().click();
      await page.getByRole("alert").getByText("Not copied").waitFor();
    },
  );
});

describeInLooks("the console's first load", (next) => {
  for (const path of ["overview", "playground", "requests"])
    story(next(), `of ${path} is at most 200 KB compressed`, async (console) => {
      const { page, url } = console;
      const sizes: Promise<number>[] = [];
      page.on("requestfinished", (request) => {
        if (!request.url().includes("/console/api/"))
          sizes.push(request.sizes().then(({ responseBodySize }) => responseBodySize));
      });
      // The browser keeps what the sign-in has loaded, so that nothing counts twice.
      await signIn(console, url, ADMIN_TOKEN);
      await page.goto(`${url}/console/${path}`);
      await page.getByRole("heading", { level: 1 }).first().waitFor();
      await page.waitForLoadState("networkidle");
      const loaded = (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
      expect(loaded).toBeGreaterThan(50_000);
      expect(loaded).toBeLessThan(200_000);
    });
});

describeInLooks("the console by keyboard", (next) => {
  story(
    next(),
    "a dialog gives the focus back to what opened it, and so does the palette",
    async (console) => {
      const { page, url } = console;
      await signIn(console, url, ADMIN_TOKEN);
      await page.goto(`${url}/console/accounts`);
      const opener = page.getByRole("button", { name: "Create an account" });
      await opener.focus();
      await page.keyboard.press("Enter");
      await page.getByRole("dialog").waitFor();
      await page.keyboard.press("Escape");
      await page.getByRole("dialog").waitFor({ state: "detached" });
      await page.locator("button:focus", { hasText: "Create an account" }).waitFor();
      await page.keyboard.press("Control+k");
      await page.getByRole("combobox", { name: "Go to a page" }).waitFor();
      await page.keyboard.press("Escape");
      await page.getByRole("dialog").waitFor({ state: "detached" });
      await page.locator("button:focus", { hasText: "Create an account" }).waitFor();
    },
  );

  story(next(), "a new page is read from its heading, and a new key from its text", async (console) => {
    const { page, url } = console;
    await signIn(console, url, ADMIN_TOKEN);
    await page.goto(`${url}/console/accounts`);
    await page.getByRole("button", { name: "Create an account" }).focus();
    for (const name of ["Models", "Health", "Settings"]) {
      await page.keyboard.press("Control+k");
      await page.getByRole("combobox", { name: "Go to a page" }).fill(name);
      await page.keyboard.press("Enter");
      await page.locator("h1:focus", { hasText: name }).waitFor();
    }
    await page.goto(`${url}/console/accounts`);
    // The link is gone with its page.
    await page.getByRole("link", { name: "Create a key" }).press("Enter");
    await page.locator("h1:focus", { hasText: "Create a key" }).waitFor();
    await page.getByLabel("Name").fill("by keyboard");
    await page.keyboard.press("Enter");
    await page.locator("[role=status]:focus", { hasText: "This is the only time" }).waitFor();
    await page.keyboard.press("Tab");
    await page
      .locator("button:focus", { hasText: "Copy" })
      .or(page.locator("button[aria-label^=Copy]:focus"))
      .waitFor();
    await page.getByRole("button", { name: "Create another" }).press("Enter");
    await page.locator("select:focus").waitFor();

    await page.goto(`${url}/console/welcome`);
    await page.getByLabel("Name of the key").fill("first by keyboard");
    await page.keyboard.press("Enter");
    await page.locator("[role=status]:focus", { hasText: "This is the only time" }).waitFor();
  });
});

describeInChromium("the console", () => {
  for (const width of [360, 390])
    story(
      { theme: "light", width },
      `a phone of ${width} px reaches every place, scrolls no page sideways, and stops at nothing unseen`,
      async (console) => {
        const { page, url } = console;
        await signIn(console, url, ADMIN_TOKEN);
        for (const place of ["Tasks", "Accounts & keys", "Health", "Settings"]) {
          await openPlace(page, place);
          await page.getByRole("heading", { level: 1, name: place }).waitFor();
          await page.waitForLoadState("networkidle");
          expect([place, await page.evaluate(SIDEWAYS)]).toEqual([place, 0]);
          expect([place, await page.evaluate(UNSEEN_STOPS)]).toEqual([place, []]);
        }
      },
    );
});

describeInChromium("the console", () => {
  story(
    { theme: "light", width: 3840 },
    "on a screen of 3840 px has all pages in one place",
    async (console) => {
      const { page, url } = console;
      await signIn(console, url, ADMIN_TOKEN);
      const places: (readonly [left: number, right: number])[] = [];
      for (const path of [
        "overview",
        "playground",
        "models",
        "requests",
        "tasks",
        "accounts",
        "health",
        "settings",
      ]) {
        await page.goto(`${url}/console/${path}`);
        const head = page.getByRole("heading", { level: 1 });
        await head.waitFor();
        expect([path, await page.evaluate(SIDEWAYS)]).toEqual([path, 0]);
        places.push(await page.evaluate(PLACE));
      }
      expect(new Set(places.map(String)).size).toBe(1);
      const [[left, right] = [0, 0]] = places;
      // Lines of text and rows of a table would be too long to follow on all of it.
      expect(right - left).toBeLessThan(2_000);
    },
  );
});

/** Where what the main part of the page holds begins and ends. */
const PLACE = `(({ left, right }) => [left, right])(document.querySelector("main > *").getBoundingClientRect())`;

/** By how many pixels the page is wider than the window. */
const SIDEWAYS = "document.documentElement.scrollWidth - document.documentElement.clientWidth";

/** Names of controls that the keyboard reaches and that no reader sees. */
const UNSEEN_STOPS = `[...document.querySelectorAll("a[href], button, input, select, textarea, [tabindex='0']")]
  .filter((each) => each.checkVisibility() && !each.classList.contains("visually-hidden"))
  .filter((each) => {
    const { width, height } = each.getBoundingClientRect();
    return width <= 1 || height <= 1 || each.closest("thead") !== null;
  })
  .map((each) => each.textContent)`;
