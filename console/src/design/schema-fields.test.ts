import { expect, test } from "bun:test";
import {
  fieldsOf,
  inputOf,
  readField,
  type Schema,
  type SchemaField,
  valuesFor,
  withBounds,
} from "./schema-fields.ts";

function fieldOf(member: Schema): SchemaField {
  const [field] = fieldsOf({ type: "object", properties: { it: member } });
  if (field === undefined) throw new Error("no field");
  return field;
}
const controlOf = (member: Schema) => fieldOf(member).control;

test("a description is the hint, a default the placeholder, and members may be left out", () => {
  const schema = {
    required: ["b"],
    properties: { a: { type: "string" }, b: { type: "integer", default: 3, description: "How many" } },
  };
  expect(fieldsOf(schema, ["a"])).toEqual([
    {
      name: "b",
      hint: "How many",
      isRequired: true,
      placeholder: "3",
      control: { kind: "number", isInteger: true, least: undefined, most: undefined },
    },
  ]);
});

test("each known shape has a control of its own", () => {
  expect(controlOf({ type: "string", enum: ["a", "b"] })).toEqual({ kind: "choice", among: ["a", "b"] });
  expect(controlOf({ type: "boolean" })).toEqual({ kind: "boolean" });
  expect(controlOf({ type: "number", minimum: 0, maximum: 2 })).toEqual({
    kind: "number",
    isInteger: false,
    least: 0,
    most: 2,
  });
  expect(controlOf({ type: "string", maxLength: 10 })).toEqual({ kind: "text", isLong: false, most: 10 });
  expect(controlOf({ type: "string", maxLength: 32_000 })).toMatchObject({ isLong: true });
  expect(controlOf({ type: "array", items: { type: "string" }, maxItems: 2 })).toEqual({
    kind: "texts",
    most: 2,
    among: undefined,
  });
});

test("a value that may be null is asked for as without null, and a boolean as one of three", () => {
  expect(controlOf({ type: ["integer", "null"] })).toMatchObject({ kind: "number", isInteger: true });
  expect(controlOf({ anyOf: [{ type: "null" }, { type: "string" }] })).toMatchObject({ kind: "text" });
  expect(controlOf({ type: ["boolean", "null"] })).toEqual({ kind: "choice", among: [true, false, null] });
});

test("a text or a list of texts is a list, and spellings of a choice are one choice", () => {
  expect(
    controlOf({ anyOf: [{ type: "string" }, { type: "array", items: { type: "string" }, maxItems: 4 }] }),
  ).toEqual({ kind: "texts", most: 4, among: undefined });
  expect(controlOf({ anyOf: [{ enum: ["1*1"], type: "string" }, { enum: ["1x1"] }] })).toEqual({
    kind: "choice",
    among: ["1*1"],
  });
});

test("an object of known shapes is a group, and any other shape is JSON", () => {
  expect(controlOf({ type: "object", properties: { effort: { type: "string" } } })).toMatchObject({
    kind: "group",
    fields: [{ name: "effort" }],
  });
  for (const unknown of [
    {},
    { type: "object" },
    { type: "array", items: { type: "object" } },
    { type: ["string", "array"] },
    { anyOf: [{ type: "string", enum: ["auto"] }, { type: "object" }] },
    { type: "object", properties: { deep: { type: "object" } } },
  ])
    expect(controlOf(unknown)).toEqual({ kind: "json" });
});

test("what is typed becomes a value of the schema's type", () => {
  const read = (member: Schema, input: string) => readField(fieldOf(member), input);
  expect(read({ enum: [1, "1x", null] }, "1")).toEqual({ value: 1 });
  expect(read({ enum: [1, "1x", null] }, "null")).toEqual({ value: null });
  expect(read({ type: "boolean" }, "false")).toEqual({ value: false });
  expect(read({ type: "number" }, " 0.5 ")).toEqual({ value: 0.5 });
  expect(read({ type: "array", items: { type: "string" } }, "a\n\nb c")).toEqual({ value: ["a", "b c"] });
  expect(read({}, '{"a":1}')).toEqual({ value: { a: 1 } });
  expect(read({ type: "number" }, "  ")).toBeUndefined();
});

test("what does not fit is told", () => {
  const fault = (member: Schema, input: string) => readField(fieldOf(member), input);
  expect(fault({ type: "integer" }, "1.5")).toEqual({ fault: "A whole number." });
  expect(fault({ type: "number", minimum: 0 }, "-1")).toEqual({ fault: "At least 0." });
  expect(fault({ type: "number", maximum: 2 }, "3")).toEqual({ fault: "At most 2." });
  expect(fault({ type: "number" }, "x")).toEqual({ fault: "Not a number." });
  expect(fault({ type: "string", maxLength: 1 }, "ab")).toEqual({ fault: "At most 1 characters." });
  expect(fault({ type: "array", items: { type: "string" }, maxItems: 1 }, "a\nb")).toEqual({
    fault: "At most 1 lines.",
  });
  expect(fault({ type: "array", items: { type: "string", enum: ["a", "b"] } }, "a\nc")).toEqual({
    fault: "Each line is one of: a, b.",
  });
  expect(fault({}, "{")).toHaveProperty("fault");
});

test("a value is shown as it was typed", () => {
  const lists = fieldOf({ type: "array", items: { type: "string" } });
  expect(inputOf(lists, ["a", "b"])).toBe("a\nb");
  expect(inputOf(fieldOf({ type: "number" }), 0)).toBe("0");
  expect(inputOf(fieldOf({ enum: [null] }), null)).toBe("null");
  expect(inputOf(fieldOf({ type: "number" }), undefined)).toBe("");
});

test("values without a field are left out", () => {
  expect(valuesFor([fieldOf({ type: "number" })], { it: 1, other: 2 })).toEqual({ it: 1 });
});

test("a number's bounds stand behind its hint, with thousands grouped and fractions whole", () => {
  expect(withBounds("Tokens", { least: 1, most: 65_536 })).toBe("Tokens · 1 to 65,536");
  expect(withBounds(undefined, { least: -1, most: 2_147_483_647 })).toBe("-1 to 2,147,483,647");
  expect(withBounds("Chance", { least: 0.05, most: undefined })).toBe("Chance · 0.05 or more");
  expect(withBounds(undefined, { least: undefined, most: 2 })).toBe("at most 2");
  expect(withBounds("Seed", { least: undefined, most: undefined })).toBe("Seed");
});
