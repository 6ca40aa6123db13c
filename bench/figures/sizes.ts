import ts from "typescript";
import { type SourceFile, sourceFiles } from "./files.ts";
import { markdownTable } from "./table.ts";

// How much source there is. Tokens are counted beside lines: longer lines make fewer lines, and not fewer tokens.

/**
 * Files of `src/catalog` that say nothing of the fields of language formats. All others of that folder count as its
 * language tables, so that a table counts wherever in the folder it goes.
 */
const OTHER_CATALOG =
  /^src\/catalog\/(catalog|error-words|llms-.*|media-.*|model-names|name-rules|page-parts|price-words|prices|schema|.*\/(images|videos|media-table))\.ts$/;

const isProtocol = ({ path }: SourceFile): boolean => path.startsWith("src/protocols/");
const isLanguageTable = ({ path }: SourceFile): boolean =>
  path.startsWith("src/catalog/") && !OTHER_CATALOG.test(path);
const isServed = ({ path }: SourceFile): boolean => path === "src/gateway/served.ts";
const isCore = ({ path }: SourceFile): boolean => path.startsWith("src/core/");

const LONG_LINE = 100;

/** Files, lines and tokens by folder, and of all code of the language formats; then how long the lines are. */
export function sizeTables(): string {
  const source = sourceFiles("src");
  const shipped = source.filter(({ isTest }) => !isTest);
  const folders = [...Map.groupBy(shipped, folderOf)].sort(([a], [b]) => (a < b ? -1 : 1));
  const formats = shipped.filter((file) => isProtocol(file) || isLanguageTable(file) || isServed(file));
  const sums: readonly [string, readonly SourceFile[]][] = [
    ["src without tests", shipped],
    ["src, the tests in it", source.filter(({ isTest }) => isTest)],
    ["test", sourceFiles("test")],
    ["bench", sourceFiles("bench")],
    ["bin", sourceFiles("bin")],
    ["**formats**: protocols, language tables, served", formats],
    ["of them src/protocols", formats.filter(isProtocol)],
    ["of them the language tables of src/catalog", formats.filter(isLanguageTable)],
    ["of them src/gateway/served.ts", formats.filter(isServed)],
    ["formats and src/core", [...formats, ...shipped.filter(isCore)]],
  ];
  const sizes = [...folders, ...sums].map(([name, files]) => sizeRow(name, files));
  return [
    markdownTable(["what", "files", "lines", "tokens"], sizes),
    markdownTable(
      ["lines that are not empty", "mean length", "longest", `share above ${LONG_LINE} characters`],
      [lineRow("src without tests", shipped), lineRow("formats", formats)],
    ),
  ].join("\n\n");
}

function folderOf({ path }: SourceFile): string {
  const [, folder = "", file] = path.split("/");
  return file === undefined ? "src/*.ts" : `src/${folder}`;
}

function sizeRow(name: string, files: readonly SourceFile[]): string[] {
  const sum = (figure: (file: SourceFile) => number): string =>
    String(files.reduce((total, file) => total + figure(file), 0));
  return [name, String(files.length), sum(({ text }) => text.split("\n").length - 1), sum(tokenCount)];
}

/** Tokens of the code; what stands in comments counts in lines alone. */
function tokenCount({ text }: SourceFile): number {
  const tree = ts.createSourceFile("file.ts", text, ts.ScriptTarget.ESNext);
  let count = 0;
  const visit = (node: ts.Node): void => {
    const children = node.getChildren(tree);
    if (children.length === 0 && node.getWidth(tree) > 0) count++;
    for (const child of children) if (!ts.isJSDoc(child)) visit(child);
  };
  visit(tree);
  return count;
}

function lineRow(name: string, files: readonly SourceFile[]): string[] {
  const lengths = files
    .flatMap(({ text }) => text.split("\n"))
    .filter((line) => line !== "")
    .map((line) => line.length);
  const total = lengths.reduce((sum, length) => sum + length, 0);
  const long = lengths.filter((length) => length > LONG_LINE).length;
  return [
    name,
    (total / lengths.length).toFixed(1),
    String(Math.max(...lengths)),
    `${((100 * long) / lengths.length).toFixed(1)} % (${long})`,
  ];
}
