import { lexer, type MarkedToken, type Token, type Tokens, type TokensList } from "marked";

/** A part of a line. There is none for HTML: a model's tags are text. */
export type Inline =
  | { readonly kind: "text" | "code"; readonly text: string }
  | { readonly kind: "break" }
  | { readonly kind: "strong" | "em" | "del"; readonly of: readonly Inline[] }
  | { readonly kind: "link"; readonly href: string; readonly of: readonly Inline[] }
  | { readonly kind: "image"; readonly src: string; readonly text: string };

/** A part of an answer. */
export type Block =
  | { readonly kind: "paragraph"; readonly of: readonly Inline[] }
  | { readonly kind: "heading"; readonly level: number; readonly of: readonly Inline[] }
  | { readonly kind: "code"; readonly language: string; readonly text: string }
  | { readonly kind: "quote"; readonly of: readonly Block[] }
  | {
      readonly kind: "list";
      /** The first number; absent: the items are not numbered. */
      readonly start: number | undefined;
      readonly items: readonly ListItem[];
    }
  | {
      readonly kind: "table";
      readonly head: readonly (readonly Inline[])[];
      readonly rows: readonly (readonly (readonly Inline[])[])[];
      /** Columns of numbers and the like. */
      readonly isRight: readonly boolean[];
    }
  | { readonly kind: "rule" };

/** An item of a list. */
export interface ListItem {
  /** Of a list of tasks: whether it is done. */
  readonly isChecked: boolean | undefined;
  readonly of: readonly Block[];
}

/** Reads an answer that grows: a block that stays as it was stays the same object, so that it is not drawn anew. */
export function createMarkdownReader(): (text: string) => readonly Block[] {
  let before: {
    readonly raws: readonly string[];
    readonly blocks: readonly Block[];
    readonly links: number;
  } = {
    raws: [],
    blocks: [],
    links: 0,
  };
  return (text) => {
    const read = tokensOf(text);
    if (read === undefined) return [{ kind: "paragraph", of: [{ kind: "text", text }] }];
    // Addresses of links may come last, and change what stands before them.
    const isSame = Object.keys(read.links).length === before.links;
    const tokens = read.filter(({ type }) => type !== "space" && type !== "def");
    const blocks = tokens.map((token, at) => {
      const kept = isSame && before.raws[at] === token.raw ? before.blocks[at] : undefined;
      return kept ?? blockOf(token);
    });
    before = { raws: tokens.map(({ raw }) => raw), blocks, links: Object.keys(read.links).length };
    return blocks;
  };
}

/** `undefined` for what is nested too deeply to be read. */
function tokensOf(text: string): TokensList | undefined {
  try {
    return lexer(text);
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

/** What is nested deeper is text: each level is drawn within the one above. */
const MOST_DEPTH = 24;

function blocksOf(tokens: readonly Token[], depth: number): readonly Block[] {
  const seen = tokens.filter(({ type }) => !UNSEEN.has(type));
  if (depth > MOST_DEPTH) return [{ kind: "paragraph", of: [rawOf(seen)] }];
  return seen.map((token) => blockOf(token, depth));
}

function rawOf(tokens: readonly Token[]): Inline {
  return { kind: "text", text: tokens.map(({ raw }) => raw).join("") };
}

/** Tokens that show nothing where they stand; an item knows whether it is checked. */
const UNSEEN: ReadonlySet<string> = new Set(["space", "def", "checkbox"]);

function blockOf(token: Token, depth = 0): Block {
  const known = token as MarkedToken;
  switch (known.type) {
    case "heading":
      return { kind: "heading", level: known.depth, of: inlinesOf(known.tokens) };
    case "code":
      return { kind: "code", language: known.lang?.split(/\s/, 1)[0] ?? "", text: known.text };
    case "blockquote":
      return { kind: "quote", of: blocksOf(known.tokens, depth + 1) };
    case "list":
      return {
        kind: "list",
        start: known.ordered ? Number(known.start) : undefined,
        items: known.items.map(({ task, checked, tokens }) => ({
          isChecked: task ? checked === true : undefined,
          of: blocksOf(tokens, depth + 1),
        })),
      };
    case "table":
      return tableOf(known);
    case "hr":
      return { kind: "rule" };
    case "paragraph":
      return { kind: "paragraph", of: inlinesOf(known.tokens) };
    case "text":
      return { kind: "paragraph", of: inlinesOf(known.tokens ?? [known]) };
    default:
      return { kind: "paragraph", of: [{ kind: "text", text: token.raw }] };
  }
}

function tableOf({ header, rows, align }: Tokens.Table): Block {
  return {
    kind: "table",
    head: header.map(({ tokens }) => inlinesOf(tokens)),
    rows: rows.map((row) => row.map(({ tokens }) => inlinesOf(tokens))),
    isRight: align.map((side) => side === "right"),
  };
}

function inlinesOf(tokens: readonly Token[], depth = 0): readonly Inline[] {
  const seen = tokens.filter(({ type }) => !UNSEEN.has(type));
  return depth > MOST_DEPTH ? [rawOf(seen)] : seen.map((token) => inlineOf(token, depth));
}

function inlineOf(token: Token, depth: number): Inline {
  const known = token as MarkedToken;
  switch (known.type) {
    case "codespan":
      return { kind: "code", text: known.text };
    case "strong":
    case "em":
    case "del":
      return { kind: known.type, of: inlinesOf(known.tokens, depth + 1) };
    case "br":
      return { kind: "break" };
    case "html":
      return /^<br\s*\/?>$/i.test(known.text) ? { kind: "break" } : { kind: "text", text: known.text };
    case "link":
      return isSafe(known.href)
        ? { kind: "link", href: known.href, of: inlinesOf(known.tokens, depth + 1) }
        : { kind: "text", text: known.raw };
    case "image":
      return imageOf(known);
    case "text":
    case "escape":
      return { kind: "text", text: withCharacters(known.text) };
    default:
      return { kind: "text", text: token.raw };
  }
}

/** An image that comes with the answer is shown; one from elsewhere is a link, and nothing is loaded. */
function imageOf({ href, text, raw }: Tokens.Image): Inline {
  if (/^data:image\/(?:png|jpeg|gif|webp);base64,/.test(href)) return { kind: "image", src: href, text };
  if (!isSafe(href)) return { kind: "text", text: raw };
  return { kind: "link", href, of: [{ kind: "text", text: text === "" ? href : text }] };
}

function isSafe(href: string): boolean {
  return /^(?:https?:\/\/|mailto:)/i.test(href);
}

const CHARACTERS: Readonly<Record<string, string>> = {
  amp: "&",
  lt: "<",
  gt: ">",
  quot: '"',
  apos: "'",
  nbsp: "\u00a0",
};

/** A text in which characters are written out, `&lt;`, as it reads. */
function withCharacters(text: string): string {
  return text.replaceAll(/&(?:#(\d{1,7})|#x([\da-f]{1,6})|([a-z]{2,4}));/gi, (all, decimal, hex, name) => {
    if (name !== undefined) return CHARACTERS[name as string] ?? all;
    const code = decimal === undefined ? Number.parseInt(hex as string, 16) : Number(decimal);
    return code > 0 && code <= 0x10_ff_ff ? String.fromCodePoint(code) : all;
  });
}
