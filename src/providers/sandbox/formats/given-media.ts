import { isAddress } from "../../../core/net/ip-address.ts";
import { isPublicAddress, isPublicName } from "../../../core/net/public-address.ts";

/** Whether text is base64 of at least one byte, in either alphabet, padded or not. */
export function isBase64(text: string): boolean {
  if (text === "") return false;
  const end = /={0,2}$/.exec(text.slice(-2))?.[0].length ?? 0;
  if (end > 0 && text.length % 4 !== 0) return false;
  return (text.length - end) % 4 !== 1 && /^[\w+/-]*$/.test(text.slice(0, text.length - end));
}

/** What stands behind the comma of a data URL in base64; `undefined` of one that says nothing of base64. */
export function base64In(url: string): string | undefined {
  const comma = url.indexOf(",");
  return /;\s*base64$/i.test(url.slice(Math.max(0, comma - 16), Math.max(0, comma)))
    ? url.slice(comma + 1)
    : undefined;
}

/**
 * Whether a vendor's server could follow a link. The link leads to a host of the public Internet, as far as can be said
 * without asking for the addresses of its name. Addresses of other kinds (`gs:`, names of files) are the vendor's own.
 */
export function canBeFollowed(link: string): boolean {
  if (!/^https?:/i.test(link)) return true;
  if (!URL.canParse(link)) return false;
  const host = new URL(link).hostname.replace(/^\[|\]$/g, "");
  return isAddress(host) ? isPublicAddress(host) : isPublicName(host);
}
