import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** A program of a page, with what the page says it prints. */
export interface PageExample {
  readonly title: string;
  readonly language: string;
  readonly code: string;
  readonly prints: string;
}

/** What a program did. */
export interface Run {
  readonly exitCode: number | null;
  readonly output: string;
  readonly errors: string;
}

const ROOT = join(import.meta.dirname, "../..");

/** The languages whose blocks are programs; all others show data. */
const RUNNABLE: ReadonlySet<string> = new Set(["sh", "js"]);

/** Every fenced block of a page that is a program. Throws when one is not followed by what it prints. */
export function examplesOf(page: string): PageExample[] {
  const blocks = [...page.matchAll(/^```(\S*)\n([\s\S]*?)\n```$/gm)];
  return blocks.flatMap((block, i) => {
    const [, language = "", code = ""] = block;
    if (!RUNNABLE.has(language)) return [];
    const title =
      page
        .slice(0, block.index)
        .match(/^### .*$/gm)
        ?.at(-1) ?? "";
    const next = blocks[i + 1];
    if (next?.[1] !== "text") throw new Error(`The page does not say what "${title}" prints.`);
    return [{ title, language, code, prints: next[2] ?? "" }];
  });
}

/**
 * Whether `output` is what a page says is printed: `…` stands for any text, `N` for a number. A line that is nothing but
 * `…` has something on it, and nothing that a program prints is undefined.
 */
export function printsAs(pattern: string, output: string): boolean {
  const source = pattern
    .split(/(^…$|…|\bN\b)/m)
    .map((part, i, parts) => {
      if (part === "N") return "\\d+(\\.\\d+)?";
      if (part !== "…") return part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
      const isLine = /(^|\n)$/.test(parts[i - 1] ?? "") && /^(\n|$)/.test(parts[i + 1] ?? "");
      return isLine ? "[\\s\\S]*?\\S[\\s\\S]*?" : "[\\s\\S]*?";
    })
    .join("");
  return new RegExp(`^${source}\\s*$`).test(output) && !output.includes("undefined");
}

/** Runs a program as a reader would: pasted into a shell, or saved as a module beside the installed SDKs. */
export async function runExample(
  { language, code }: PageExample,
  environment: Readonly<Record<"BASE_URL" | "API_KEY", string>>,
): Promise<Run> {
  const folder = mkdtempSync(join(ROOT, ".tmp-example-"));
  try {
    const file = join(folder, language === "sh" ? "example.sh" : "example.mjs");
    writeFileSync(file, `${code}\n`);
    return await run(language === "sh" ? "sh" : process.execPath, [file], folder, environment);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function run(
  command: string,
  args: readonly string[],
  cwd: string,
  environment: Readonly<Record<string, string>>,
): Promise<Run> {
  return new Promise((resolve, reject) => {
    const env = { PATH: process.env.PATH ?? "", ...environment };
    const child = spawn(command, args, { cwd, env });
    let output = "";
    let errors = "";
    child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
    child.stderr.on("data", (chunk: Buffer) => (errors += chunk.toString()));
    child.on("error", reject);
    child.on("close", (exitCode) => resolve({ exitCode, output, errors }));
  });
}
