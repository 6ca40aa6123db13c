import { expect, test } from "bun:test";
import { resolveName } from "./resolve.ts";

test("a name is resolved by the machine's own table, an address is itself", async () => {
  const local = await resolveName("localhost");
  expect(local.length).toBeGreaterThan(0);
  expect(local.filter((address) => address !== "127.0.0.1" && address !== "::1")).toEqual([]);
  expect(await resolveName("192.0.2.7")).toEqual(["192.0.2.7"]);
  expect(await resolveName("::1")).toEqual(["::1"]);
});

test("a name that can be none has no address", async () => {
  expect(await resolveName("a..b").catch(() => [])).toEqual([]);
});
