/** Whether the client has this content already, by its `If-None-Match`. */
export function isKnown(headers: Headers, etag: string): boolean {
  const tags = headers.get("if-none-match")?.split(",") ?? [];
  return tags.some((tag) => tag.trim() === "*" || tag.trim().replace(/^W\//, "") === etag);
}
