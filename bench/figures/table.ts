/** A table in Markdown; cells that a row lacks are empty. */
export function markdownTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [head, head.map(() => "---"), ...rows.map((row) => head.map((_, place) => row[place] ?? ""))];
  return lines.map((line) => `| ${line.join(" | ")} |`).join("\n");
}
