import type { Model } from "../../core/model.ts";

/** A program that a reader can run as it stands, with `BASE_URL` and `API_KEY` in its environment. */
export interface Example {
  readonly title: string;
  /** What runs it: a shell with curl, or a JavaScript runtime with the official SDK installed. */
  readonly language: "sh" | "js";
  readonly code: string;
  /** What it prints; `…` stands for text that varies, `N` for a number. */
  readonly prints: string;
}

/** What of a model its examples depend on. */
export type ExampleFacts = Pick<Model, "id" | "inputModalities" | "outputModalities" | "maxOutput">;

/** A red square, 32 pixels wide, as a PNG in base64. */
export const RED_SQUARE =
  "iVBORw0KGgoAAAANSUhEUgAAACAAAAAgCAIAAAD8GO2jAAAAKklEQVR42mO4oKBAU8QwasGoBaMWjFowasGoBaMWjFowasGoBaMWDBULAE7YQD2B7wk2AAAAAElFTkSuQmCC";

/** A call by curl: the path under the service's origin, and the body as one line of JSON for each of its members. */
export function curl(path: string, body: Readonly<Record<string, unknown>>, stream = false): string {
  const members = Object.entries(body).map(
    ([name, value]) => `    ${JSON.stringify(name)}: ${compact(value)}`,
  );
  return [
    `curl -sS${stream ? "N" : ""} "$BASE_URL${path}" \\`,
    '  -H "Authorization: Bearer $API_KEY" \\',
    '  -H "Content-Type: application/json" \\',
    `  -d '{\n${members.join(",\n")}\n  }'`,
  ].join("\n");
}

function compact(value: unknown): string {
  return JSON.stringify(value).replace(/'/g, "\\u0027");
}
