import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { joinBytes } from "../core/bytes/bytes.ts";
import { jsonText } from "../../test/core/json-text.ts";
import { runsOf } from "../../test/runs.ts";
import type { JsonObject } from "../core/json/json-value.ts";
import { type Changes, openChanges, type Path } from "./changes.ts";
import { readRequestJson } from "./request-json.ts";

const RUNS = runsOf(1_500, 20_000);
const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** What comes of a text by changes. */
function spliced(text: string, make: (changes: Changes) => void): string {
  const changes = openChanges(String);
  make(changes);
  return decoder.decode(joinBytes(changes.splice(readRequestJson({ body: encoder.encode(text) }))));
}

/** The paths of all values within a value. */
function pathsIn(value: unknown, at: Path = []): Path[] {
  if (typeof value !== "object" || value === null) return [];
  const paths: Path[] = [];
  for (const [name, part] of Object.entries(value)) {
    const path = [...at, Array.isArray(value) ? Number(name) : name];
    paths.push(path, ...pathsIn(part, path));
  }
  return paths;
}

/** The value without a member, or with another value in its place or beside it. */
function changed(value: unknown, [step, ...rest]: Path, text: string | undefined): unknown {
  const part = (from: unknown): unknown =>
    rest.length === 0 ? JSON.parse(text as string) : changed(from, rest, text);
  if (Array.isArray(value)) return value.map((item, i) => (i === step ? part(item) : item));
  const members = Object.entries(value as JsonObject);
  if (rest.length === 0 && text === undefined)
    return Object.fromEntries(members.filter(([name]) => name !== step));
  const isThere = members.some(([name]) => name === step);
  return Object.fromEntries([
    ...members.map(([name, member]) => [name, name === step ? part(member) : member]),
    ...(isThere ? [] : [[step, part(undefined)]]),
  ]);
}

const body = fc.array(jsonText, { minLength: 1, maxLength: 4 }).map((texts) => {
  const members = texts.map((text, i) => ` "k${i}" : ${text}`);
  return ` {${members.join(" ,")} } `;
});

describe("a splice is the same change made in the parsed value", () => {
  test("a value set, wherever it stands", () => {
    fc.assert(
      fc.property(body, fc.nat(), fc.jsonValue({ maxDepth: 1 }), (text, pick, value) => {
        const all = pathsIn(JSON.parse(text));
        const path = all[pick % all.length] as Path;
        const after = spliced(text, (changes) => changes.set(path, value));
        expect(JSON.parse(after)).toEqual(changed(JSON.parse(text), path, JSON.stringify(value)));
      }),
      RUNS,
    );
  });

  test("members added and removed, in any object", () => {
    fc.assert(
      fc.property(body, fc.array(fc.nat(), { maxLength: 4 }), (text, picks) => {
        const value: unknown = JSON.parse(text);
        const inObjects = pathsIn(value).filter((path) => typeof path.at(-1) === "string");
        const paths = picks.map((pick) => inObjects[pick % inObjects.length] as Path);
        // Of two of which one holds the other, only the outer is removed.
        const outer = paths.filter(
          (path) =>
            !paths.some((other) => other.length < path.length && other.every((at, i) => at === path[i])),
        );
        const after = spliced(text, (changes) => {
          for (const path of outer) changes.remove(path);
          for (const path of outer) changes.set([...path.slice(0, -1), "added"], 1);
        });
        const want = outer.reduce<unknown>((from, path) => changed(from, path, undefined), value);
        expect(JSON.parse(after)).toEqual(
          outer.reduce((from, path) => changed(from, [...path.slice(0, -1), "added"], "1"), want),
        );
      }),
      RUNS,
    );
  });
});

test("every other byte stays, white space and the spelling of numbers among them", () => {
  const text = ' { "a" : 1.50 , "b":[ { "c" : 1e3, "d" :-0 } , 7 ] ,\n"e": "\\u0041" } ';
  const after = spliced(text, (changes) => {
    changes.set(["b", 0, "c"], 2);
    changes.rename(["e"], "f");
    changes.set(["g"], { h: null });
  });
  expect(after).toBe(' { "a" : 1.50 , "b":[ { "c" : 2, "d" :-0 } , 7 ] ,\n"f": "\\u0041","g":{"h":null} } ');
});

test("without a change the bytes are those of the request", () => {
  const json = readRequestJson({ body: encoder.encode('{"a":1}') });
  expect(joinBytes(openChanges(String).splice(json))).toBe(json.bytes);
});

test("a name is found however it is spelled, and one that is not there is not removed", () => {
  expect(
    spliced('{"m\\u006fdel":"a","b":1}', (changes) => {
      changes.set(["model"], "up");
      changes.remove(["c"]);
      changes.remove(["b", "c"]);
      changes.rename(["d"], "e");
    }),
  ).toBe('{"m\\u006fdel":"up","b":1}');
});

test("what was removed stays removed", () => {
  const changes = openChanges(String);
  changes.remove(["a"]);
  changes.set(["a"], 1);
  changes.set(["a", "b"], 1);
  expect([changes.removes(["a"]), changes.removes(["a", "b"]), changes.removes(["c"])]).toEqual([
    true,
    false,
    false,
  ]);
  const json = readRequestJson({ body: encoder.encode('{"a":{},"c":2}') });
  expect(decoder.decode(joinBytes(changes.splice(json)))).toBe('{"c":2}');
});

describe("how a text begins is changed, and the rest of it keeps its bytes", () => {
  const cases = [
    ['"data:x;s=1,A\\/A"', '"data:x,A\\/A"'],
    ['"d\\u0061ta:x;s=1,A\\/A"', '"data:x,A/A"'],
  ] as const;
  for (const [written, want] of cases)
    test(written, () =>
      expect(
        spliced(`{"a":[${written}]}`, (changes) => changes.setStart(["a", 0], "data:x;s=1", "data:x")),
      ).toBe(`{"a":[${want}]}`),
    );
});

test("as many warnings are kept as a caller is told, and no sentence is made beyond that", () => {
  const changes = openChanges(() => {
    throw new Error("It is not read.");
  });
  for (let i = 0; i < 16; i += 1) changes.warn(`${i}`);
  changes.warn({ field: "a", why: "not_taken" });
  expect(changes.warnings).toHaveLength(16);
});
