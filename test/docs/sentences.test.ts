import { Glob } from "bun";
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
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
    .split(/\n\s*\n|\n(?=[-*] |\d+\. |[#|@])/)
    .map((paragraph) => paragraph.trim().replace(/\s+/g, " "))
    .filter((paragraph) => !/^[|#]/.test(paragraph))
    .flatMap((paragraph) =>
      paragraph
        .replace(/\[([^\]]*)\]\([^)]*\)/g, "$1")
        .replace(/`[^`]*`/g, "X")
        .split(/(?<=[.!?:]) (?=[A-Z*"(])/),
    );
}

/** The texts of a source's comments: of each block, and of each run of lines that begin with two slashes. */
function commentsOf(source: string): string[] {
  const blocks = source
    .matchAll(/^[ \t]*\/\*\*(.*?)\*\//gms)
    .map(([, text = ""]) => text.replace(/\n[ \t]*\* ?/g, "\n"));
  const runs = source.matchAll(/(?:^[ \t]*\/\/.*\n)+/gm).map(([text]) => text.replace(/^[ \t]*\/\/ ?/gm, ""));
  return [...blocks, ...runs];
}

const wordsOf = (sentence: string): number =>
  sentence.split(" ").filter((word) => /[\p{L}\p{N}_]/u.test(word)).length;

test("sentences are told apart, and words are counted as a reader sees them", () => {
  const page =
    "# A heading. It\n\nSee [the page](a b.md) – it\nhas `a b c`. Then: “more”.\n- An item\n\n| a. B |\n\n```sh\nx. Y\n```\n";
  expect(sentencesOf(page)).toEqual(["See the page – it has X.", "Then: “more”.", "- An item", ""]);
  expect(sentencesOf(page).map(wordsOf)).toEqual([6, 2, 2, 0]);
});

test("comments are found, and lines that follow one another are one", () => {
  const source =
    "/** One. */\nconst a = 1; // no run\n// Two\n// and three.\nb();\n  /**\n   * Four.\n   */\n";
  expect(commentsOf(source).map((text) => text.trim())).toEqual(["One.", "Four.", "Two\nand three."]);
});

const namesOf = (pattern: string): string[] => [...new Glob(pattern).scanSync(ROOT)].toSorted();
const textOf = (name: string): string => readFileSync(join(ROOT, name), "utf8");

function tooLong(name: string, text: string): string[] {
  return sentencesOf(text)
    .filter((sentence) => wordsOf(sentence) > MOST_WORDS)
    .map((sentence) => `${name}: ${wordsOf(sentence)} words: ${sentence}`);
}

test(`a sentence of the README and of a page has at most ${MOST_WORDS} words`, () => {
  const pages = ["README.md", ...namesOf("docs/**/*.md")];
  expect(pages.length).toBeGreaterThan(10);
  expect(pages.flatMap((name) => tooLong(name, textOf(name)))).toEqual([]);
});

test(`a sentence of a comment has at most ${MOST_WORDS} words`, () => {
  const sources = ["src", "bin", "bench", "test", "console/src"]
    .flatMap((folder) => namesOf(`${folder}/**/*.{ts,tsx,mjs}`))
    // A program writes this one.
    .filter((name) => name !== "console/src/api/schema.d.ts");
  expect(sources.length).toBeGreaterThan(500);
  expect(sources.flatMap((name) => commentsOf(textOf(name)).flatMap((text) => tooLong(name, text)))).toEqual(
    [],
  );
});
