/** A piece of a page that is written in Markdown. */
export type Block =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "list"; readonly items: readonly string[] }
  | {
      readonly kind: "table";
      readonly head: readonly string[];
      readonly rows: readonly (readonly string[])[];
    }
  | { readonly kind: "code"; readonly language: string; readonly text: string };

/** What stands below a heading. `parts` are its own headings of the next level. */
export interface Section {
  readonly title: string;
  readonly blocks: readonly Block[];
  readonly parts: readonly Omit<Section, "parts">[];
}

interface Open {
  readonly title: string;
  readonly blocks: Block[];
}

/** The sections of a model's `llms.txt`: the Markdown that the gateway writes, and no more than that. */
export function sectionsOf(markdown: string): readonly Section[] {
  const sections: (Open & { readonly parts: Open[] })[] = [];
  for (const piece of piecesOf(markdown)) {
    const section = sections.at(-1);
    if (typeof piece !== "string") (section?.parts.at(-1) ?? section)?.blocks.push(piece);
    else if (piece.startsWith("### ")) section?.parts.push({ title: piece.slice(4), blocks: [] });
    else if (piece.startsWith("## ")) sections.push({ title: piece.slice(3), blocks: [], parts: [] });
  }
  return sections;
}

/** Headings as they stand, and blocks. */
function piecesOf(markdown: string): (Block | string)[] {
  const lines = markdown.split("\n");
  const pieces: (Block | string)[] = [];
  for (let at = 0; at < lines.length;) {
    const line = lines[at] ?? "";
    if (line.startsWith("```")) {
      const end = lines.indexOf("```", at + 1);
      const last = end < 0 ? lines.length : end;
      pieces.push({ kind: "code", language: line.slice(3), text: lines.slice(at + 1, last).join("\n") });
      at = last + 1;
      continue;
    }
    const run = runFrom(lines, at, kindOf(line));
    at += Math.max(1, run.length);
    if (line.startsWith("#")) pieces.push(...run);
    else if (line.startsWith("|")) pieces.push(tableOf(run));
    else if (/^\s*- /.test(line))
      pieces.push({ kind: "list", items: run.map((item) => item.trim().slice(2)) });
    else if (line.trim() !== "") pieces.push({ kind: "text", text: run.join(" ") });
  }
  return pieces;
}

type LineKind = "heading" | "table" | "list" | "text" | "none";

function kindOf(line: string): LineKind {
  if (line.trim() === "" || line.startsWith("```")) return "none";
  if (line.startsWith("#")) return "heading";
  if (line.startsWith("|")) return "table";
  return /^\s*- /.test(line) ? "list" : "text";
}

function runFrom(lines: readonly string[], from: number, kind: LineKind): string[] {
  if (kind === "none") return [];
  const end = lines.findIndex((line, at) => at > from && kindOf(line) !== kind);
  return lines.slice(from, end < 0 ? lines.length : end);
}

function tableOf(lines: readonly string[]): Block {
  const [head = [], , ...rows] = lines.map(cellsOf);
  return { kind: "table", head, rows };
}

/** The cells of a line; a bar after a backslash is part of its cell. */
function cellsOf(line: string): readonly string[] {
  return line
    .split(/(?<!\\)\|/)
    .slice(1, -1)
    .map((cell) => cell.trim().replaceAll(String.raw`\|`, "|"));
}

/** Whether a column of a table has numbers alone. */
export function isOfNumbers(rows: readonly (readonly string[])[], at: number): boolean {
  return rows.every((row) => /^\d[\d,]*(?:\.\d+)?$/.test(row[at] ?? ""));
}

/** The rows with as many decimals in each column of numbers as its longest number has, so that they are aligned. */
export function withAlignedNumbers(rows: readonly (readonly string[])[]): readonly (readonly string[])[] {
  const decimals = (cell: string): number => cell.split(".")[1]?.length ?? 0;
  const most = (rows[0] ?? []).map((_, at) =>
    isOfNumbers(rows, at) ? Math.max(...rows.map((row) => decimals(row[at] ?? ""))) : 0,
  );
  return rows.map((row) =>
    row.map((cell, at) => {
      const missing = (most[at] ?? 0) - decimals(cell);
      if (missing <= 0) return cell;
      return `${cell}${cell.includes(".") ? "" : "."}${"0".repeat(missing)}`;
    }),
  );
}
