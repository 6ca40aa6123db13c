import { expect, test } from "bun:test";
import { FORMATS, formatsNamed } from "./formats.ts";

for (const { name, request } of Object.values(FORMATS)) {
  for (const stream of [false, true]) {
    test(`${name}, ${stream ? "streamed" : "plain"}: a body of about 1 KB that says how much may come`, () => {
      const { clientBody, upstreamBody } = request(stream);
      for (const body of [clientBody, upstreamBody]) {
        expect(Math.abs(body.length - 1_060)).toBeLessThan(120);
        expect(Buffer.from(body).toString()).toContain("256");
      }
    });
  }
}

test("formats are all for no name, those of the names otherwise, and an error for any other", () => {
  expect(formatsNamed([]).map(({ name }) => name)).toEqual(["chat", "messages", "generate"]);
  expect(formatsNamed(["messages"])).toEqual([FORMATS.messages]);
  expect(() => formatsNamed(["gemini"])).toThrow("chat, messages, generate");
});
