import type { Modality } from "../core/model.ts";
import { typeByEnding } from "./media-type.ts";

/** A file as requests have it: a data URL, base64 or a link, and a name. */
interface File {
  readonly file_data?: string | null | undefined;
  readonly filename?: string | null | undefined;
}

/** The media type of a `file` part, from its data URL, else from its name or link; `undefined` where neither tells. */
export function fileType({ file_data: data, filename }: File): string | undefined {
  const said = /^data:([^;,]+)/i.exec(data?.slice(0, 256) ?? "")?.[1];
  if (said !== undefined) return said.trim().toLowerCase();
  const byName = typeByEnding(filename ?? "") ?? (data && isLink(data) ? typeByEnding(data) : undefined);
  // Base64 of `%PDF-`.
  return byName ?? (data?.startsWith("JVBERi") === true ? "application/pdf" : undefined);
}

/** What a `file` part counts as: audio and video as what they are, all else as a document, the dearest kind of text. */
export function fileModality(file: File): Modality {
  const kind = fileType(file)?.split("/", 1)[0];
  return kind === "audio" || kind === "video" ? kind : "pdf";
}

/** Whether a text is a link and no data. */
export function isLink(text: string): boolean {
  return /^https?:\/\//i.test(text.slice(0, 8));
}
