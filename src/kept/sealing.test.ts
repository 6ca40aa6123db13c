import { expect, test } from "bun:test";
import { createCipher } from "../runtime/cipher.ts";
import { createSealing } from "./sealing.ts";

test("a text is opened as what it was sealed as, and as nothing else", async () => {
  const { seal, open } = createSealing(createCipher("0".repeat(64)));
  const bytes = await seal("acc_1", "resp_1", "input", "[ünï]\n");
  const sealed = Buffer.from(bytes).toString("latin1");
  expect(await open("acc_1", "resp_1", "input", sealed)).toBe("[ünï]\n");
  for (const [account, id, part] of [
    ["acc_2", "resp_1", "input"],
    ["acc_1", "resp_2", "input"],
    ["acc_1", "resp_1", "output"],
  ] as const)
    expect(await open(account, id, part, sealed).catch((error: Error) => error.message)).toContain(
      "another one's",
    );
});
