/** A name as it can stand in a header. */
export function printable(name: string): string {
  return name.slice(0, 64).replace(/[^\x20-\x7e]|["\\]/g, "?");
}

/** A value that should have been a name, as it can stand in a sentence; one of another kind by its kind alone. */
export function printableName(value: unknown): string {
  if (typeof value === "object" && value !== null) return Array.isArray(value) ? "a list" : "an object";
  return printable(String(value));
}
