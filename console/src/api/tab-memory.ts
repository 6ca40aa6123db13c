/** Entries of the tab's storage that are a session's; the theme is the reader's and has another name. */
const PREFIX = "switchyard-session:";

type TabStorage = Pick<Storage, "getItem" | "setItem" | "removeItem" | "key" | "length">;

/** Keeps a value for the tab, until the session ends. `false` where it is too large, and then nothing is kept. */
export function keepInTab(
  name: string,
  session: string,
  value: unknown,
  storage: TabStorage = sessionStorage,
): boolean {
  try {
    storage.setItem(PREFIX + name, JSON.stringify({ session, value }));
    return true;
  } catch {
    storage.removeItem(PREFIX + name);
    return false;
  }
}

/** What was kept in this tab for the same session; what another one left is deleted. */
export function keptInTab(name: string, session: string, storage: TabStorage = sessionStorage): unknown {
  const kept = storage.getItem(PREFIX + name);
  if (kept === null) return undefined;
  const read = entryOf(kept);
  if (read?.session === session) return read.value;
  storage.removeItem(PREFIX + name);
  return undefined;
}

/** What an entry says; nothing where it is not one that `keepInTab` wrote. */
function entryOf(text: string): { readonly session?: unknown; readonly value?: unknown } | null {
  try {
    const entry: unknown = JSON.parse(text);
    return typeof entry === "object" ? entry : null;
  } catch {
    return null;
  }
}

const listeners = new Set<() => void>();

/** Calls `forget` when the reader goes, before what was kept is deleted. */
export function whenForgotten(forget: () => void): void {
  listeners.add(forget);
}

/** Deletes all that was kept, and what pages hold of it: its reader has gone. */
export function forgetTab(storage: TabStorage = sessionStorage): void {
  for (const forget of listeners) forget();
  clearTab(storage);
}

/** Deletes all that was kept; pages still hold it. */
export function clearTab(storage: TabStorage = sessionStorage): void {
  const names = Array.from({ length: storage.length }, (_, at) => storage.key(at) ?? "");
  for (const name of names) if (name.startsWith(PREFIX)) storage.removeItem(name);
}
