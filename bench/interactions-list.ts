import type { Page } from "playwright-core";

/** Where the answer to an interaction comes from: nothing is asked, it was read before, or the gateway is asked. */
export type Source = "page" | "cache" | "gateway";

/** Something that a user does, and what shows that it is done. */
export interface Interaction {
  readonly name: string;
  readonly source: Source;
  /** Brings the page to where the interaction begins; absent: where the one before has ended. */
  readonly before?: (page: Page) => Promise<unknown>;
  readonly act: (page: Page) => Promise<unknown>;
  /** An expression of the page that is true once the result is there. */
  readonly shown: string;
  /** Whether charts draw a year. */
  readonly drawsYear?: boolean;
}

/** Nothing of the page waits for an answer. */
const READ = `!document.querySelector('main [class*="skeleton"], main [class*="busy"]')`;
const ROWS = `document.querySelector("main tbody tr")`;
const CHARTS = `document.querySelectorAll("main figure canvas").length > 2`;
const heading = (name: string): string => `document.querySelector("h1")?.textContent === "${name}"`;
const at = (search: string): string => `location.search.includes("${search}")`;
const all = (...expressions: readonly string[]): string => expressions.join(" && ");

const place = (page: Page, name: string): Promise<void> =>
  page.getByRole("navigation", { name: "Places" }).getByRole("link", { name }).click();

/** Each place, and what it shows of the store. Health audits the books meanwhile, which is no part of opening it. */
const PLACES: readonly (readonly [name: string, shows: string])[] = [
  ["Overview", all(CHARTS, READ)],
  ["Playground", all(`document.querySelector("main textarea")`, READ)],
  ["Models", all(ROWS, READ)],
  ["Requests", all(ROWS, READ)],
  ["Tasks", all(ROWS, READ)],
  ["Accounts & keys", all(ROWS, READ)],
  ["Health", ROWS],
  ["Settings", all(`document.querySelector("main input")`, READ)],
];

const opening = (source: Source): Interaction[] =>
  PLACES.map(([name, shows]) => ({
    name: `open ${name}`,
    source,
    act: (page) => place(page, name),
    shown: all(heading(name), shows),
  }));

const chooseOutcome = (page: Page, value: string): Promise<unknown> =>
  page.getByRole("search", { name: "Filters" }).getByLabel("Outcome").selectOption(value);
const chooseRange = (page: Page, value: string): Promise<unknown> =>
  page.getByLabel("Range of time").selectOption(value);

const requestShown = `location.pathname.includes("/requests/req_") && ${all(heading("Request"), READ)} && document.querySelector("main dl")`;
const openFirst = (page: Page): Promise<void> =>
  page.getByRole("region", { name: "Table of requests" }).getByRole("link").first().click();

const ON_REQUESTS: readonly Interaction[] = [
  {
    name: "open a request",
    source: "gateway",
    before: (page) => place(page, "Requests"),
    act: openFirst,
    shown: requestShown,
  },
  {
    name: "open a request",
    source: "cache",
    before: (page) => page.goBack(),
    act: openFirst,
    shown: requestShown,
  },
  {
    name: "load the next page of a list",
    source: "gateway",
    before: (page) => page.goBack(),
    act: (page) => page.getByRole("button", { name: "Load more" }).click(),
    shown: `document.querySelector("main table").getAttribute("aria-rowcount") === "201"`,
  },
  {
    name: "change a filter",
    source: "gateway",
    act: (page) => chooseOutcome(page, "upstream_error"),
    shown: all(at("outcome="), ROWS, READ),
  },
  {
    name: "take a filter away",
    source: "cache",
    act: (page) => chooseOutcome(page, ""),
    shown: all(`!${at("outcome=")}`, ROWS, READ),
  },
  {
    name: "change a filter",
    source: "cache",
    act: (page) => chooseOutcome(page, "upstream_error"),
    shown: all(at("outcome="), ROWS, READ),
  },
  {
    name: "sort by a column",
    source: "page",
    act: (page) =>
      page
        .getByRole("columnheader", { name: /^Tokens out/ })
        .getByRole("button")
        .click(),
    shown: all(at("sort=-out"), `document.querySelector('th[aria-sort="descending"]')`),
  },
];

/** The charts say which steps they have; those before stand until the page is drawn anew. */
const by = (step: string): string => `document.querySelector("main").textContent.includes("by the ${step}")`;
const yearShown = all(at("range=1y"), by("week"), CHARTS, READ);
const ON_OVERVIEW: readonly Interaction[] = [
  {
    name: "change the range to a year",
    source: "gateway",
    before: (page) => place(page, "Overview"),
    act: (page) => chooseRange(page, "1y"),
    shown: yearShown,
    drawsYear: true,
  },
  {
    name: "change the range to a day",
    source: "cache",
    act: (page) => chooseRange(page, "24h"),
    shown: all(`!${at("range=1y")}`, by("hour"), CHARTS, READ),
  },
  {
    name: "change the range to a year",
    source: "cache",
    act: (page) => chooseRange(page, "1y"),
    shown: yearShown,
    drawsYear: true,
  },
  ...[1, 2, 3].map((): Interaction => ({
    name: "switch the theme, with charts of a year",
    source: "page",
    act: (page) => page.getByRole("button", { name: /^Theme:/ }).click(),
    shown: CHARTS,
    drawsYear: true,
  })),
];

const LOCAL: readonly Interaction[] = [
  {
    name: "open a dialog",
    source: "page",
    before: (page) => place(page, "Accounts & keys"),
    act: (page) => page.getByRole("button", { name: "Create an account" }).click(),
    shown: `document.querySelector("[role=dialog] input")`,
  },
  {
    name: "open the palette",
    source: "page",
    before: (page) => page.keyboard.press("Escape"),
    act: (page) => page.keyboard.press("Control+k"),
    shown: `document.querySelector("[role=dialog] [role=combobox]")`,
  },
  {
    name: "type in the playground",
    source: "page",
    before: async (page) => {
      await page.keyboard.press("Escape");
      await place(page, "Playground");
      await page.getByLabel("Message").focus();
    },
    act: (page) => page.keyboard.press("a"),
    shown: `document.activeElement.value.endsWith("a")`,
  },
];

/** All that a round does, in this order. */
export const INTERACTIONS: readonly Interaction[] = [
  ...opening("gateway"),
  ...opening("cache"),
  ...ON_REQUESTS,
  ...ON_OVERVIEW,
  ...LOCAL,
];
