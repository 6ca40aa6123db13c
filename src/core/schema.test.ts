import { describe, expect, test } from "bun:test";
import { Type } from "typebox";
import { compileSchema, faultSentence } from "./schema.ts";

const Schema = Type.Object(
  {
    name: Type.String({ minLength: 1, maxLength: 5 }),
    kind: Type.Optional(Type.Enum(["a", "b"])),
    count: Type.Optional(Type.Integer({ minimum: 1, maximum: 9 })),
    list: Type.Optional(Type.Array(Type.Object({ "x/y~z": Type.Number() }), { minItems: 1, maxItems: 2 })),
    either: Type.Optional(Type.Union([Type.String(), Type.Null(), Type.Object({ deep: Type.Boolean() })])),
    set: Type.Optional(Type.Array(Type.String(), { uniqueItems: true })),
    one: Type.Optional(Type.Array(Type.String({ maxLength: 1 }), { maxItems: 1 })),
    same: Type.Optional(Type.Literal("this")),
    odd: Type.Optional(Type.Enum(["a b", "c,d", ""])),
    shape: Type.Optional(Type.String({ pattern: "^[a-z]+$" })),
    named: Type.Optional(
      Type.Object(
        {},
        { propertyNames: Type.String({ maxLength: 2 }), additionalProperties: Type.String({ maxLength: 1 }) },
      ),
    ),
  },
  { additionalProperties: false },
);
const checker = compileSchema(Schema);

describe("a fault names the field and says what it must be", () => {
  const cases: readonly (readonly [unknown, string])[] = [
    [[], "The body must be an object."],
    [null, "The body must be an object."],
    [{}, "name is required."],
    [{ name: 1 }, "name must be a string."],
    [{ name: "" }, "name must not be empty."],
    [{ name: "abcdef" }, "name must have at most 5 characters."],
    [{ name: "a", kind: "c" }, "kind must be one of a, b."],
    [{ name: "a", count: 0 }, "count must be at least 1."],
    [{ name: "a", count: 10 }, "count must be at most 9."],
    [{ name: "a", count: 1.5 }, "count must be an integer."],
    [{ name: "a", list: [] }, "list must not be empty."],
    [{ name: "a", list: [1, 2, 3].map((n) => ({ "x/y~z": n })) }, "list must have at most 2 items."],
    [{ name: "a", list: [{ "x/y~z": 1 }, { "x/y~z": "1" }] }, "list[1].x/y~z must be a number."],
    [{ name: "a", list: [{}] }, "list[0].x/y~z is required."],
    [{ name: "a", either: 5 }, "either must be a string or null or an object."],
    [{ name: "a", either: { deep: 1 } }, "either.deep must be a boolean."],
    [{ name: "a", either: {} }, "either.deep is required."],
    [{ name: "a", set: ["x", "x"] }, "set must not name a value twice."],
    [{ name: "a", one: ["x", "y"] }, "one must have at most 1 item."],
    [{ name: "a", one: ["xy"] }, "one[0] must have at most 1 character."],
    [{ name: "a", same: "that" }, "same must be this."],
    [{ name: "a", odd: "c" }, 'odd must be one of "a b", "c,d", "".'],
    [{ name: "a", shape: "A" }, "shape must match ^[a-z]+$."],
    [{ name: "a", other: 1 }, "other is not a known key."],
    [{ name: "a", named: { a: "xy" } }, "named.a must have at most 1 character."],
    [{ name: "a", named: { "a/b": 1 } }, "named has a name that must have at most 2 characters."],
  ];
  for (const [value, sentence] of cases) {
    test(sentence, () => {
      expect(checker.accepts(value)).toBe(false);
      expect(faultSentence(checker.faultOf(value))).toBe(sentence);
    });
  }

  test("what is right is accepted", () => {
    expect(checker.accepts({ name: "a", kind: "b", count: 9, either: null, set: ["x", "y"] })).toBe(true);
  });

  test("a schema of no object takes its values too", () => {
    const words = compileSchema(Type.String());
    expect([words.accepts("right"), words.accepts(1)]).toEqual([true, false]);
  });

  test("a value of which nothing is found to be wrong is told to be, as a whole", () => {
    expect(compileSchema(Type.String()).faultOf("right")).toEqual({ path: "", problem: "is not valid" });
  });

  test("of many faults inside a union the first is named", () => {
    const union = compileSchema(
      Type.Object({ a: Type.Union([Type.String(), Type.Array(Type.Object({ b: Type.String() }))]) }),
    );
    const many = Array.from({ length: 20 }, () => ({ b: 1 }));
    expect(faultSentence(union.faultOf({ a: many }))).toBe("a[0].b must be a string.");
    expect(faultSentence(union.faultOf({ a: many.map(() => ({})) }))).toBe("a[0].b is required.");
  });

  test("also where two branches of the union are lists, as deep as it lies", () => {
    const list = (name: string) => Type.Array(Type.Object({ [name]: Type.Object({ deep: Type.String() }) }));
    const union = compileSchema(Type.Object({ a: Type.Union([Type.String(), list("b"), list("c")]) }));
    const many = Array.from({ length: 20 }, () => ({ b: { deep: 1 } }));
    expect(faultSentence(union.faultOf({ a: many }))).toBe("a[0].b.deep must be a string.");
  });

  test("of two objects in a union, the deepest fault is named, the first of these", () => {
    const deep = Type.Object({ deep: Type.String(), more: Type.Optional(Type.String()) });
    const union = compileSchema(
      Type.Object({ a: Type.Union([Type.Object({ b: deep }), Type.Object({ c: deep })]) }),
    );
    const told = (a: object): string => faultSentence(union.faultOf({ a }));
    expect(told({ b: { deep: 1, more: 1 } })).toBe("a.b.deep must be a string.");
    expect(told({ b: 5, c: { deep: 1 } })).toBe("a.c.deep must be a string.");
  });

  test("of an object in a union, the first member with a fault is named, however deep others lie", () => {
    const either = Type.Union([
      Type.String(),
      Type.Object({ x: Type.Number(), y: Type.Object({ z: Type.Number() }) }),
    ]);
    const value = { a: { x: "1", y: { z: "1" } } };
    expect(faultSentence(compileSchema(Type.Object({ a: either })).faultOf(value))).toBe(
      "a.x must be a number.",
    );
  });

  test("of several faults of one value, the first is named", () => {
    const word = compileSchema(Type.String({ minLength: 2, pattern: "^[a-z]+$" }));
    expect(faultSentence(word.faultOf(""))).toBe("The body must not be empty.");
  });

  test("a member that is missing is named before what lies deeper in another branch", () => {
    const names = Array.from({ length: 12 }, (_, i) => `n${i}`);
    const many = Type.Object(Object.fromEntries(names.map((name) => [name, Type.String()])));
    const union = compileSchema(
      Type.Object({
        a: Type.Union([Type.Object({ b: Type.String() }), Type.Object({ c: many })]),
      }),
    );
    const c = Object.fromEntries(names.map((name) => [name, 1]));
    expect(faultSentence(union.faultOf({ a: { c } }))).toBe("a.b is required.");
  });

  test("the branches of a union make one sentence", () => {
    const union = compileSchema(
      Type.Object({ a: Type.Union([Type.String(), Type.Array(Type.String(), { minItems: 1 })]) }),
    );
    expect(faultSentence(union.faultOf({ a: [] }))).not.toContain("or must");
  });
});

describe("of very many items", () => {
  const Item = Type.Object({ a: Type.String(), b: Type.Optional(Type.Union([Type.Number(), Type.Null()])) });
  const Lists = Type.Object({
    free: Type.Optional(Type.Union([Type.String(), Type.Array(Item)])),
    few: Type.Optional(Type.Array(Item, { maxItems: 10 })),
    mixed: Type.Optional(Type.Union([Type.String(), Type.Array(Item, { maxItems: 10 })])),
    words: Type.Optional(Type.Union([Type.String(), Type.Array(Type.Enum(["x", "y"]), { maxItems: 2 })])),
  });
  const lists = compileSchema(Lists);
  let reads = 0;
  const item = (a: unknown = "x"): object =>
    Object.defineProperty({}, "a", {
      enumerable: true,
      get() {
        reads += 1;
        return a;
      },
    });
  const items = (n: number, last: unknown = "x"): object[] =>
    Array.from({ length: n }, (_, i) => item(i === n - 1 ? last : "x"));
  const told = (value: object): string => {
    expect(lists.accepts(value)).toBe(false);
    return faultSentence(lists.faultOf(value));
  };

  test("none is looked at where there are more than there may be", () => {
    reads = 0;
    expect(told({ few: items(10_000, 1) })).toBe("few must have at most 10 items.");
    expect(told({ mixed: items(10_000, 1) })).toBe("mixed must be a string or have at most 10 items.");
    expect(reads).toBe(0);
    expect(told({ words: Array.from({ length: 10_000 }, () => "z") })).toBe(
      "words must be a string or have at most 2 items.",
    );
  });

  test("the one with the fault is told of, and the others are looked at a few times each", () => {
    const readsOf = (n: number): number => {
      reads = 0;
      expect(told({ free: items(n, 1) })).toBe(`free[${n - 1}].a must be a string.`);
      return reads;
    };
    const some = readsOf(1_000);
    expect(some).toBeLessThan(3_500);
    expect(readsOf(2_000) / some).toBeLessThan(2.2);
  });

  test("as many as there may be are taken, and are no fault beside another", () => {
    expect(lists.accepts({ few: items(10), words: ["x", "y"] })).toBe(true);
    expect(told({ few: items(10), words: ["x", "z"] })).toBe("words[1] must be one of x, y.");
  });
});

test("items that matched before are not looked at again, but are counted, and the last is looked at", () => {
  const schema = compileSchema(
    Type.Object({ list: Type.Array(Type.Number(), { minItems: 1, maxItems: 3 }), name: Type.String() }),
  );
  const accepts = (list: unknown, known: number, name: unknown = "a"): boolean =>
    schema.accepts({ list, name }, { list: known, other: 2 });
  expect([accepts(["?", 2], 1), accepts(["?", 2], 0), accepts(["?", "?"], 1)]).toEqual([true, false, false]);
  expect([accepts([1, 2], 2), accepts([1, "?"], 2), accepts([1, 2, 3, 4], 3)]).toEqual([true, false, false]);
  expect([accepts("no list", 0), accepts([], 0), accepts([1], 1, 7)]).toEqual([false, false, false]);
  for (const other of [null, undefined, "text", 7, []])
    expect([other, schema.accepts(other, { list: 1 })]).toEqual([other, false]);
});
