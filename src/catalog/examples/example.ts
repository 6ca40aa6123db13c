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
export type ExampleFacts = Pick<
  Model,
  "id" | "inputModalities" | "outputModalities" | "maxOutput" | "thinking" | "media"
>;

/** A red square, 32 pixels wide, as a PNG in base64. */
export const RED_SQUARE =
  "iVBORw0KGgoAAAANSUhEUgAAACAAAAAgCAIAAAD8GO2jAAAAKklEQVR42mO4oKBAU8QwasGoBaMWjFowasGoBaMWjFowasGoBaMWDBULAE7YQD2B7wk2AAAAAElFTkSuQmCC";

/** An image in one red, 512 pixels wide, as a PNG in base64: as large as models that are given images want them. */
export const RED_IMAGE =
  "iVBORw0KGgoAAAANSUhEUgAAAgAAAAIAAQMAAADOtka5AAAAA1BMVEXIKChQLvxyAAAANklEQVR42u3BAQEAAACCIP+vbkhAAQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAB8G4IAAAFjdVCkAAAAAElFTkSuQmCC";

/** A script that asks for a task, waits for its end, and prints it. */
export function pollScript(path: string, body: Readonly<Record<string, unknown>>): string {
  return `${submission(path, body)}
while sleep 2; do
  task=$(curl -sS "$BASE_URL${path}/$id" -H "Authorization: Bearer $API_KEY")
  case $task in
    *'"status":"pending"'* | *'"status":"running"'*) ;;
    *) break ;;
  esac
done
printf '%s\\n' "$task"`;
}

/** A script that asks for a task and cancels it. */
export function cancelScript(path: string, body: Readonly<Record<string, unknown>>): string {
  return `${submission(path, body)}
curl -sS -X POST "$BASE_URL${path}/$id/cancel" -H "Authorization: Bearer $API_KEY"`;
}

function submission(path: string, body: Readonly<Record<string, unknown>>): string {
  return `task=$(${curl(path, body)})
id=$(printf '%s' "$task" | grep -o '"id":"[^"]*"' | cut -d'"' -f4)`;
}

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
