import { expect, test } from "bun:test";
import { duplicateKey } from "./json-keys.ts";

const cases: { text: string; want: string | undefined }[] = [
  { text: "{}", want: undefined },
  { text: '{"a":1,"b":{"a":1},"c":[{"a":1},{"a":2}]}', want: undefined },
  { text: '{"a":1,"a":2}', want: "a" },
  { text: '{"a":1,"\\u0061":2}', want: "a" },
  { text: '{"x":{"y":[{"z":1,"z" : 2}]}}', want: "x.y.z" },
  { text: '{"a":"a","b":"a"}', want: undefined },
  { text: '{"a":["a","a","a:"],"b":"\\"a\\":1"}', want: undefined },
  { text: '{"a":{"b":1},"c":{"b":1},"a":3}', want: "a" },
  { text: '{"a":"}{","a":"["}', want: "a" },
  { text: '{"":1,"":2}', want: "" },
  { text: '{"\\\\":1,"a\\"":2,"\\\\":3}', want: "\\" },
];
for (const { text, want } of cases) {
  test(`the doubled key of ${text} is ${want}`, () => {
    expect(duplicateKey(text)).toBe(want);
  });
}
