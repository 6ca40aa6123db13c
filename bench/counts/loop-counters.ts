import ts from "typescript";

/** The file's text with a call of `__turn` in each turn of each loop. */
export function withLoopCounters(path: string, text: string): string {
  const tree = ts.createSourceFile(path, text, ts.ScriptTarget.ESNext, true);
  const insertions: { at: number; text: string }[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isIterationStatement(node, false)) {
      insertions.push({ at: node.statement.getStart(tree), text: "{__turn();" });
      insertions.push({ at: node.statement.getEnd(), text: "}" });
    }
    ts.forEachChild(node, visit);
  };
  visit(tree);
  let counted = text;
  for (const { at, text: inserted } of insertions.sort((a, b) => a.at - b.at).toReversed())
    counted = counted.slice(0, at) + inserted + counted.slice(at);
  return counted;
}
