import Monitor from "lucide-solid/icons/monitor";
import Moon from "lucide-solid/icons/moon";
import Sun from "lucide-solid/icons/sun";
import { createSignal, Match, Switch } from "solid-js";
import { Button } from "../design/button.tsx";

/** The themes that a reader may choose. */
export const THEMES = ["system", "light", "dark"] as const;

/** A theme by its name. */
export type Theme = (typeof THEMES)[number];

const NEXT = { system: "light", light: "dark", dark: "system" } as const;

const [theme, setTheme] = createSignal<Theme>(
  (document.documentElement.dataset["theme"] as Theme | undefined) ?? "system",
);

export { theme };

/** Shows the pages in a theme, now and at later visits. */
export function chooseTheme(next: Theme): void {
  setTheme(next);
  if (next === "system") {
    delete document.documentElement.dataset["theme"];
    localStorage.removeItem("switchyard-theme");
  } else {
    document.documentElement.dataset["theme"] = next;
    localStorage.setItem("switchyard-theme", next);
  }
}

/** Goes from the system's theme to the light one, the dark one and back. */
export function ThemeButton() {
  return (
    <Button kind="quiet" label={`Theme: ${theme()}`} onClick={() => chooseTheme(NEXT[theme()])}>
      <Switch fallback={<Monitor size={16} />}>
        <Match when={theme() === "light"}>
          <Sun size={16} />
        </Match>
        <Match when={theme() === "dark"}>
          <Moon size={16} />
        </Match>
      </Switch>
    </Button>
  );
}
