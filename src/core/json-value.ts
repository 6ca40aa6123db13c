/** A JSON object whose members are not known yet. */
export type JsonObject = Record<string, unknown>;

/** Whether a parsed value is an object, and neither an array nor null. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The members that are there. */
export function present<T extends object>(members: T): { [Name in keyof T]?: Exclude<T[Name], undefined> } {
  const found = Object.entries(members).filter(([, value]) => value !== undefined);
  return Object.fromEntries(found) as { [Name in keyof T]?: Exclude<T[Name], undefined> };
}
