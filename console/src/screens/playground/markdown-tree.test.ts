import { expect, test } from "bun:test";
import { createMarkdownReader } from "./markdown-tree.ts";

const read = (text: string) => createMarkdownReader()(text);
const text = (of: string) => ({ kind: "text" as const, text: of });

test("headings, lists, code and rules are read", () => {
  expect(
    read("## A **b**\n\n- one\n- two\n\n3. three\n\n- [x] done\n\n```ts x\nlet a;\n```\n\n---\n\n> q"),
  ).toEqual([
    { kind: "heading", level: 2, of: [text("A "), { kind: "strong", of: [text("b")] }] },
    {
      kind: "list",
      start: undefined,
      items: ["one", "two"].map((item) => ({
        isChecked: undefined,
        of: [{ kind: "paragraph", of: [text(item)] }],
      })),
    },
    {
      kind: "list",
      start: 3,
      items: [{ isChecked: undefined, of: [{ kind: "paragraph", of: [text("three")] }] }],
    },
    {
      kind: "list",
      start: undefined,
      items: [{ isChecked: true, of: [{ kind: "paragraph", of: [text("done")] }] }],
    },
    { kind: "code", language: "ts", text: "let a;" },
    { kind: "rule" },
    { kind: "quote", of: [{ kind: "paragraph", of: [text("q")] }] },
  ]);
});

test("a table has its cells, and says which columns stand at the right", () => {
  expect(read("| a | b |\n|---|--:|\n| `1` | 2 |")).toEqual([
    {
      kind: "table",
      head: [[text("a")], [text("b")]],
      rows: [[[{ kind: "code", text: "1" }], [text("2")]]],
      isRight: [false, true],
    },
  ]);
});

test("HTML is text, wherever it stands", () => {
  expect(read("<script>alert(1)</script>")).toEqual([
    { kind: "paragraph", of: [text("<script>alert(1)</script>")] },
  ]);
  expect(read('a <img src=x onerror="y"> b<br>c')).toEqual([
    {
      kind: "paragraph",
      of: [text("a "), text('<img src=x onerror="y">'), text(" b"), { kind: "break" }, text("c")],
    },
  ]);
  expect(read("&lt;b&gt; &#39; &unknown; `&lt;`")).toEqual([
    { kind: "paragraph", of: [text("<b> ' &unknown; "), { kind: "code", text: "&lt;" }] },
  ]);
});

test("only links of the web and of mail lead anywhere", () => {
  const hrefs = (markdown: string) => JSON.stringify(read(markdown)).match(/"href":"[^"]*"/g) ?? "none";
  expect(hrefs("[a](https://a.example/b)")).toEqual(['"href":"https://a.example/b"']);
  expect(hrefs("[a](mailto:a@b.example) <https://c.example>")).toHaveLength(2);
  for (const href of [
    "javascript:alert(1)",
    "JAVASCRIPT:alert(1)",
    "java&#115;cript:alert(1)",
    "&#106;avascript:alert(1)",
    "data:text/html,x",
    "vbscript:x",
    "/console/settings",
    "//evil.example",
    "\u0001javascript:x",
  ])
    expect([href, hrefs(`[a](<${href}>) ![i](<${href}>)`)]).toEqual([href, "none"]);
});

test("an image from elsewhere is a link, and one that came along is shown", () => {
  expect(read("![A cat](https://e.example/c.png)")).toEqual([
    {
      kind: "paragraph",
      of: [{ kind: "link", href: "https://e.example/c.png", of: [text("A cat")] }],
    },
  ]);
  expect(read("![A dot](data:image/png;base64,AA==)")).toEqual([
    { kind: "paragraph", of: [{ kind: "image", src: "data:image/png;base64,AA==", text: "A dot" }] },
  ]);
  expect(JSON.stringify(read("![x](data:image/svg+xml;base64,AA==)"))).not.toContain('"src"');
});

test("blocks that are whole stay the same objects while an answer grows", () => {
  const grow = createMarkdownReader();
  const first = grow("# A\n\nsome te");
  const next = grow("# A\n\nsome text\n\nmore");
  expect(next[0]).toBe(first[0] as (typeof first)[number]);
  expect(next[1]).toEqual({ kind: "paragraph", of: [text("some text")] });
  const cited = grow("[see][x]\n\nend");
  expect(JSON.stringify(cited)).not.toContain("href");
  expect(JSON.stringify(grow("[see][x]\n\nend\n\n[x]: https://x.example"))).toContain("https://x.example");
});

test("what is nested too deeply is text", () => {
  const beyondTheStack = ">".repeat(20_000);
  expect(read(beyondTheStack)).toEqual([{ kind: "paragraph", of: [text(beyondTheStack)] }]);
  const depthOf = (value: unknown): number =>
    typeof value === "object" && value !== null ? 1 + Math.max(0, ...Object.values(value).map(depthOf)) : 0;
  const nested = read(`${">".repeat(300)} end`);
  expect(depthOf(nested)).toBeLessThan(80);
  expect(JSON.stringify(nested)).toContain(" end");
});
