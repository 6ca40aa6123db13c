import { beforeAll, expect } from "bun:test";
import type { ConsolePage } from "./browser.ts";
import { useDesk } from "./desk.ts";
import { fillDesk, type Filled } from "./fill.ts";
import { describeInLooks } from "./looks.ts";

// Every screen of the console in a real browser, with and without data. Where SWITCHYARD_TEST_SCREENSHOTS names a folder,
// each is kept there as a picture.

/** Screens that need nothing. */
const SCREENS = [
  "welcome",
  "overview",
  "playground",
  "playground/images",
  "playground/videos",
  "models",
  "requests",
  "requests?tab=refused",
  "tasks",
  "accounts",
  "accounts?tab=keys",
  "keys/new",
  "health",
  "settings",
];

/** Screens of one thing each. */
const OF_ONE: Readonly<Record<string, (filled: Filled) => string>> = {
  requests: ({ request }) => request,
  tasks: ({ task }) => task,
  accounts: ({ account }) => account,
  keys: ({ key }) => key,
  models: ({ model }) => encodeURIComponent(model),
};

async function expectFaultless(opened: ConsolePage, address: string, name: string): Promise<void> {
  const { page } = opened;
  await page.goto(address);
  await page.getByRole("heading", { level: 1 }).first().waitFor();
  await page.waitForLoadState("networkidle");
  await opened.picture(name.replaceAll(/\W+/g, "-"));
  expect([...opened.faults(), ...(await opened.axe())]).toEqual([]);
}

describeInLooks("a screen without data is drawn without a fault", (next) => {
  const desk = useDesk(next);
  for (const path of SCREENS)
    desk.story(path, (opened) =>
      expectFaultless(opened, `${desk.gateway.url}/console/${path}`, `${path}-empty`),
    );
});

describeInLooks("a screen with data is drawn without a fault", (next) => {
  const desk = useDesk(next);
  let filled: Filled;
  beforeAll(async () => {
    filled = await fillDesk(desk);
  }, 60_000);
  for (const path of SCREENS)
    desk.story(path, (opened) =>
      expectFaultless(opened, `${desk.gateway.url}/console/${path}`, `${path}-full`),
    );
  for (const [place, idOf] of Object.entries(OF_ONE))
    desk.story(`one of ${place}`, (opened) =>
      expectFaultless(opened, `${desk.gateway.url}/console/${place}/${idOf(filled)}`, `${place}-one-full`),
    );
});
