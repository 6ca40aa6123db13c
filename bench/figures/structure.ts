import { dirname, join } from "node:path";
import ts from "typescript";
import { type SourceFile, sourceFiles, syntaxOf } from "./files.ts";
import { markdownTable } from "./table.ts";

// How long functions are, and how long the chains of imports.

const SHOWN_FUNCTIONS = 5;
const LONG_FUNCTIONS = [90, 100];

/** The longest functions of the source, and its longest chain of imports. */
export function structureTables(): string {
  const files = sourceFiles("src").filter(({ isTest }) => !isTest);
  const functions = files.flatMap(functionsOf).sort((a, b) => b.lines - a.lines);
  const above = LONG_FUNCTIONS.map(
    (bound) => `above ${bound} lines ${functions.filter(({ lines }) => lines > bound).length}`,
  );
  const values = longestChain(importsOf(files, "values"));
  const all = longestChain(importsOf(files, "values and types"));
  return [
    markdownTable(
      ["function", "lines"],
      functions.slice(0, SHOWN_FUNCTIONS).map(({ name, lines }) => [name, String(lines)]),
    ),
    `Functions: ${functions.length}, median of ${functions[functions.length >> 1]?.lines} lines; ${above.join(", ")}.`,
    `Longest chain of imports: ${values.length} files; with imports of types alone ${all.length}.`,
    values.join(" → "),
  ].join("\n\n");
}

interface LongFunction {
  readonly name: string;
  readonly lines: number;
}

function functionsOf(file: SourceFile): LongFunction[] {
  const tree = syntaxOf(file);
  const found: LongFunction[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isFunctionLike(node) && "body" in node && node.body !== undefined) {
      const lineAt = (offset: number): number => tree.getLineAndCharacterOfPosition(offset).line;
      const first = lineAt(node.getStart(tree));
      found.push({
        name: `${file.path}:${first + 1} ${nameOf(node, tree)}`,
        lines: lineAt(node.getEnd()) - first + 1,
      });
    }
    ts.forEachChild(node, visit);
  };
  visit(tree);
  return found;
}

function nameOf(node: ts.SignatureDeclaration, tree: ts.SourceFile): string {
  const named = node.name ?? (ts.isVariableDeclaration(node.parent) ? node.parent.name : undefined);
  return named?.getText(tree) ?? "(without a name)";
}

/** The files that each file imports. Imports at run time do not count. */
function importsOf(
  files: readonly SourceFile[],
  kind: "values" | "values and types",
): ReadonlyMap<string, readonly string[]> {
  return new Map(
    files.map((file) => {
      const imported = syntaxOf(file).statements.flatMap((statement) => {
        const isImport = ts.isImportDeclaration(statement) || ts.isExportDeclaration(statement);
        if (!isImport || (kind === "values" && isTypeOnly(statement))) return [];
        const from = statement.moduleSpecifier;
        if (from === undefined || !ts.isStringLiteral(from) || !from.text.startsWith(".")) return [];
        return [join(dirname(file.path), from.text)];
      });
      return [file.path, imported];
    }),
  );
}

function isTypeOnly(statement: ts.ImportDeclaration | ts.ExportDeclaration): boolean {
  if (ts.isExportDeclaration(statement)) {
    const named = statement.exportClause;
    if (statement.isTypeOnly || named === undefined || !ts.isNamedExports(named)) return statement.isTypeOnly;
    return named.elements.every(({ isTypeOnly }) => isTypeOnly);
  }
  const clause = statement.importClause;
  if (clause === undefined) return false;
  if (clause.phaseModifier === ts.SyntaxKind.TypeKeyword) return true;
  const named = clause.namedBindings;
  if (clause.name !== undefined || named === undefined || !ts.isNamedImports(named)) return false;
  return named.elements.every(({ isTypeOnly }) => isTypeOnly);
}

/** The longest path; throws where there is a cycle. */
export function longestChain(imports: ReadonlyMap<string, readonly string[]>): readonly string[] {
  const known = new Map<string, readonly string[]>();
  const open = new Set<string>();
  const chainFrom = (path: string): readonly string[] => {
    const seen = known.get(path);
    if (seen !== undefined) return seen;
    if (open.has(path)) throw new Error(`${path} imports itself: ${[...open].join(" → ")}`);
    open.add(path);
    const rests = (imports.get(path) ?? []).map(chainFrom);
    open.delete(path);
    const longest = rests.reduce((best, rest) => (rest.length > best.length ? rest : best), []);
    const chain = [path, ...longest];
    known.set(path, chain);
    return chain;
  };
  return [...imports.keys()]
    .map(chainFrom)
    .reduce((best, chain) => (chain.length > best.length ? chain : best), []);
}
