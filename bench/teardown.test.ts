import { expect, test } from "bun:test";
import { onTearDown, tearDown } from "./teardown.ts";

test("what is left is undone once, the latest first", async () => {
  const undone: string[] = [];
  onTearDown(() => void undone.push("first"));
  const second = onTearDown(() => void undone.push("second"));
  onTearDown(() => void undone.push("third"));
  await second();
  await tearDown();
  await tearDown();
  expect(undone).toEqual(["second", "third", "first"]);
});
