/** A JSON object whose fields are not checked yet. */
export type Fields = Readonly<Record<string, unknown>>;

/** A refusal in Google's words. */
export interface Refused {
  readonly status: number;
  readonly word: string;
  readonly message: string;
  readonly details?: readonly unknown[];
}

/** Whether a value is a JSON object. */
export function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** `inlineData` as `inline_data`. */
function snake(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** A field in whichever of its two spellings it stands; null counts as absent. */
export function fieldOf(value: unknown, name: string): unknown {
  if (!isFields(value)) return undefined;
  return value[name] ?? value[snake(name)] ?? undefined;
}

/** A field of many: a list, or the only one without it. */
export function listOf(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value;
  return value === undefined || value === null ? [] : [value];
}

/** Google's sentence about a name that is none of `known` in either spelling, or that stands in both. */
export function unknownName(value: unknown, known: readonly string[], path: string): string | undefined {
  if (value === undefined || value === null) return undefined;
  if (!isFields(value)) return `Invalid value at '${path}'.`;
  const names = new Set(known.flatMap((name) => [name, snake(name)]));
  const unknown = Object.keys(value).find((name) => !names.has(name));
  if (unknown !== undefined)
    return `Invalid JSON payload received. Unknown name "${unknown}"${path === "" ? "" : ` at '${path}'`}: Cannot find field.`;
  const both = known.find((name) => name !== snake(name) && name in value && snake(name) in value);
  return both === undefined ? undefined : `Invalid value at '${path}': ${both} is set twice.`;
}
