/** A setting by its path. */
export interface Setting {
  readonly path: string;
  readonly value: string;
}

/** Settings as a list: each value that is no object, by the names that lead to it, in their order. */
export function flatten(settings: Readonly<Record<string, unknown>>, before = ""): readonly Setting[] {
  return Object.entries(settings).flatMap(([name, value]) => {
    const path = `${before}${name}`;
    return isRecord(value) && Object.keys(value).length > 0
      ? flatten(value, `${path}.`)
      : [{ path, value: textOf(value) }];
  });
}

function textOf(value: unknown): string {
  if (value === null) return "none";
  if (Array.isArray(value) && value.every((item) => typeof item !== "object"))
    return value.join(", ") || "none";
  return typeof value === "string" ? value : JSON.stringify(value);
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
