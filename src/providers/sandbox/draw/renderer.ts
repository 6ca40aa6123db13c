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

/** From base line to base line, in type sizes. */
export const LINE = 1.32;

const CSS = `
  .words { display: block }
  .inline { display: inline }
  .number { display: inline-block; white-space: pre; font-size: 0.42em; line-height: 1;
    text-align: center; border: 0.1em solid; margin: 0 0.1em; vertical-align: middle }

  .image { display: flex; flex-direction: column; justify-content: space-between;
    position: relative; font-family: Roboto; color: #fff; line-height: ${LINE} }
  .landscape { position: absolute; z-index: -1; left: 0; top: 0 }
  .head { display: flex; justify-content: space-between; font-weight: 500 }
  .pill { display: flex; align-items: center; gap: 0.6em; height: 2em; padding: 0 1em;
    border-radius: 1em; letter-spacing: 0.1em; white-space: nowrap }
  .logo { width: 1.1em; height: 1em }

  .tiles { display: flex; flex-wrap: wrap; justify-content: center; align-content: center }
  .cell { display: flex; align-items: center; justify-content: center }
  .card { display: flex; flex-direction: column; padding: 0.5em 0.5em 0; border-radius: 0.5em;
    background: #fcfbf8; color: #262a36 }
  .label { line-height: 1.6; white-space: nowrap; overflow: hidden; text-overflow: ellipsis }
  .layers { display: block; position: relative }
  .layer { position: absolute; left: 0; top: 0 }
  .told { display: flex; align-items: center; justify-content: center; padding: 0.5em;
    background: #dde3ea; overflow: hidden; text-align: center; overflow-wrap: anywhere }
  .squares { background: repeating-conic-gradient(#ccc 0 25%, #eee 0 50%) 0 0 / 16px 16px }
  .stripes { background: repeating-linear-gradient(135deg, hsla(330, 100%, 59%, 0.72) 0 8px,
    hsla(330, 100%, 59%, 0.5) 0 16px) }
  .masked { mask-image: url(mask); mask-size: 100% 100% }

  .panel { display: flex; flex-direction: column; flex-shrink: 0; border-radius: 0.9em;
    border: 1px solid rgba(255, 255, 255, 0.2) }
  .line { white-space: nowrap; overflow: hidden; text-overflow: ellipsis; max-width: 100% }
  .prompt { font-weight: 500; white-space: pre-wrap; overflow-wrap: anywhere }
  .cut { overflow: hidden; text-overflow: ellipsis }
  .facts { display: flex; flex-wrap: wrap; column-gap: 1.5em; overflow: hidden }
  .fact { display: flex; gap: 0.4em; max-width: 100% }
  .name { opacity: 0.62; white-space: nowrap }
  .strong { font-weight: 500 }
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
export async function heightOf(node: Node, width: number): Promise<number> {
  const room = Math.max(1, width);
  const root = box("", { display: "flex", flexDirection: "column", width: room }, node);
  const renderer = await opened;
  return (await renderer.measure(root, { width: Math.ceil(room), css: [CSS] })).height;
}

/** The file of a node that fills an image of such a size. `images` are those that the style sheet names. */
export async function render(
  node: Node,
  { width, height }: PixelSize,
  how: { readonly format: OutputFormat; readonly images?: ImageSource[] },
): Promise<Uint8Array> {
  return (await opened).render(node, { width, height, quality: 88, css: [CSS], ...how });
}
