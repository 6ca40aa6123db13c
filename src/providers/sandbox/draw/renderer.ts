import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { type ImageSource, initSync, type Node, type OutputFormat, Renderer } from "@takumi-rs/wasm";
import type { PixelSize } from "../../../core/media/media.ts";

/** CSS by its names in script. */
type Style = Readonly<Record<string, string | number>>;

/** A box of a class of the style sheet. */
export function box(className: string, style: Style, ...children: readonly Node[]): Node {
  return { type: "container", className, style, children: [...children] };
}

/** An image: a file, SVG, or what is called so among the images of the rendering. */
export function picture(className: string, src: string | Uint8Array, style: Style = {}): Node {
  return { type: "image", className, src, style };
}

/** Characters that the font has, and those that show nothing. */
const KNOWN =
  /[\s!-~\xa1-\u017f\u0384-\u0482\u048a-\u0513\u1ea0-\u1ef9\u2013-\u2015\u2017-\u201e\u2020-\u2022\u2026\u2030\u2039\u203a\u20ac\u2122\u2212\u2248\u2260\u2264\u2265\p{M}\p{Cf}]+/u;

const PARTS = new RegExp(`${KNOWN.source}|.`, "gsu");

/** Text; a character that the font does not have is a box with its number in two rows. */
export function words(className: string, text: string, style: Style = {}): Node {
  const parts = (text.normalize("NFC").match(PARTS) ?? []).map((part): Node => {
    if (KNOWN.test(part)) return { type: "text", className: "inline", text: part };
    const code = (part.codePointAt(0) ?? 0).toString(16).toUpperCase();
    const digits = code.padStart(code.length > 4 ? 6 : 4, "0");
    const half = digits.length / 2;
    const rows = `${digits.slice(0, half)}\n${digits.slice(half)}`;
    return { type: "text", className: "number", text: rows, style: { width: `${half * 0.75}em` } };
  });
  return box(`words ${className}`, style, ...parts);
}

const WORDS_CSS = `
  .words { display: block }
  .inline { display: inline }
  .number { display: inline-block; white-space: pre; font-size: 0.42em; line-height: 1;
    text-align: center; border: 0.1em solid; margin: 0 0.1em; vertical-align: middle }
`;

const FONTS = { Regular: 400, Medium: 500 } as const;

const opened = open();

async function open(): Promise<Renderer> {
  initSync({ module: fileOf("@takumi-rs/wasm/takumi_wasm_bg.wasm") });
  const renderer = new Renderer();
  for (const [name, weight] of Object.entries(FONTS)) {
    const data = fileOf(`roboto-fontface/fonts/roboto/Roboto-${name}.woff2`);
    await renderer.registerFont({ name: "Roboto", weight, data });
  }
  return renderer;
}

function fileOf(path: string): Uint8Array<ArrayBuffer> {
  return readFileSync(fileURLToPath(import.meta.resolve(path)));
}

/** How high a node is at a width. */
export async function heightOf(node: Node, width: number, css: string): Promise<number> {
  const room = Math.max(1, width);
  const { height } = await (
    await opened
  ).measure(box("", { display: "flex", flexDirection: "column", width: room }, node), {
    width: Math.ceil(room),
    css: [WORDS_CSS, css],
  });
  return height;
}

/** How a node is drawn. */
export interface Rendering {
  readonly css?: string;
  readonly format: OutputFormat;
  /** Images that style sheets name. */
  readonly images?: ImageSource[];
}

const QUALITY = 88;

/** The file of a node that fills an image. */
export async function render(node: Node, { width, height }: PixelSize, how: Rendering): Promise<Uint8Array> {
  const { css = "", format, images = [] } = how;
  return (await opened).render(node, {
    width,
    height,
    format,
    images,
    quality: QUALITY,
    css: [WORDS_CSS, css],
  });
}
