/** A JSON object whose members are not known yet. */
export type JsonObject = Record<string, unknown>;

/** Whether a parsed value is an object, and neither an array nor null. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The objects of a list; none of what is no list. */
export function objectsIn(value: unknown): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

/** A text that says something. */
export function filledText(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** A list with items, or an object with members; `undefined` for an empty one. */
export function filled<T extends object>(value: T): T | undefined {
  return Object.keys(value).length === 0 ? undefined : value;
}

/** The members that are there. */
export function present<T extends object>(members: T): { [Name in keyof T]?: Exclude<T[Name], undefined> } {
  // Every tool and call of a request passes here: `for in` makes no list of their members.
  const found: Partial<T> = {};
  for (const name in members) if (members[name] !== undefined) found[name] = members[name];
  return found as { [Name in keyof T]?: Exclude<T[Name], undefined> };
}

/** A value as JSON, with amounts as decimal text: no digit is lost on the way. */
export function jsonOfAmounts(value: object): string {
  return JSON.stringify(value, (_, held: unknown) => (typeof held === "bigint" ? String(held) : held));
}
