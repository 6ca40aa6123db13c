import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Browser } from "playwright-core";
import { describeInChromium } from "../browser/chromium.ts";
import { ADMIN_TOKEN } from "../gateway/gateway.ts";
import { greeted, keyOf, useGatewayProcesses } from "../gateway/processes.ts";
import { LONG } from "../runs.ts";
import { type ConsolePage, LOOKS, openChromium, openPage, SCREENSHOTS, signIn } from "./browser.ts";
import { fillGateway, type Filled } from "./fill.ts";

// Every screen of the console in a real browser, in both themes and on two widths: with and without data. Where
// SWITCHYARD_TEST_SCREENSHOTS names a folder, each is kept there as a picture.

const processes = useGatewayProcesses();
let browser: Browser;
beforeAll(async () => void (browser = await openChromium()));
afterAll(() => browser.close());

/** Screens that need nothing, and what a reader finds on each. */
const SCREENS = [
  ["welcome", "Welcome"],
  ["overview", "Overview"],
  ["playground", "Playground"],
  ["playground/images", "Playground"],
  ["playground/videos", "Playground"],
  ["models", "Models"],
  ["requests", "Requests"],
  ["tasks", "Tasks"],
  ["accounts", "Accounts"],
  ["health", "Health"],
  ["settings", "Settings"],
] as const;

/** Screens of one thing each. */
const screensOf = ({ request, task, account, key, model }: Filled) =>
  [
    [`requests/${request}`, request],
    [`tasks/${task}`, task],
    [`accounts/${account}`, "Filled"],
    [`keys/${key}`, "filled"],
    [`models/${encodeURIComponent(model)}`, model],
  ] as const;

async function look(
  opened: ConsolePage,
  url: string,
  path: string,
  name: string,
): Promise<readonly string[]> {
  const { page } = opened;
  await page.goto(`${url}/console/${path}`);
  await page.getByRole("heading", { level: 1 }).first().waitFor();
  await page.waitForLoadState("networkidle");
  await opened.picture(name);
  return [...opened.faults(), ...(await opened.axe())].map((fault) => `${path}: ${fault}`);
}

describeInChromium("screens", () => {
  for (const [i, { theme, width }] of LOOKS.entries()) {
    // With small counts a screen is seen in one look with data, in turns, and in the first one without.
    const isEach = LONG || SCREENSHOTS !== undefined;
    const isSeenEmpty = isEach || i === 0;
    const when = isSeenEmpty ? "without and with data" : "with data";
    test(`${isEach ? "every screen" : "each in turn"} is drawn without a fault, ${theme}, ${width} px, ${when}`, async () => {
      const gateway = processes.start({ SWITCHYARD_ADMIN_TOKEN: ADMIN_TOKEN, SWITCHYARD_SANDBOX: "on" });
      const url = await greeted(gateway);
      const opened = await openPage(browser, { theme, width });
      await signIn(opened, url, ADMIN_TOKEN);
      // Without a session the first read is a 401, which the browser logs.
      opened.faults();
      const seen: string[] = [];
      const see = async (path: string, when: string): Promise<void> =>
        void seen.push(
          ...(await look(opened, url, path, `${path.replaceAll("/", "-")}-${when}-${theme}-${width}`)),
        );
      if (isSeenEmpty) for (const [path] of SCREENS) await see(path, "empty");
      const filled = await fillGateway(url, keyOf(gateway), ADMIN_TOKEN);
      for (const [nth, [path]] of [...SCREENS, ...screensOf(filled)].entries())
        if (isEach || nth % LOOKS.length === i) await see(path, "full");
      await opened.close();
      expect(seen).toEqual([]);
    }, 600_000);
  }
});
