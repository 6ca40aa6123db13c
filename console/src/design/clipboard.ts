/** Copies a text. Rejects where the browser lets no page do that. */
export async function copyText(text: string): Promise<void> {
  // A page on plain HTTP has no clipboard, but on the machine itself; reading the property there gives `undefined`.
  const clipboard: Clipboard | undefined = navigator.clipboard;
  if (clipboard !== undefined) {
    const isDone = await clipboard.writeText(text).then(
      () => true,
      () => false,
    );
    if (isDone) return;
  }
  if (!copySelected(text)) throw new Error("The browser does not let this page copy.");
}

/** Copies by way of the selection, which is put back. The focus stays where it is: a dialog would take it back. */
function copySelected(text: string): boolean {
  const place = document.createElement("span");
  place.className = "visually-hidden";
  place.textContent = text;
  document.body.append(place);
  const selection = getSelection();
  const before = selection !== null && selection.rangeCount > 0 ? selection.getRangeAt(0) : undefined;
  selection?.selectAllChildren(place);
  // The browser would collapse white space and could add formats: the text itself is what is copied.
  const give = (event: ClipboardEvent): void => {
    event.clipboardData?.setData("text/plain", text);
    event.preventDefault();
    event.stopImmediatePropagation();
  };
  document.addEventListener("copy", give, { capture: true });
  try {
    return document.execCommand("copy");
  } finally {
    document.removeEventListener("copy", give, { capture: true });
    selection?.removeAllRanges();
    if (before !== undefined) selection?.addRange(before);
    place.remove();
  }
}
