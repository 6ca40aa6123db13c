import { useRouter } from "@tanstack/solid-router";
import { onMount } from "solid-js";
import type { Place } from "./places.ts";

/** Its own files are the largest of all places: the browser loads them when a reader opens it. */
const LARGE: Place["to"] = "/playground";

/** Loads the files of places one after the other while the browser has nothing to do: who opens one waits for none. */
export function usePreload(places: () => readonly Place[]): void {
  const router = useRouter();
  const load = async (): Promise<void> => {
    for (const { to } of places()) {
      if (to === LARGE) continue;
      await idle();
      // A page that cannot be loaded now says so when it is opened.
      await router.preloadRoute({ to }).catch(() => undefined);
    }
  };
  onMount(() => void load());
}

/** Resolves when the browser has nothing to do. Safari does not tell that: there it is a second later. */
function idle(): Promise<unknown> {
  return new Promise((resolve) => {
    if ("requestIdleCallback" in window) requestIdleCallback(resolve);
    else setTimeout(resolve, 1_000);
  });
}
