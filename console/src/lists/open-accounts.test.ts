import { expect, test } from "bun:test";
import { chosenOf, openAmong } from "./open-accounts.ts";

test("the open accounts of all pages are offered", async () => {
  const asked: (string | undefined)[] = [];
  const accounts = (["closed", "active", "closed", "active", "closed"] as const).map((status, at) => ({
    id: `acc_${at}`,
    status,
  }));
  const open = await openAmong(async (after) => {
    asked.push(after);
    const from = Number(after ?? 0);
    return { data: accounts.slice(from, from + 2), next: from + 2 < 5 ? String(from + 2) : null };
  });
  expect(open.map(({ id }) => id)).toEqual(["acc_1", "acc_3"]);
  expect(asked).toEqual([undefined, "2", "4"]);
});

test("the first open account is chosen where the wished one is closed or none is wished", () => {
  const open = [{ id: "acc_1" }, { id: "acc_3" }];
  expect(chosenOf(open, "acc_3")).toBe("acc_3");
  expect(chosenOf(open, "acc_2")).toBe("acc_1");
  expect(chosenOf(open, undefined)).toBe("acc_1");
  expect(chosenOf([], "acc_1")).toBeUndefined();
});
