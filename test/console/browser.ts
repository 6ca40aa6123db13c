import { AxeBuilder } from "@axe-core/playwright";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";
import { chromiumPath } from "../browser/chromium.ts";
import { isPhone, type Look, SCREENSHOTS } from "./looks.ts";

/** A page of the console in a real browser, and what went wrong on it. */
export interface ConsolePage {
  readonly page: Page;
  /** Errors of scripts, refusals by the policy, failed loads, dialogs, calls elsewhere: those since the last call. */
  faults(): readonly string[];
  /** Findings of axe that are serious or worse, with the elements that have them. */
  axe(): Promise<readonly string[]>;
  /** Keeps a picture of the page in its look where pictures are asked for. */
  picture(name: string): Promise<void>;
  close(): Promise<void>;
}

/** Opens Chromium; its pages are signed in one by one. */
export function openChromium(): Promise<Browser> {
  return chromium.launch({
    executablePath: chromiumPath(),
    // Root has no sandbox to run Chromium in; the pages are the tests' own.
    args: ["--no-sandbox", "--disable-dev-shm-usage"],
  });
}

/** A page with cookies of its own. */
export async function openPage(browser: Browser, { theme, width }: Look): Promise<ConsolePage> {
  const context: BrowserContext = await browser.newContext({
    viewport: { width, height: isPhone({ width }) ? 844 : 900 },
    colorScheme: theme,
    reducedMotion: "reduce",
    permissions: ["clipboard-read", "clipboard-write"],
  });
  const page = await context.newPage();
  let faults: string[] = [];
  page.on("pageerror", (error) => faults.push(`error: ${error.message}`));
  page.on("console", (message) => {
    if (message.type() === "error") faults.push(`console: ${message.text()}`);
  });
  page.on("dialog", (dialog) => {
    faults.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  let home: string | undefined;
  context.on("request", (request) => {
    const { origin } = new URL(request.url());
    home ??= origin;
    // Bytes within the page have the origin "null".
    if (origin !== home && origin !== "null") faults.push(`elsewhere: ${request.url()}`);
  });
  await page.addInitScript(
    `document.addEventListener("securitypolicyviolation", ({ violatedDirective, blockedURI }) =>
      console.error("policy: " + violatedDirective + " " + blockedURI))`,
  );
  return {
    page,
    faults() {
      const seen = faults;
      faults = [];
      return seen;
    },
    async axe() {
      const { violations } = await new AxeBuilder({ page }).analyze();
      return violations
        .filter(({ impact }) => impact === "serious" || impact === "critical")
        .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 160)).join(" | ")}`);
    },
    async picture(name) {
      if (SCREENSHOTS === undefined) return;
      mkdirSync(SCREENSHOTS, { recursive: true });
      await page.screenshot({ path: join(SCREENSHOTS, `${name}-${theme}-${width}.png`), fullPage: true });
    },
    close: () => context.close(),
  };
}

/** Signs in on the page that stands at the console's address. */
export async function signIn({ page }: ConsolePage, url: string, credential: string): Promise<void> {
  await page.goto(`${url}/console/`);
  await page.getByLabel("Admin token or API key").fill(credential);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("navigation", { name: "Places" }).waitFor();
}
