/** A name as it can stand in a header. */
export function printable(name: string): string {
  return name.slice(0, 64).replace(/[^\x20-\x7e]|["\\]/g, "?");
}
