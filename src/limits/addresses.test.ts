import { describe, expect, test } from "bun:test";
import { createAddressLimiter, readProxies } from "./addresses.ts";

const NOBODY = readProxies("192.0.2.255");

describe("requests of one address", () => {
  test("are admitted up to the limit, and again when one of them has ended", () => {
    const limiter = createAddressLimiter(2, NOBODY);
    const admit = (address: string) => limiter.admit(address, null);
    const first = admit("198.51.100.1");
    expect(first).toBeFunction();
    expect(admit("198.51.100.1")).toBeFunction();
    expect(admit("198.51.100.1")).toBeUndefined();
    expect(admit("198.51.100.2")).toBeFunction();
    first?.();
    expect(admit("198.51.100.1")).toBeFunction();
    expect(admit("198.51.100.1")).toBeUndefined();
  });

  test("leave nothing behind once the last of an address has ended", () => {
    const limiter = createAddressLimiter(2, NOBODY);
    const ends = ["::1", "::1", "192.0.2.1"].map((address) => limiter.admit(address, null));
    const sizes = ends.map((end) => {
      end?.();
      return limiter.size;
    });
    expect(sizes).toEqual([2, 1, 0]);
  });

  test("end once, however often that is said", () => {
    const limiter = createAddressLimiter(2, NOBODY);
    const ends = [limiter.admit("::1", null), limiter.admit("::1", null)];
    ends[0]?.();
    ends[0]?.();
    expect(limiter.admit("::1", null)).toBeFunction();
    expect(limiter.admit("::1", null)).toBeUndefined();
  });
});

test("an IPv4 address and a network of IPv6 with the same numbers are two clients", () => {
  const limiter = createAddressLimiter(1, NOBODY);
  expect(limiter.admit("1.2.3.4", null)).toBeFunction();
  expect(limiter.admit("1:2:3:4::", null)).toBeFunction();
  expect(limiter.size).toBe(2);
});

test("connections whose address is not known are one client's", () => {
  const limiter = createAddressLimiter(1, NOBODY);
  expect(limiter.admit("", null)).toBeFunction();
  expect(limiter.admit("", null)).toBeUndefined();
});

/** Whether both are counted as one client's. */
function isSame(proxies: string, ...[one, other]: readonly (readonly [string, string | null])[]): boolean {
  const limiter = createAddressLimiter(1, readProxies(proxies));
  limiter.admit(one?.[0] ?? "", one?.[1] ?? null);
  return limiter.admit(other?.[0] ?? "", other?.[1] ?? null) === undefined;
}

describe("whose a request is", () => {
  const PROXIES = "10.0.0.0/8, fd00::/8,::1";
  const CLIENT = "198.51.100.1";

  for (const [what, connected, forwardedFor] of [
    ["the last that no proxy has", "10.1.2.3", CLIENT],
    ["whatever the client wrote before it", "10.1.2.3", `203.0.113.9, x,${CLIENT}`],
    ["over several proxies", "::1", `${CLIENT}, fd12::1,10.9.9.9`],
    ["with a port", "10.1.2.3", `${CLIENT}:4711`],
    ["on a socket of IPv6", "::ffff:10.1.2.3", `::ffff:${CLIENT}`],
  ] as const)
    test(`behind trusted proxies: ${what}`, () => {
      expect(isSame(PROXIES, [CLIENT, null], [connected, forwardedFor])).toBe(true);
      expect(isSame(PROXIES, ["198.51.100.2", null], [connected, forwardedFor])).toBe(false);
    });

  test("behind trusted proxies alone: the first of them", () => {
    expect(isSame(PROXIES, ["10.9.9.9", null], ["10.1.2.3", "10.9.9.9, fd12::1"])).toBe(true);
    expect(isSame(PROXIES, ["10.1.2.3", null], ["10.1.2.3", "10.9.9.9, fd12::1"])).toBe(false);
  });

  test("another's, where any number of an IPv4 address differs", () => {
    for (const other of ["1.1.1.2", "1.1.2.1", "1.2.1.1", "2.1.1.1"])
      expect(isSame(PROXIES, ["1.1.1.1", null], [other, null])).toBe(false);
  });

  test("another's, where any of the first 64 bits of IPv6 differ", () => {
    for (const other of ["1:1:1:2::", "1:1:2:1::", "1:2:1:1::", "2:1:1:1::"])
      expect(isSame(PROXIES, ["1:1:1:1::", null], [other, null])).toBe(false);
  });

  test("of IPv6 by its first 64 bits, in brackets or not", () => {
    expect(isSame(PROXIES, ["2001:db8::1", null], ["::1", "[2001:DB8:0::1]:443"])).toBe(true);
    expect(isSame(PROXIES, ["2001:db8::1", null], ["2001:db8::ffff:0:0:2", null])).toBe(true);
    expect(isSame(PROXIES, ["2001:db8::1", null], ["2001:db8:0:1::1", null])).toBe(false);
  });

  test("the header of anybody else is not looked at", () => {
    expect(isSame(PROXIES, [CLIENT, null], [CLIENT, "203.0.113.9"])).toBe(true);
    expect(isSame(PROXIES, ["203.0.113.9", null], [CLIENT, "203.0.113.9"])).toBe(false);
  });

  for (const forwardedFor of [null, "", "unknown", `${CLIENT}, unknown`, "10.4.4.4.4"])
    test(`the proxy's own, with ${JSON.stringify(forwardedFor)}`, () =>
      expect(isSame(PROXIES, ["10.1.2.3", null], ["10.1.2.3", forwardedFor])).toBe(true));
});

for (const text of [
  "",
  "x",
  "10.0.0.0/33",
  "::1/129",
  "10.0.0.0/",
  "10.0.0/8",
  "10.0.0.1,,10.0.0.2",
  "proxy.local",
])
  test(`${JSON.stringify(text)} is no list of proxies`, () => expect(() => readProxies(text)).toThrow());
