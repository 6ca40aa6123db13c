import type { Modality } from "../../core/model.ts";

/** Media types by the ending of a file's name, as far as models read such files. */
const BY_ENDING: Readonly<Record<string, string>> = {
  pdf: "application/pdf",
  txt: "text/plain",
  md: "text/markdown",
  csv: "text/csv",
  html: "text/html",
  json: "application/json",
  xml: "text/xml",
  png: "image/png",
  jpg: "image/jpeg",
  jpeg: "image/jpeg",
  gif: "image/gif",
  webp: "image/webp",
  mp3: "audio/mp3",
  wav: "audio/wav",
  flac: "audio/flac",
  ogg: "audio/ogg",
  m4a: "audio/mp4",
  mp4: "video/mp4",
  mov: "video/quicktime",
  webm: "video/webm",
  mpeg: "video/mpeg",
};

/** The members of a `file` that tell what is in it. */
interface NamedFile {
  readonly file_data?: string | null;
  readonly filename?: string | null;
}

/** The media type of a `file` part, from its data URL, else from its name or link; `undefined` where neither tells. */
export function fileType({ file_data: data, filename }: NamedFile): string | undefined {
  const said = /^data:([^;,]+)/i.exec(data?.slice(0, 256) ?? "")?.[1];
  if (said !== undefined) return said.trim().toLowerCase();
  const link = data && isLink(data) ? data.split(/[?#]/, 1)[0] : undefined;
  for (const name of [filename, link]) {
    const ending = /\.([a-z0-9]{1,8})$/i.exec(name ?? "")?.[1]?.toLowerCase();
    if (ending !== undefined && Object.hasOwn(BY_ENDING, ending)) return BY_ENDING[ending];
  }
  // Base64 of `%PDF-`.
  return data?.startsWith("JVBERi") === true ? "application/pdf" : undefined;
}

/** What a `file` part counts as: audio and video as what they are, all else as a document, the dearest kind of text. */
export function fileModality(file: NamedFile): Modality {
  const kind = fileType(file)?.split("/", 1)[0];
  return kind === "audio" || kind === "video" ? kind : "pdf";
}

/** Whether a text is a link and no data. */
export function isLink(text: string): boolean {
  return /^https?:\/\//i.test(text.slice(0, 8));
}
