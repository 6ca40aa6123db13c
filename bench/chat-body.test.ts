import { expect, test } from "bun:test";
import { chatBody } from "./chat-body.ts";

test("the body is a chat completion of about 1 KB with an explicit maximum", () => {
  const bytes = chatBody("openai/gpt-5.6-luna", { stream: true });
  expect(Math.abs(bytes.length - 1_024)).toBeLessThan(100);
  expect(JSON.parse(Buffer.from(bytes).toString())).toMatchObject({
    model: "openai/gpt-5.6-luna",
    max_completion_tokens: 256,
    stream: true,
  });
});
