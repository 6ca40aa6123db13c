import { createComputed, untrack } from "solid-js";

/** Gives the focus back to what had it when something opened, once that closes: for `onCloseAutoFocus`. */
export function returnFocus(isOpen: () => boolean): (event: Event) => void {
  let before: Element | null = null;
  createComputed(() => {
    if (isOpen()) before = untrack(() => document.activeElement);
  });
  return (event) => {
    event.preventDefault();
    if (before instanceof HTMLElement && before.isConnected) before.focus();
  };
}
