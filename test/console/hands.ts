import type { Locator, Page } from "playwright-core";
import { isPhone } from "./looks.ts";

// What a reader presses that stands elsewhere on a phone.

/** Whether a page is drawn for a phone. */
export function isOnPhone(page: Page): boolean {
  return isPhone(page.viewportSize() ?? { width: 0 });
}

/**
 * Goes to a place by the rail. On a phone it goes by the bar, or by the sheet for places that the bar has no room for.
 */
export async function openPlace(page: Page, name: string): Promise<void> {
  const rail = page.getByRole("navigation", { name: "Places" });
  const link = rail.getByRole("link", { name });
  const more = rail.getByRole("button", { name: "More" });
  await link.or(more).first().waitFor();
  if (await link.isVisible()) return link.click();
  await more.click();
  await page.getByRole("dialog", { name: "More places" }).getByRole("link", { name }).click();
}

/** The filters of a list; on a phone they are unfolded first. */
export async function openFilters(page: Page | Locator): Promise<Locator> {
  const filters = page.getByRole("search", { name: "Filters" });
  const folded = page.getByRole("button", { name: /^Filters/, expanded: false });
  await filters.or(folded).first().waitFor();
  if (await folded.isVisible()) await folded.click();
  return filters;
}

/** What goes along with a message in the playground; on a phone it is unfolded first. */
export async function openRequest(page: Page): Promise<Locator> {
  const request = page.getByRole("complementary", { name: "Request" });
  const folded = request.getByRole("button", { name: /^System prompt/, expanded: false });
  await request.waitFor();
  if (await folded.isVisible()) await folded.click();
  return request;
}

/** Puts a list in order by a column, the largest first; once more, the smallest first. On a phone a choice has both. */
export async function orderBy(list: Locator, title: string, direction: "↓" | "↑" = "↓"): Promise<void> {
  if (isOnPhone(list.page())) {
    const choice = list.getByLabel("Order");
    const option = choice.locator("option", { hasText: title }).filter({ hasText: direction });
    await choice.selectOption(await option.getAttribute("value"));
    return;
  }
  await list.getByRole("columnheader", { name: title }).getByRole("button").click();
}

/** The rows of a list, without its head. */
export function rowsOf(list: Locator): Locator {
  return list.locator("tbody tr:not([aria-hidden])");
}
