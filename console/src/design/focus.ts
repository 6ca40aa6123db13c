import { createComputed, untrack } from "solid-js";

/**
 * Leads the focus into the form of what opens: for `onOpenAutoFocus`. The primitive would begin at the button that
 * closes.
 */
export function beginAtField(event: Event): void {
  const field = (event.target as Element).querySelector<HTMLElement>("form :is(input, select, textarea)");
  if (field === null) return;
  event.preventDefault();
  field.focus();
  // What an earlier try has left there is replaced by typing.
  if (field instanceof HTMLInputElement) field.select();
}

/**
 * Gives the focus back to what had it when something opened, once that closes: for `onCloseAutoFocus`. Where that is gone
 * the page has the focus.
 */
export function returnFocus(isOpen: () => boolean): (event: Event) => void {
  let before: Element | null = null;
  createComputed(() => {
    if (isOpen()) before = untrack(() => document.activeElement);
  });
  return (event) => {
    event.preventDefault();
    const target = before?.isConnected === true ? before : document.getElementById("main");
    if (target instanceof HTMLElement) target.focus();
  };
}
