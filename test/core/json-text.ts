import * as fc from "fast-check";

const TOKENS = /"(?:\\.|[^"\\])*"|[{}[\],:]|[^\s{}[\],:"]+/g;
const SPACES = ["", "", " ", "\n", "\r\n", "\t", "  "];

/** JSON of any value in any legal spelling: white space between tokens, escapes, and other ways to write a number. */
export const jsonText = fc
  .tuple(fc.jsonValue({ maxDepth: 4 }), fc.array(fc.nat(1_000), { minLength: 1, maxLength: 12 }))
  .map(([value, picks]) => {
    const tokens = JSON.stringify(value).match(TOKENS) ?? [];
    return tokens
      .map((token, i) => {
        const pick = picks[i % picks.length] as number;
        return spelled(token, pick) + SPACES[pick % SPACES.length];
      })
      .join("");
  });

function spelled(token: string, pick: number): string {
  if (/^-?\d+$/.test(token)) return [token, `${token}.0`, `${token}e0`, `${token}E+00`][pick % 4] as string;
  if (token.startsWith('"') && pick % 3 === 0) return token.replace(/[a-z](?=[^\\]*$)/, unicodeEscape);
  return token;
}

function unicodeEscape(letter: string): string {
  return `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
