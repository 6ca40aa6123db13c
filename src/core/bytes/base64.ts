/** Base64 without its padding. A regular expression would try each `=` anew: 200 KB of them took minutes. */
export function withoutPadding(base64: string): string {
  let end = base64.length;
  while (base64[end - 1] === "=") end -= 1;
  return base64.slice(0, end);
}

/** Base64 of any alphabet, padded or not, quoted or percent-encoded, as the same bytes in the standard form. */
export function standardBase64(text: string): string | undefined {
  const bare = text
    .trim()
    .replace(/^"(.*)"$/s, "$1")
    .replaceAll(/%[0-9a-f]{2}/gi, (code) => String.fromCharCode(Number.parseInt(code.slice(1), 16)));
  const plain = withoutPadding(bare).replaceAll("-", "+").replaceAll("_", "/");
  if (!/^[A-Za-z0-9+/]+$/.test(plain) || plain.length % 4 === 1) return undefined;
  return plain.padEnd(Math.ceil(plain.length / 4) * 4, "=");
}
