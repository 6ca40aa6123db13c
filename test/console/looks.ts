import { describeInChromium } from "../browser/chromium.ts";
import { LONG } from "../runs.ts";

// Which test of the console sees its pages in which look.

/** The folder that pictures are kept in; absent: none are made. */
export const SCREENSHOTS = process.env.SWITCHYARD_TEST_SCREENSHOTS;

/** Looks of a page: a theme and a width. */
export interface Look {
  readonly theme: "light" | "dark";
  readonly width: number;
}

/** Both themes and both widths, in all pairs. */
export const LOOKS: readonly Look[] = [
  { theme: "dark", width: 390 },
  { theme: "light", width: 1440 },
  { theme: "dark", width: 1440 },
  { theme: "light", width: 390 },
];

/** Those of a phone. */
export const PHONES = LOOKS.filter(isPhone);

/** Whether pages have a bar at the bottom, cards for rows, and folded filters. */
export function isPhone({ width }: Pick<Look, "width">): boolean {
  return width < 720;
}

/** A look as the name of a test has it. */
export function named({ theme, width }: Look): string {
  return `${theme}, ${width} px`;
}

/** Whether each test runs in each look. */
const IN_EACH = LONG || SCREENSHOTS !== undefined;

/**
 * A group of tests, each of which asks `next` for its look. With the small counts they take turns in `looks`, by their
 * place in the group. With the large ones, or where pictures are kept, the whole group runs once in each look.
 */
export function describeInLooks(name: string, tests: (next: () => Look) => void, looks = LOOKS): void {
  if (IN_EACH) for (const look of looks) describeInChromium(name, () => tests(() => look));
  else {
    let place = 0;
    const next = (): Look => looks[place++ % looks.length] as Look;
    describeInChromium(name, () => tests(next));
  }
}
