import type { JsonObject } from "../core/json-value.ts";

/** `members` as JSON, and behind them members whose JSON text is ready: numbers keep their digits. */
export function jsonText(members: JsonObject, ready: Readonly<Record<string, string>>): string {
  const texts = Object.entries(ready).map(([name, text]) => `${JSON.stringify(name)}:${text}`);
  const own = JSON.stringify(members);
  if (texts.length === 0) return own;
  return `${own === "{}" ? "{" : `${own.slice(0, -1)},`}${texts.join(",")}}`;
}
