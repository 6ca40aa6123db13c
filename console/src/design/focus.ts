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

/** Leads the focus to what is now to be read, and is no control: it needs `tabindex="-1"`. */
export function readFrom(element: HTMLElement | null | undefined): void {
  element?.focus({ preventScroll: true });
}

/** Whether nothing has the focus, or the main part of the page as a whole: a reader by keyboard is nowhere then. */
export function isFocusLost(): boolean {
  const { activeElement } = document;
  return activeElement === null || activeElement === document.body || activeElement.id === "main";
}

/**
 * Gives the focus back to what had it when something opened, once that closes: for `onCloseAutoFocus`. Where that is gone
 * the page has the focus, and also where the reader goes on to another: `isLeft`.
 */
export function returnFocus(isOpen: () => boolean, isLeft = () => false): (event: Event) => void {
  let before: Element | null = null;
  createComputed(() => {
    if (isOpen()) before = untrack(() => document.activeElement);
  });
  return (event) => {
    event.preventDefault();
    const main = document.getElementById("main");
    // Where nothing had it, nothing has to get it back.
    const isThere = before?.isConnected === true && before !== document.body && !isLeft();
    const target = isThere ? before : main;
    if (target instanceof HTMLElement) target.focus();
  };
}
