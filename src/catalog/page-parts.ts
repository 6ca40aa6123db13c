/** Where a key goes; ends where the address of the index follows. */
export const KEY_WORDS =
  "The API key goes into `Authorization: Bearer <key>`, `x-api-key` or `x-goog-api-key`, as the SDKs do; never into the URL. " +
  "Bodies are JSON. What this service is and which other models it has:";

/** Lines as a list. */
export function bullets(lines: readonly string[]): string {
  return lines.map((line) => `- ${line}`).join("\n");
}

/** Rows of cells as a table. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const row = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;
  return [row(head), `|${"---|".repeat(head.length)}`, ...rows.map(row)].join("\n");
}
