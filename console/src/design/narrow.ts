import { createSignal, onCleanup } from "solid-js";

/** Whether the page is as narrow as a phone: tables are cards then. */
export function useIsNarrow(): () => boolean {
  const asked = matchMedia("(max-width: 719px)");
  const [isNarrow, setNarrow] = createSignal(asked.matches);
  const follow = (): void => void setNarrow(asked.matches);
  asked.addEventListener("change", follow);
  onCleanup(() => asked.removeEventListener("change", follow));
  return isNarrow;
}
