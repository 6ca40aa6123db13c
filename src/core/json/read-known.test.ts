import { describe, expect, test } from "bun:test";
import { type Random, seededRandom, sessionBodies } from "../../../test/protocols/agent-sessions.ts";
import { LONG, SEED } from "../../../test/runs.ts";
import { createKnownValueStore, type KnownValues } from "./known-values.ts";
import { countMembers, readShape } from "./json-shape.ts";
import { readKnown } from "./read-known.ts";

const BOUNDS = { depth: 64, values: 200_000 };
const SESSIONS = LONG ? 2_000 : 30;
const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function parse(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(decoder.decode(bytes));
  } catch {
    return undefined;
  }
}

/** The same by the plain way; `undefined` where the text must be read in that. */
function plain(bytes: Uint8Array, bounds = BOUNDS) {
  const shape = readShape(bytes, bounds);
  const value = parse(bytes);
  if (shape === undefined || typeof value !== "object" || value === null || Array.isArray(value))
    return undefined;
  return countMembers(value) < shape.memberCount ? undefined : { value, ...shape };
}

function known(bytes: Uint8Array, values: KnownValues, bounds = BOUNDS) {
  const read = readKnown(bytes, bounds, values, parse);
  return read && { value: read.value, ...read.shape };
}

/** All but the number of members: those of known values are not counted again. */
const told = (read: ReturnType<typeof plain>) => read && { ...read, memberCount: 0 };

const text = (value: unknown): Uint8Array => encoder.encode(JSON.stringify(value));
const values = (): KnownValues => createKnownValueStore(1_000_000).of("key");
const item = (i: number, length = 400): object => ({ role: "user", content: `${i} `.repeat(length) });

test("what was known is read as in the plain way, whatever was changed or broken", () => {
  const random: Random = seededRandom(SEED);
  for (let session = 0; session < SESSIONS; session += 1) {
    const earlier = values();
    for (const format of ["compat_chat_completions", "compat_messages", "compat_generate_content"] as const)
      for (const bytes of sessionBodies(format, "v/m", random, 12))
        expect(told(known(bytes, earlier) as ReturnType<typeof plain>)).toEqual(told(plain(bytes)));
  }
});

test("white space in items that are known counts where it stands, and not where it does not", () => {
  const earlier = values();
  const [one, other, third] = [0, 1, 2].map((i) => JSON.stringify(item(i)));
  const spaced = other?.replace(":", ": ");
  const read = (...items: readonly (string | undefined)[]) => {
    const bytes = encoder.encode(`{"messages":[${items.join(",")}]}`);
    expect(told(known(bytes, earlier) as ReturnType<typeof plain>)).toEqual(told(plain(bytes)));
    return known(bytes, earlier)?.isCompact;
  };
  expect(read(one, spaced, third)).toBe(false);
  expect(read(one, JSON.stringify(item(3)))).toBe(true);
  expect(read(one, spaced, JSON.stringify(item(4)))).toBe(false);
  expect(read(one, JSON.stringify(item(5)), third)).toBe(true);
});

describe("of a list that has grown", () => {
  test("earlier items are the same objects as before", () => {
    const earlier = values();
    const items = [0, 1, 2, 3].map((i) => item(i));
    const first = known(text({ messages: items }), earlier)?.value.messages as object[];
    const then = known(text({ n: 1, messages: [...items, item(4)] }), earlier)?.value.messages as object[];
    expect(then).toEqual([...items, item(4)]);
    expect(then.slice(0, 4).every((same, i) => same === first[i])).toBe(true);
  });

  test("an item written anew, one put in and one left out do not hide those behind them", () => {
    const earlier = values();
    const items = [0, 1, 2, 3, 4, 5, 6].map((i) => item(i));
    const first = known(text({ messages: items }), earlier)?.value.messages as object[];
    const changed = [items[0], item(70), items[2], item(80), items[3], items[5], items[6]];
    const then = known(text({ messages: changed }), earlier)?.value.messages as object[];
    expect(then).toEqual(changed as object[]);
    expect(then.map((one) => first.indexOf(one))).toEqual([0, -1, 2, -1, 3, 5, 6]);
  });

  test("the earlier list is kept no longer", () => {
    const store = createKnownValueStore(1_000_000);
    const items = [0, 1, 2].map((i) => item(i));
    for (const messages of [items, [...items, item(3)]]) known(text({ messages }), store.of("key"));
    const kept = store.of("key").named("messages");
    expect(kept.map(({ bytes }) => bytes.toString())).toEqual([JSON.stringify([...items, item(3)])]);
    // With room to grow in.
    expect(store.bytes).toBe(Math.ceil((kept[0]?.bytes.length ?? 0) * 1.25));
  });

  test("its text and the places of its items are those of the new one, whatever became of the old ones", () => {
    const owner = values();
    const all = Array.from({ length: 40 }, (_, i) => item(i, 300));
    const pretty = (items: readonly object[]): Uint8Array =>
      encoder.encode(`{"messages":[\n${items.map((one) => JSON.stringify(one)).join(" ,\t")}\n ]}`);
    const steps: readonly Uint8Array[] = [
      text({ messages: all.slice(0, 9) }),
      text({ messages: all.slice(0, 10) }),
      // Gone back, gone on otherwise, and with one in the middle that was written anew.
      text({ messages: all.slice(0, 7) }),
      text({ messages: [...all.slice(0, 6), ...all.slice(20, 25)] }),
      text({ messages: [...all.slice(0, 3), item(99), ...all.slice(4, 6), ...all.slice(20, 26)] }),
      pretty([...all.slice(0, 3), item(99), ...all.slice(4, 6), ...all.slice(20, 27)]),
      pretty(all.slice(0, 3)),
      text({ messages: all }),
      text({ messages: all.slice(0, 39) }),
      // Other white space before the first item, and room for one more.
      pretty(all.slice(28, 36)),
      text({ messages: all.slice(28, 37) }),
      pretty(all.slice(28, 38)),
    ];
    for (const bytes of steps) {
      const read = known(bytes, owner)?.value as { messages: object[] };
      expect(read).toEqual(plain(bytes)?.value as typeof read);
      const [last] = owner.named("messages");
      const { starts = [], ends = [] } = last?.items ?? {};
      const spans = starts.map((start, i) => last?.bytes.toString("utf8", start, ends[i]));
      expect(spans).toEqual(read.messages.map((one) => JSON.stringify(one)));
      expect(decoder.decode(bytes)).toContain(last?.bytes.toString() ?? "nothing was kept");
    }
  });

  test("two sessions that begin alike do not lose what each has", () => {
    const owner = values();
    const begun = [0, 1, 2].map((i) => item(i));
    const sessions = [1, 2].map((session) => ({ session, items: [...begun] }));
    for (let step = 0; step < 6; step += 1)
      for (const { session, items } of sessions) {
        items.push(item(session * 100 + step));
        expect(known(text({ messages: items }), owner)?.value).toEqual({ messages: items });
      }
  });
});

describe("what cannot stand by itself is not taken for what is known", () => {
  const list = JSON.stringify([item(0), item(1)]);
  for (const broken of [
    `{"a":${list.slice(0, -1)}.5]}`,
    `{"a":${list}e5}`,
    `{"a":${list}5}`,
    `{"a":${list.replace("},{", "}{")}}`,
    `{"a":${list},}`,
    `{"a":${list}`,
    `{"a":[${list}}`,
  ])
    test(`in ${broken.slice(-12)}`, () => {
      const earlier = values();
      known(encoder.encode(`{"a":${list}}`), earlier);
      expect(parse(encoder.encode(broken))).toBeUndefined();
      expect(known(encoder.encode(broken), earlier)).toBeUndefined();
    });

  test("a number that goes on", () => {
    const earlier = values();
    const digits = "1".repeat(2_000);
    known(encoder.encode(`{"a":${digits}}`), earlier);
    expect(known(encoder.encode(`{"a":${digits}2}`), earlier)?.value).toEqual({ a: Number(`${digits}2`) });
  });
});

test("a text that is no whole object is read in the plain way", () => {
  for (const other of ["{", "{]", "{}}", "{}x", "[]", "7", "", " "])
    expect([other, known(encoder.encode(other), values())]).toEqual([other, undefined]);
  expect(known(encoder.encode(" {} "), values())?.value).toEqual({});
});

test("a key that stands twice beside what is known is found", () => {
  const earlier = values();
  const messages = [item(0), item(1)];
  known(text({ messages }), earlier);
  const written = JSON.stringify(messages);
  for (const twice of [
    `{"messages":${written},"messages":${written}}`,
    `{"messages":${written},"a":{"b":1,"b":2}}`,
    `{"messages":${written.slice(0, -1)},{"c":1,"c":1}]}`,
  ])
    expect(known(encoder.encode(twice), earlier)).toBeUndefined();
});

test("a member of any name is one like others", () => {
  const earlier = values();
  const bytes = encoder.encode(
    `{"__proto__":${JSON.stringify([item(0, 600)])},"1":${JSON.stringify([item(1)])}}`,
  );
  const wanted = plain(bytes)?.value;
  for (let again = 0; again < 3; again += 1) {
    const read = known(bytes, earlier)?.value;
    expect(Object.getPrototypeOf(read)).toBe(Object.prototype);
    expect(Object.entries(read ?? {})).toEqual(Object.entries(wanted ?? {}));
  }
});

test("a text that could go beyond the bounds is read in the plain way", () => {
  const bytes = text({ messages: [item(0), item(1)] });
  expect(known(bytes, values(), { depth: 3, values: bytes.length })).toBeDefined();
  expect(known(bytes, values(), { depth: 2, values: bytes.length })).toBeUndefined();
  expect(known(bytes, values(), { depth: 3, values: 20 })).toBeUndefined();
  // Each value has two bytes at least, whatever was known.
  const even = encoder.encode(`{"a":"${"b".repeat(92)}"}`);
  expect([even.length, known(even, values(), { depth: 3, values: 50 })?.value]).toEqual([
    100,
    { a: "b".repeat(92) },
  ]);
  expect(known(even, values(), { depth: 3, values: 49 })).toBeUndefined();
});

test("what would take far more memory than its text, or has a name of any length, is not kept", () => {
  const store = createKnownValueStore(1_000_000);
  const name = "n".repeat(65);
  for (const value of [
    { a: Array.from({ length: 2_000 }, () => ({})) },
    { a: { b: Array.from({ length: 2_000 }, () => []) } },
    { a: Array.from({ length: 2_000 }, () => 0) },
    { [name]: [item(0), item(1)] },
    { a: [item(0, 100)] },
  ]) {
    expect(known(text(value), store.of("key"))?.value).toEqual(value);
    expect(store.bytes).toBe(0);
  }
  known(text({ [name.slice(1)]: [item(0), item(1)] }), store.of("key"));
  expect(store.bytes).toBeGreaterThan(1_000);
});

test("a key that is no JSON is nobody's fault but the sender's", () => {
  const list = JSON.stringify([item(0), item(1)]);
  const earlier = values();
  for (const key of ['"a\\x"', '"\\u00"', '"\\', '"a\u0001"', "a", "\\"])
    for (const broken of [`{${key}:${list}}`, `{"b":${list},${key}:1}`])
      expect(known(encoder.encode(broken), earlier)).toBeUndefined();
  const escaped = encoder.encode(`{"\\u0062":${list},"c":${list}}`);
  for (let again = 0; again < 2; again += 1)
    expect(known(escaped, earlier)?.value).toEqual(plain(escaped)?.value as never);
});
