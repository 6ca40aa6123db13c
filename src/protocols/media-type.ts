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
