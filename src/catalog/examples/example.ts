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
  "id" | "inputModalities" | "outputModalities" | "maxOutput" | "thinking" | "media" | "embedding"
>;

/** A red square, 32 pixels wide, as a PNG in base64. */
export const RED_SQUARE =
  "iVBORw0KGgoAAAANSUhEUgAAACAAAAAgCAIAAAD8GO2jAAAAKklEQVR42mO4oKBAU8QwasGoBaMWjFowasGoBaMWjFowasGoBaMWDBULAE7YQD2B7wk2AAAAAElFTkSuQmCC";

/** An image in one red, 512 pixels wide, as a PNG in base64: as large as models that are given images want them. */
export const RED_IMAGE =
  "iVBORw0KGgoAAAANSUhEUgAAAgAAAAIAAQMAAADOtka5AAAAA1BMVEXIKChQLvxyAAAANklEQVR42u3BAQEAAACCIP+vbkhAAQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAB8G4IAAAFjdVCkAAAAAElFTkSuQmCC";

/** A program by the SDK, and what it prints. */
interface Program {
  readonly code: string;
  readonly prints: string;
}

/** The same request by curl, whose code is made of its body. */
interface Pair extends Program {
  readonly curlPrints: string;
}

/** The programs of a format of language models; what is in two braces stands for a word of `words`, or is the model's id. */
export interface LanguagePrograms {
  readonly words?: (model: ExampleFacts) => Readonly<Record<string, string>>;
  /** What each program by the SDK begins with. */
  readonly client: string;
  /** The body of a request that asks to say hello. */
  readonly hello: (model: ExampleFacts) => Readonly<Record<string, unknown>>;
  readonly answer: Pair;
  readonly stream: Pair;
  /** It calls `temperature_in` as often as the model wants, and says each time which city it is called for. */
  readonly tool: string;
  /** What that shows beside it. */
  readonly toolShows?: (model: ExampleFacts) => string;
  /** It asks which colour the red square `png` has, and prints the answer. */
  readonly imageIn: string;
  /** It draws two images into files; absent where the format's answers hold none. */
  readonly imageOut?: Program;
}

/** The examples of a model in one format. A second path is that of streams; else the body asks for them. */
export function languageExamples(
  model: ExampleFacts,
  [path = "", streamPath]: readonly string[],
  { words, client, hello, answer, stream, tool, toolShows, imageIn, imageOut }: LanguagePrograms,
): readonly Example[] {
  const known: Readonly<Record<string, string>> = { model: model.id, ...words?.(model) };
  const bySdk = (title: string, { code, prints }: Program, before = ""): Example => ({
    title: `${title}, by the SDK`,
    language: "js",
    code: `${before}${client}\n\n${code}`.replaceAll(/{{(\w+)}}/g, (_, word) => known[word] ?? ""),
    prints,
  });
  const byCurl = (title: string, code: string, prints: string): Example => ({
    title: `${title}, by curl`,
    language: "sh",
    code,
    prints,
  });
  const body = hello(model);
  const streamed = streamPath === undefined ? { ...body, stream: true } : body;
  const shown = `const png = "${RED_SQUARE}";\n${imageIn}`;
  const beside = toolShows?.(model) ?? "";
  return [
    byCurl("An answer", curl(path, body), answer.curlPrints),
    bySdk("An answer", answer),
    byCurl("A stream", curl(streamPath ?? path, streamed, true), stream.curlPrints),
    bySdk("A stream", stream),
    bySdk(`A tool, called and answered${beside}`, { code: tool, prints: "called: temperature_in …\n…" }),
    ...(model.inputModalities.includes("image") ? [bySdk("An image in", { code: shown, prints: "…" })] : []),
    ...(imageOut !== undefined && model.outputModalities.includes("image")
      ? [bySdk("An image out, and then changed", imageOut, 'import { writeFileSync } from "node:fs";\n')]
      : []),
  ];
}

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
