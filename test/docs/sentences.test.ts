import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

// docs/STYLE.md: sentences have at most 25 words.

const ROOT = join(import.meta.dirname, "../..");
const MOST_WORDS = 25;

/**
 * The sentences of a page. Code blocks, tables and headings are left out, a link counts by its text, and inline code as
 * one word.
 */
function sentencesOf(page: string): string[] {
  return page
    .replace(/```[\s\S]*?```/g, "")
    .split(/\n\s*\n|\n(?=[-*] |\d+\. |#|\|)/)
    .map((paragraph) => paragraph.trim().replace(/\s+/g, " "))
    .filter((paragraph) => !/^[|#]/.test(paragraph))
    .flatMap((paragraph) =>
      paragraph
        .replace(/\[([^\]]*)\]\([^)]*\)/g, "$1")
        .replace(/`[^`]*`/g, "X")
        .split(/(?<=[.!?:]) (?=[A-Z*"(])/),
    );
}

const wordsOf = (sentence: string): number =>
  sentence.split(" ").filter((word) => /[\p{L}\p{N}_]/u.test(word)).length;

test("sentences are told apart, and words are counted as a reader sees them", () => {
  const page =
    "# A heading. It\n\nSee [the page](a b.md) – it\nhas `a b c`. Then: “more”.\n- An item\n\n| a. B |\n\n```sh\nx. Y\n```\n";
  expect(sentencesOf(page)).toEqual(["See the page – it has X.", "Then: “more”.", "- An item", ""]);
  expect(sentencesOf(page).map(wordsOf)).toEqual([6, 2, 2, 0]);
});

test(`a sentence of the README and of a page has at most ${MOST_WORDS} words`, () => {
  const pages = readdirSync(join(ROOT, "docs"), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".md"))
    .map((name) => join("docs", name));
  expect(pages.length).toBeGreaterThan(10);
  const long = ["README.md", ...pages.toSorted()].flatMap((page) =>
    sentencesOf(readFileSync(join(ROOT, page), "utf8"))
      .filter((sentence) => wordsOf(sentence) > MOST_WORDS)
      .map((sentence) => `${page}: ${wordsOf(sentence)} words: ${sentence}`),
  );
  expect(long).toEqual([]);
});
