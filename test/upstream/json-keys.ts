/** The path of the first key that an object of this JSON text has twice, or undefined. The text must be valid JSON. */
export function duplicateKey(text: string): string | undefined {
  const open: { readonly keys: Set<string> | undefined; path: string }[] = [];
  const token = /"(?:[^"\\]|\\.)*"|[{}[\]]/gs;
  for (let match = token.exec(text); match !== null; match = token.exec(text)) {
    const [found] = match;
    const inside = open.at(-1);
    if (found === "{" || found === "[") {
      open.push({ keys: found === "{" ? new Set() : undefined, path: inside?.path ?? "" });
    } else if (found === "}" || found === "]") {
      open.pop();
    } else if (inside?.keys !== undefined && isKey(text, token.lastIndex)) {
      // Escapes can hide a repetition: "a" and "\u0061" are the same key.
      const key = String(JSON.parse(found));
      const parent = open.at(-2)?.path ?? "";
      inside.path = parent === "" ? key : `${parent}.${key}`;
      if (inside.keys.has(key)) return inside.path;
      inside.keys.add(key);
    }
  }
  return undefined;
}

const KEY_END = /[ \t\r\n]*:/y;

function isKey(text: string, after: number): boolean {
  KEY_END.lastIndex = after;
  return KEY_END.test(text);
}
