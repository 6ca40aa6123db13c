/** Whether the client has the content of this tag already, as its `If-None-Match` says. */
export function isKnown(headers: Headers, etag: string): boolean {
  const tags = headers.get("if-none-match")?.split(",") ?? [];
  return tags.some((tag) => tag.trim() === "*" || tag.trim().replace(/^W\//, "") === etag);
}
