import { expect, test } from "bun:test";
import { Glob } from "bun";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ERRORS } from "../../../src/core/errors.ts";
import { PRICE_BUCKETS } from "../../../src/core/money/price.ts";
import { TASK_ERRORS, TASK_STATES } from "../../../src/core/task.ts";
import { ABANDONED } from "../../../src/ledger/commands.ts";
import { KEY_WORDS } from "../screens/accounts/keys.ts";
import { ROUTE_STATES } from "../screens/health/search.ts";
import {
  attemptWords,
  BUCKET_NAMES,
  CODE_WORDS,
  ENTRY_WORDS,
  entryWords,
  FLAG_WORDS,
  HOLD_WORDS,
  OUTCOME_WORDS,
  ROUTE_WORDS,
  STATE_WORDS,
  type Words,
  wordsOf,
} from "./words.ts";

const SOURCE = join(import.meta.dirname, "../../../src");

/** The words of a union of string literals in a source file, found by what stands before it. */
function unionIn(file: string, before: string): string[] {
  const text = readFileSync(join(SOURCE, file), "utf8");
  const at = text.indexOf(before);
  const union = text.slice(at + before.length, text.indexOf(";", at));
  return [...union.matchAll(/"(\w+)"/g)].map(([, word]) => word ?? "");
}

/** Codes that the gateway gives its errors, by the ways in which its source writes them. */
function codesInSource(): Set<string> {
  const codes = new Set<string>();
  const ways = [
    /(?:refusal|authError)\(\s*"(\w+)",/g,
    /\b(?:malformed|unknown|revoked|expired|account_inactive|ended): \[\s*"(\w+)",/g,
    /\{[^{}]*\bcode: "(\w+_\w+_\w+)" \}/g,
  ];
  for (const folder of ["gateway", "http", "keys", "limits", "protocols/responses"])
    for (const file of new Glob("**/*.ts").scanSync(join(SOURCE, folder))) {
      if (file.endsWith(".test.ts")) continue;
      const text = readFileSync(join(SOURCE, folder, file), "utf8");
      for (const way of ways) for (const [, code] of text.matchAll(way)) codes.add(code ?? "");
      // Faults of a credential, for each kind of credential.
      for (const [, fault] of text.matchAll(/`\$\{code\}(_\w+)`/g))
        for (const kind of ["api_key", "admin_token"]) codes.add(`${kind}${fault}`);
    }
  return codes;
}

test("badges begin with a capital letter on every page", () => {
  const all = [STATE_WORDS, HOLD_WORDS, ENTRY_WORDS, FLAG_WORDS, OUTCOME_WORDS, ROUTE_WORDS, KEY_WORDS];
  for (const { name } of all.flatMap((words: Readonly<Record<string, Words>>) => Object.values(words)))
    expect(name).toMatch(/^[A-Z]/);
});

test("each state of a route has words", () => {
  expect(Object.keys(ROUTE_WORDS)).toEqual([...ROUTE_STATES]);
});

test("each outcome of a paid request has words", () => {
  const outcomes = [
    "completed",
    "cancelled",
    "client_gone",
    ...ABANDONED,
    ...Object.keys(ERRORS),
    ...TASK_ERRORS,
  ];
  expect(Object.keys(OUTCOME_WORDS).toSorted()).toEqual([...new Set(outcomes)].toSorted());
});

test("each code that the gateway refuses with has words, and no other", () => {
  const codes = codesInSource();
  expect(codes.size).toBeGreaterThan(14);
  expect(Object.keys(CODE_WORDS).toSorted()).toEqual(
    [...new Set([...codes, ...Object.keys(ERRORS)])].toSorted(),
  );
});

test("each flag, state, bucket, end of a hold and kind of entry has words", () => {
  expect(Object.keys(FLAG_WORDS)).toEqual(unionIn("core/money/usage.ts", "export type UsageFlag ="));
  expect(Object.keys(STATE_WORDS)).toEqual([...TASK_STATES]);
  expect(Object.keys(BUCKET_NAMES)).toEqual([...PRICE_BUCKETS, "adjustment"]);
  const holds = readFileSync(join(SOURCE, "db/schema.ts"), "utf8");
  expect(holds).toContain(
    `state: ${Object.keys(HOLD_WORDS)
      .map((state) => `"${state}"`)
      .join(" | ")};`,
  );
  expect(holds).toContain(
    `kind: ${Object.keys(ENTRY_WORDS)
      .map((kind) => `"${kind}"`)
      .join(" | ")};`,
  );
});

test("all words are sentences, and what is wrong has something to do", () => {
  const all: Words[] = [OUTCOME_WORDS, CODE_WORDS, FLAG_WORDS, STATE_WORDS].flatMap((words) =>
    Object.values(words),
  );
  for (const { says, todo } of all) {
    expect(says).toMatch(/^[A-Z].*\.$/);
    if (todo !== undefined) expect(todo).toMatch(/^[A-Z].*\.$/);
  }
  for (const [outcome, { tone, todo }] of Object.entries(OUTCOME_WORDS))
    if (tone === "bad" || tone === "warn") expect([outcome, typeof todo]).toEqual([outcome, "string"]);
});

test("the words of an outcome point to nothing beside them: they stand on several pages", () => {
  for (const { says, todo } of Object.values(OUTCOME_WORDS))
    expect(`${says} ${todo ?? ""}`).not.toMatch(/\b(?:below|above|beside)\b/);
});

test("a value that is not known stands for itself", () => {
  expect(wordsOf(OUTCOME_WORDS, "constructor")).toMatchObject({ name: "constructor", tone: "none" });
  expect(wordsOf(OUTCOME_WORDS, "completed").name).toBe("Completed");
});

test("each status of an attempt has words", () => {
  const names = [null, 200, 400, 401, 402, 404, 429, 503].map((status) => attemptWords(status).name);
  expect(names).toEqual([
    "No answer",
    "Answered",
    "Refused",
    "Credential refused",
    "No balance",
    "Not found",
    "Rate limited",
    "Provider failed",
  ]);
  expect(attemptWords(null, "completed").name).toBe("Done");
  expect(attemptWords(null, "client_gone").name).toBe("Not awaited");
});

test("credit that was taken back is not called a grant", () => {
  const named = (kind: string, amount: number): string => entryWords({ kind, amount }).name;
  expect([named("grant", 5), named("grant", -5), named("settle", -5)]).toEqual([
    "Grant",
    "Taken back",
    "Charge",
  ]);
});
