import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { initSync, type Node, Renderer } from "@takumi-rs/wasm";
import type { PixelSize } from "../../../core/media.ts";
import type { Pixels } from "../../../runtime/images/pixels.ts";

/** CSS by its names in script. */
export type Style = Readonly<Record<string, string | number>>;

/** A box of CSS, by itself a row or a column of what is in it. */
export function box(style: Style, ...children: readonly Node[]): Node {
  return { type: "container", style: { display: "flex", ...style }, children: [...children] };
}

/** An image: of pixels, or SVG. */
export function picture(src: string | Pixels, style: Style): Node {
  if (typeof src === "string") return { type: "image", src, style };
  const { width, height, pixels } = src;
  return { type: "image", src: { width, height, data: new Uint8Array(pixels) }, style };
}

const FONTS = { Regular: 400, Medium: 500 } as const;

/** Characters that the font has, and those that show nothing. */
const KNOWN =
  /[\s!-~\xa1-\u017f\u0384-\u0482\u048a-\u0513\u1ea0-\u1ef9\u2013-\u2015\u2017-\u201e\u2020-\u2022\u2026\u2030\u2039\u203a\u20ac\u2122\u2212\u2248\u2260\u2264\u2265\p{M}\p{Cf}]+/u;

/** Text; a character that the font does not have is a box with its number. */
export function words(text: string, style: Style): Node {
  const shown = text.normalize("NFC");
  const parts = shown.match(new RegExp(`${KNOWN.source}|.`, "gsu")) ?? [];
  if (parts.length <= 1 && KNOWN.test(shown)) return { type: "text", text: shown, style };
  return box(
    { ...style, display: "block" },
    ...parts.map((part) =>
      KNOWN.test(part)
        ? { type: "text" as const, text: part, style: { display: "inline" } }
        : numberBox(part),
    ),
  );
}

/** Its digits in two rows. */
function numberBox(character: string): Node {
  const code = (character.codePointAt(0) ?? 0).toString(16).toUpperCase();
  const digits = code.padStart(code.length > 4 ? 6 : 4, "0");
  const half = digits.length / 2;
  return box(
    {
      display: "inline-flex",
      flexDirection: "column",
      alignItems: "center",
      fontSize: "0.42em",
      lineHeight: 1,
      width: `${half * 0.75}em`,
      border: "0.1em solid",
      margin: "0 0.1em",
      verticalAlign: "middle",
    },
    inline(digits.slice(0, half)),
    inline(digits.slice(half)),
  );
}

function inline(text: string): Node {
  return { type: "text", text, style: { display: "inline", whiteSpace: "nowrap" } };
}

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
export async function heightOf(node: Node, room: number): Promise<number> {
  const width = Math.max(1, room);
  return (
    await (await opened).measure(box({ width, flexDirection: "column" }, node), { width: Math.ceil(width) })
  ).height;
}

/** The pixels of a node that fills an image. */
export async function render(node: Node, { width, height }: PixelSize): Promise<Pixels> {
  const pixels = await (await opened).render(node, { width, height, format: "raw" });
  return { width, height, pixels };
}
