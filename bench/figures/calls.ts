import { join } from "node:path";
import ts from "typescript";
import { CheckoutCopy } from "../../test/mutate/checkout.ts";
import { type Counted, KINDS } from "./count-names.ts";
import { type SourceFile, sourceFiles, syntaxOf } from "./files.ts";
import { markdownTable } from "./table.ts";

// Counts how many functions a plain request enters and how many promises it makes, by counters in a copy of the source.
// It leaves out packages, the runtime and other threads.

/** The counts of one warm request of each kind. */
export async function callTables(): Promise<string> {
  const copy = new CheckoutCopy(join(import.meta.dir, "../.."));
  try {
    let site = 0;
    for (const file of sourceFiles("src")) {
      if (!file.isTest)
        copy.write(
          file.path,
          withCounters(file, () => site++),
        );
    }
    const counted = await runIn(copy.root);
    return markdownTable(
      [
        "request",
        "functions entered",
        "of them different",
        "calls of async functions",
        "awaits",
        "other promises",
      ],
      counted.map(({ name, calls, functions, asyncs, awaits, promises }) =>
        [name, calls, functions, asyncs, awaits, promises].map(String),
      ),
    );
  } finally {
    copy.remove();
  }
}

async function runIn(root: string): Promise<readonly Counted[]> {
  const child = Bun.spawn({
    cmd: [process.execPath, "--no-install", "--no-env-file", "bench/figures/count-calls.ts"],
    cwd: root,
    stdout: "pipe",
    stderr: "inherit",
  });
  const [text, code] = await Promise.all([child.stdout.text(), child.exited]);
  if (code !== 0) throw new Error(`The counting run ended with ${code}: ${text}`);
  return JSON.parse(text.slice(text.indexOf("[{"))) as Counted[];
}

interface Insertion {
  readonly at: number;
  readonly text: string;
}

const MAKERS = new Set(["then", "catch", "finally"]);

/** The file's text with a counter in each function, at each `await`, and where a promise is made by name. */
export function withCounters(file: SourceFile, nextSite: () => number): string {
  const tree = syntaxOf(file);
  const insertions: Insertion[] = [];
  const count = (kind: keyof typeof KINDS): string => `globalThis.__count?.(${KINDS[kind]},${nextSite()})`;
  const around = (node: ts.Node, counter: string): void => {
    insertions.push({ at: node.getStart(tree), text: `(${counter},` }, { at: node.getEnd(), text: ")" });
  };
  const visit = (node: ts.Node): void => {
    if (ts.isFunctionLike(node) && "body" in node && node.body !== undefined) {
      const { body } = node;
      const kind = isAsync(node) ? "async" : "call";
      if (ts.isBlock(body)) insertions.push({ at: body.getStart(tree) + 1, text: `${count(kind)};` });
      else around(body, count(kind));
    }
    if (ts.isForOfStatement(node) && node.awaitModifier !== undefined && ts.isBlock(node.statement))
      insertions.push({ at: node.statement.getStart(tree) + 1, text: `${count("await")};` });
    if (ts.isAwaitExpression(node)) around(node, count("await"));
    if (makesPromise(node, tree)) around(node, count("promise"));
    ts.forEachChild(node, visit);
  };
  visit(tree);
  // Of two at one place the outer one came first; sorting keeps their order, and so the inner one goes in first.
  let text = file.text;
  for (const { at, text: inserted } of insertions.sort((a, b) => a.at - b.at).toReversed())
    text = text.slice(0, at) + inserted + text.slice(at);
  return text;
}

function isAsync(node: ts.SignatureDeclaration): boolean {
  return (
    ts.canHaveModifiers(node) &&
    (ts.getModifiers(node) ?? []).some(({ kind }) => kind === ts.SyntaxKind.AsyncKeyword)
  );
}

function makesPromise(node: ts.Node, tree: ts.SourceFile): boolean {
  if (ts.isNewExpression(node)) return node.expression.getText(tree) === "Promise";
  // Parentheses would end an optional chain before its end.
  if (ts.isOptionalChain(node)) return false;
  if (!ts.isCallExpression(node) || !ts.isPropertyAccessExpression(node.expression)) return false;
  const { expression, name } = node.expression;
  return expression.getText(tree) === "Promise" || MAKERS.has(name.text);
}
