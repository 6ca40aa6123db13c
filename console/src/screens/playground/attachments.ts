import type { Attachment, Part } from "./conversation.ts";

/** The largest file that is taken: base64 makes it a third longer, and the gateway takes no body without bounds. */
const MOST_BYTES = 20 * 1024 * 1024;

/** Kinds of text that have no `text/` type. */
const TEXT_TYPES = /^(?:text\/|application\/(?:json|xml|yaml|x-yaml|javascript|typescript|x-sh|sql)$)/;
const TEXT_NAMES =
  /\.(?:md|csv|tsv|jsonl?|ya?ml|toml|xml|html?|css|[cm]?[jt]sx?|py|rs|go|java|rb|sh|sql|txt|log)$/i;

/** What a model takes of a file. */
export type FileKind = "image" | "pdf" | "text";

/** What a file goes along as; `undefined` where the format has no part for it. */
export function kindOf({
  name,
  type,
}: {
  readonly name: string;
  readonly type: string;
}): FileKind | undefined {
  if (/^image\/(?:png|jpeg|gif|webp)$/.test(type)) return "image";
  if (type === "application/pdf") return "pdf";
  return TEXT_TYPES.test(type) || TEXT_NAMES.test(name) ? "text" : undefined;
}

/** Reads a file into a part of a message. Rejects with what is wrong with it. */
export async function attach(file: File): Promise<Attachment> {
  const kind = kindOf(file);
  if (kind === undefined) throw new Error(`${file.name}: images, PDFs and texts can go along.`);
  if (file.size > MOST_BYTES) throw new Error(`${file.name}: a file may have 20 MB at most.`);
  return { name: file.name, part: await partOf(file, kind) };
}

async function partOf(file: File, kind: FileKind): Promise<Part> {
  if (kind === "text") return { type: "text", text: `${file.name}:\n\n${await file.text()}` };
  const url = await dataUrlOf(file);
  return kind === "image"
    ? { type: "image_url", image_url: { url } }
    : { type: "file", file: { filename: file.name, file_data: url } };
}

function dataUrlOf(file: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.addEventListener("load", () => resolve(reader.result as string));
    reader.addEventListener("error", () => reject(new Error(`${file.name} could not be read.`)));
    reader.readAsDataURL(file);
  });
}
