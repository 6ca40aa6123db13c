import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { GatewayError } from "../core/errors.ts";
import { modelsInHeader, readAskedJson } from "./asked-models.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();
const bytesOf = (json: { readonly bytes: Uint8Array }): string => decoder.decode(json.bytes);
const read = (text: string) => readAskedJson({ body: encoder.encode(text) });

/** The text of a member that no format has, as clients may write it. */
const member = fc
  .tuple(fc.stringMatching(/^[a-l]{1,6}$/), fc.json({ maxDepth: 2 }), fc.constantFrom("", " ", "\n  "))
  .map(([name, value, space]) => `"${name}":${space}${value}`);

const at = (place: number, name: string) => ({ name, field: `models[${place}]` });
const placed = (names: readonly string[]) => names.map((name, place) => at(place, name));

const names = fc.uniqueArray(fc.stringMatching(/^[a-z]{1,4}(\/[a-z0-9.]{1,5})?$/), {
  minLength: 1,
  maxLength: 5,
});

describe("what a body says of models", () => {
  test("is taken out of it, and every other member keeps its bytes", () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(member, { maxLength: 4, selector: (text) => text.trim().split('"')[1] }),
        names,
        fc.nat(4),
        (members, models, at) => {
          const own = `"model":"first"`;
          const rest = [own, ...members];
          const place = Math.min(at, rest.length);
          const all = rest.toSpliced(place, 0, `"models" : ${JSON.stringify(models)}`);
          const { json, models: asked } = read(`{${all.join(",")}}`);
          expect(bytesOf(json)).toBe(`{${rest.join(",")}}`);
          expect(asked?.map(({ name }) => name)).toEqual([...new Set(["first", ...models])]);
          expect(json.value).toEqual(JSON.parse(`{${rest.join(",")}}`));
        },
      ),
    );
  });

  test("alone gives the body its model", () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(member, { maxLength: 4, selector: (text) => text.trim().split('"')[1] }),
        names,
        (members, models) => {
          const { json, models: asked } = read(
            `{${[...members, `"models":${JSON.stringify(models)}`].join(",")}}`,
          );
          const text = bytesOf(json);
          expect(json.value).toEqual({ ...JSON.parse(`{${members.join(",")}}`), model: models[0] });
          expect(JSON.parse(text)).toEqual(json.value);
          for (const one of members) expect(text).toContain(one.trim());
          expect(asked?.slice()).toEqual(placed(models));
        },
      ),
    );
  });

  test("is not there: the body stays as it came", () => {
    const text = '{ "model":"a", "n":1.0 }';
    const { json, models } = read(text);
    expect([bytesOf(json), models]).toEqual([text, undefined]);
  });

  const atModel = { name: "a", field: "model" };
  for (const [text, bytes, models] of [
    ['{"models":null,"model":"a"}', '{"model":"a"}', undefined],
    // Each is named by the first place that has it.
    ['{"model":null,"models":["b","b","a","b"]}', '{"model":"b"}', [at(0, "b"), at(2, "a")]],
    ['{"model":"a","models":["a"]}', '{"model":"a"}', [atModel]],
    ['{"model":"a","mod\\u0065ls":["a","b"]}', '{"model":"a"}', [atModel, at(1, "b")]],
    // What is no name at all is refused by the format.
    ['{"model":7,"models":["b"]}', '{"model":7}', undefined],
  ] as const)
    test(text, () => {
      const asked = read(text);
      expect([bytesOf(asked.json), asked.models]).toEqual([bytes, models as never]);
    });

  for (const [text, param] of [
    ['{"models":[]}', "models"],
    ['{"models":"a"}', "models"],
    ['{"models":{"a":1}}', "models"],
    ['{"models":["a","b","c","d","e","f"]}', "models"],
    ['{"models":["a",""]}', "models[1]"],
    ['{"models":[["a"]]}', "models[0]"],
    ['{"models":["a"],"models":["b"]}', "models"],
  ] as const)
    test(`${text} is a 400 that names ${param}`, () => {
      expect(() => read(text)).toThrow(GatewayError);
      try {
        read(text);
      } catch (error) {
        expect((error as GatewayError).param).toBe(param);
      }
    });
});

describe("the header that names models", () => {
  const header = (text: string) => modelsInHeader(new Headers({ "x-switchyard-models": text }));
  const named = (...names: readonly string[]) =>
    names.map((name) => ({ name, field: "x-switchyard-models" }));

  test("has names with commas between them", () => {
    expect(modelsInHeader(new Headers())).toBeUndefined();
    expect(header("a/b")).toEqual(named("a/b"));
    expect(header(" a , b,c ")).toEqual(named("a", "b", "c"));
  });

  for (const text of ["", "a,", ",", "a,,b", "a,b,c,d,e,f"])
    test(`${JSON.stringify(text)} is a 400`, () => expect(() => header(text)).toThrow("x-switchyard-models"));
});
