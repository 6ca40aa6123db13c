import { createSignal } from "solid-js";

const root = document.documentElement;
const [themes, setThemes] = createSignal(0);
let known = new Map<string, string>();
let probe: HTMLElement | undefined;

const forget = (): void => {
  known = new Map();
  setThemes((count) => count + 1);
};
new MutationObserver(forget).observe(root, { attributeFilter: ["data-theme"] });
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", forget);

/** How often the theme has changed: who reads it is run anew with the next one. */
export const themeChanges: () => number = themes;

/**
 * The colour of a token, `--bad`, as a canvas understands it: tokens are functions of the theme. Each is asked for once a
 * theme, since the browser works out the page's styles for it.
 */
export function colourOf(token: string): string {
  let colour = known.get(token);
  if (colour === undefined) known.set(token, (colour = resolve(token)));
  return colour;
}

function resolve(token: string): string {
  probe ??= document.body.appendChild(Object.assign(document.createElement("span"), { hidden: true }));
  probe.style.color = `var(${token})`;
  const [red = 0, green = 0, blue = 0] = (getComputedStyle(probe).color.match(/\d+/g) ?? []).map(Number);
  return `#${[red, green, blue].map((part) => part.toString(16).padStart(2, "0")).join("")}`;
}
