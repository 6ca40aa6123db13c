import ts from "typescript";
import { seededRandom } from "../upstream/cuts.ts";

/** One small change of a source file, by offsets into its text. */
export interface Change {
  readonly start: number;
  readonly end: number;
  readonly replacement: string;
}

/**
 * Every small change of a file that its tests should see. It changes boundaries and signs of comparisons, equality,
 * `&&` and `||`, arithmetic, numbers by one, booleans and short words. It negates conditions, and leaves out calls and
 * early returns. Types, imports and prose are not touched.
 */
export function changesOf(text: string): Change[] {
  const tree = ts.createSourceFile("source.ts", text, ts.ScriptTarget.ESNext, true);
  const changes: Change[] = [];
  const visit = (node: ts.Node): void => {
    if (isUntouched(node)) return;
    for (const [target, replacement] of changesAt(node, tree))
      changes.push({ start: target.getStart(tree), end: target.getEnd(), replacement });
    ts.forEachChild(node, visit);
  };
  visit(tree);
  return changes;
}

/** The file's text with a change made. */
export function changed(text: string, { start, end, replacement }: Change): string {
  return text.slice(0, start) + replacement + text.slice(end);
}

/** The line that a change begins on, before and after it, without the blanks at its ends. */
export function linesOf(text: string, change: Change): { line: number; before: string; after: string } {
  const from = text.lastIndexOf("\n", change.start - 1) + 1;
  const lineAt = (whole: string): string => whole.slice(from).split("\n", 1)[0]!.trim();
  return {
    line: text.slice(0, from).split("\n").length,
    before: lineAt(text),
    after: lineAt(changed(text, change)),
  };
}

/** Some of a list, by a seed: the same for the same seed and list. */
export function sample<Item>(items: readonly Item[], count: number, seed: number): Item[] {
  const random = seededRandom(Math.imul(seed, 0x9e3779b1));
  const left = [...items];
  const taken: Item[] = [];
  while (taken.length < count && left.length > 0)
    taken.push(...left.splice(Math.floor(random() * left.length), 1));
  return taken;
}

function isUntouched(node: ts.Node): boolean {
  return (
    ts.isTypeNode(node) ||
    ts.isImportDeclaration(node) ||
    ts.isExportDeclaration(node) ||
    ts.isInterfaceDeclaration(node) ||
    ts.isTypeAliasDeclaration(node)
  );
}

/** What stands in a node's place, or in that of a part of it. */
type Replaced = readonly [target: ts.Node, replacement: string];

function changesAt(node: ts.Node, tree: ts.SourceFile): Replaced[] {
  if (ts.isBinaryExpression(node)) return ofOperator(node, tree);
  if (ts.isIfStatement(node)) return [...negated(node.expression, tree), ...earlyReturn(node.thenStatement)];
  if (ts.isConditionalExpression(node)) return negated(node.condition, tree);
  if (ts.isPrefixUnaryExpression(node) && node.operator === ts.SyntaxKind.ExclamationToken)
    return [[node, node.operand.getText(tree)]];
  if (ts.isExpressionStatement(node) && isCall(node.expression)) return [[node, ";"]];
  if (ts.isNumericLiteral(node) || ts.isBigIntLiteral(node)) return byOne(node, tree);
  if (node.kind === ts.SyntaxKind.TrueKeyword) return [[node, "false"]];
  if (node.kind === ts.SyntaxKind.FalseKeyword) return [[node, "true"]];
  if (ts.isStringLiteral(node) && isWord(node)) return [[node, JSON.stringify(`${node.text}?`)]];
  return [];
}

const OPERATORS: Readonly<Record<string, readonly string[]>> = {
  "<": ["<=", ">="],
  "<=": ["<", ">"],
  ">": [">=", "<="],
  ">=": [">", "<"],
  "===": ["!=="],
  "!==": ["==="],
  "&&": ["||"],
  "||": ["&&"],
  "+": ["-"],
  "-": ["+"],
  "*": ["/"],
  "/": ["*"],
  "+=": ["-="],
  "-=": ["+="],
};

function ofOperator(node: ts.BinaryExpression, tree: ts.SourceFile): Replaced[] {
  const operator = node.operatorToken.getText(tree);
  if (operator === "??") return [[node, `(${node.left.getText(tree)})`]];
  // Of texts a difference is no number, and what uses it fails anyhow.
  if (operator === "+" && [node.left, node.right].some(ts.isStringLiteralLike)) return [];
  const others = OPERATORS[operator] ?? [];
  return others.map((other) => [node.operatorToken, other]);
}

function negated(condition: ts.Expression, tree: ts.SourceFile): Replaced[] {
  // An equality that is turned round is a change of its own operator already.
  const isPlain = ts.isBinaryExpression(condition) || ts.isPrefixUnaryExpression(condition);
  return isPlain ? [] : [[condition, `!(${condition.getText(tree)})`]];
}

/** The return or `continue` that a condition guards, left out. */
function earlyReturn(then: ts.Statement): Replaced[] {
  const only = ts.isBlock(then) && then.statements.length === 1 ? then.statements[0]! : then;
  const leaves = ts.isReturnStatement(only) || ts.isThrowStatement(only) || ts.isContinueStatement(only);
  return leaves ? [[only, ";"]] : [];
}

function isCall(expression: ts.Expression): boolean {
  if (ts.isAwaitExpression(expression) || ts.isVoidExpression(expression))
    return isCall(expression.expression);
  // Without it a class does not run at all.
  return ts.isCallExpression(expression) && expression.expression.kind !== ts.SyntaxKind.SuperKeyword;
}

function byOne(node: ts.NumericLiteral | ts.BigIntLiteral, tree: ts.SourceFile): Replaced[] {
  if (!isValue(node)) return [];
  if (ts.isBigIntLiteral(node)) {
    const value = BigInt(node.getText(tree).slice(0, -1).replaceAll("_", ""));
    return [[node, `${value + 1n}n`]];
  }
  return [[node, String(Number(node.text) + 1)]];
}

/** A word that code compares or says: a kind, a state, a code; not a sentence, and not a name of a member. */
function isWord(node: ts.StringLiteral): boolean {
  return isValue(node) && /^[\w.-]+$/.test(node.text);
}

/** Whether a literal is a value: not the name of a property, and not an index in a type. */
function isValue(node: ts.Node): boolean {
  const { parent } = node;
  return !(
    (ts.isPropertyAssignment(parent) || ts.isElementAccessExpression(parent)) &&
    !isRight(parent, node)
  );
}

function isRight(parent: ts.PropertyAssignment | ts.ElementAccessExpression, node: ts.Node): boolean {
  return ts.isPropertyAssignment(parent) ? parent.initializer === node : ts.isNumericLiteral(node);
}
