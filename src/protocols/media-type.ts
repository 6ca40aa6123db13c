/** Names of media types that are in use but registered under another one. */
const REGISTERED: Readonly<Record<string, string>> = {
  "image/jpg": "image/jpeg",
  "image/pjpeg": "image/jpeg",
  "image/x-png": "image/png",
  "application/x-pdf": "application/pdf",
};

/** A media type in lower case, without parameters, by its registered name. */
export function plainMediaType(said: string): string {
  const type = (said.split(";", 1)[0] ?? "").trim().toLowerCase();
  return Object.hasOwn(REGISTERED, type) ? (REGISTERED[type] as string) : type;
}

/** Media types by the ending of a name, as models are told them: https://ai.google.dev/gemini-api/docs/file-input-methods */
const BY_ENDING: Readonly<Record<string, string>> = {
  png: "image/png",
  jpg: "image/jpeg",
  jpeg: "image/jpeg",
  webp: "image/webp",
  gif: "image/gif",
  heic: "image/heic",
  heif: "image/heif",
  mp4: "video/mp4",
  mpeg: "video/mpeg",
  mpg: "video/mpg",
  mov: "video/mov",
  avi: "video/avi",
  flv: "video/x-flv",
  webm: "video/webm",
  wmv: "video/wmv",
  "3gp": "video/3gpp",
  wav: "audio/wav",
  mp3: "audio/mp3",
  aiff: "audio/aiff",
  aac: "audio/aac",
  m4a: "audio/m4a",
  ogg: "audio/ogg",
  flac: "audio/flac",
  pdf: "application/pdf",
  txt: "text/plain",
  md: "text/markdown",
  csv: "text/csv",
  html: "text/html",
  xml: "text/xml",
  json: "application/json",
};

/** The media type of a file by the ending of its name or of its address; `undefined` where that tells nothing. */
export function typeByEnding(name: string): string | undefined {
  const [path = ""] = /^\w+:\/\//.test(name) ? name.split(/[?#]/, 1) : [name];
  const ending = /\.([a-z0-9]{1,8})$/i.exec(path)?.[1]?.toLowerCase() ?? "";
  return Object.hasOwn(BY_ENDING, ending) ? BY_ENDING[ending] : undefined;
}
