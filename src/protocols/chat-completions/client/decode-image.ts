import type { BegunPart } from "../../../core/chat.ts";
import { filledText, isJsonObject, type JsonObject } from "../../../core/json/json-value.ts";
import { isLink } from "../../file-type.ts";
import { readDataUrl } from "../../data-url.ts";

/** An image of an answer, and its model's signature; one behind a link is a text that shows it. */
type DecodedImage =
  | (Extract<BegunPart, { readonly type: "image" }> & { readonly signature?: string })
  | { readonly link: string };

/** `undefined` for what is no image. */
export function decodeImage({ image_url: held }: JsonObject): DecodedImage | undefined {
  const url = filledText(isJsonObject(held) ? held.url : held);
  if (url === undefined) return undefined;
  if (isLink(url)) return { link: `![](${url})` };
  try {
    return { type: "image", ...readDataUrl(url, "image_url.url") };
  } catch {
    return undefined;
  }
}
