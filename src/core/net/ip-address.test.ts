import { describe, expect, test } from "bun:test";
import { isAddress, isIn, readAddress, readRange } from "./ip-address.ts";

const isWithin = (address: string, range: string): boolean =>
  isIn(readAddress(address) ?? [], readRange(range) ?? { groups: [], bits: 0 });

describe("an address of IPv6", () => {
  for (const [text, groups] of [
    ["1:2:3:4:5:6:7:8", [1, 2, 3, 4, 5, 6, 7, 8]],
    ["1:2:3:4:5:6:7::", [1, 2, 3, 4, 5, 6, 7, 0]],
    ["::2:3:4:5:6:7:8", [0, 2, 3, 4, 5, 6, 7, 8]],
    ["fe80::1", [0xfe80, 0, 0, 0, 0, 0, 0, 1]],
    ["::", [0, 0, 0, 0, 0, 0, 0, 0]],
    ["64:ff9b::192.0.2.33", [0x64, 0xff9b, 0, 0, 0, 0, 0xc000, 0x221]],
    ["1:2:3:4:5:6:1.2.3.4", [1, 2, 3, 4, 5, 6, 0x102, 0x304]],
    ["1:2:3:4:5:6:7:8::", undefined],
    ["1:2:3:4:5:6:7:1.2.3.4", undefined],
    ["1:2:3:4:5:6:7", undefined],
    ["1:2:3:4::5:6:7", [1, 2, 3, 4, 0, 5, 6, 7]],
    ["1:2:3:4::5:6:7:8", undefined],
    ["1::2::3", undefined],
    ["1.2.3.4::", undefined],
    ["1.2.3.4::1", undefined],
    ["::1.2.3", undefined],
    ["::1.2.3.4", [0, 0, 0, 0, 0, 0, 0x102, 0x304]],
    ["g::1", undefined],
    ["1::g", undefined],
    ["12345::", undefined],
    ["::g:1.2.3.4", undefined],
  ] as const)
    test(`${text} is ${groups === undefined ? "none" : "read"}`, () =>
      expect(readAddress(text)).toEqual(groups as number[] | undefined));
});

test("an address of IPv4 is four plain decimal numbers of a byte", () => {
  expect(readAddress("0.10.200.255")).toEqual([0, 10, 200, 255]);
  for (const text of ["", "1.2.3", "1.2.3.4.5", "1.2.3.256", "1.2.3.04", "1.2.3.x", "1.2.3.", "1.2.3.1000"])
    expect([text, readAddress(text)]).toEqual([text, undefined]);
});

test("a text is an address or none", () => {
  expect(["1.2.3.4", "::1", "1.2.3", "[::1]"].map(isAddress)).toEqual([true, true, false, false]);
});

describe("a range", () => {
  test("has as many bits as its address, or fewer; all of them where none are said", () => {
    expect(readRange("10.1.2.3")).toEqual({ groups: [10, 1, 2, 3], bits: 32 });
    expect(readRange("::1")?.bits).toBe(128);
    for (const [text, bits] of [
      ["10.0.0.0/0", 0],
      ["10.0.0.0/31", 31],
      ["10.0.0.0/32", 32],
      ["10.0.0.0/33", undefined],
      ["::/0", 0],
      ["::1/127", 127],
      ["::1/128", 128],
      ["::1/129", undefined],
      ["10.0.0.0/", undefined],
      ["10.0.0.0/8/8", undefined],
      ["/8", undefined],
    ] as const)
      expect([text, readRange(text)?.bits]).toEqual([text, bits]);
  });

  for (const [range, first, last, before, after] of [
    ["10.0.0.0/8", "10.0.0.0", "10.255.255.255", "9.255.255.255", "11.0.0.0"],
    ["10.1.16.0/20", "10.1.16.0", "10.1.31.255", "10.1.15.255", "10.1.32.0"],
    ["10.1.2.2/31", "10.1.2.2", "10.1.2.3", "10.1.2.1", "10.1.2.4"],
    ["10.1.2.3", "10.1.2.3", "10.1.2.3", "10.1.2.2", "10.1.2.4"],
    ["fd00::/8", "fd00::", "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "fcff::", "fe00::"],
    ["2001:db8::2/127", "2001:db8::2", "2001:db8::3", "2001:db8::1", "2001:db8::4"],
  ] as const)
    test(`${range} goes from ${first} to ${last}`, () => {
      expect([first, last, before, after].map((address) => isWithin(address, range))).toEqual([
        true,
        true,
        false,
        false,
      ]);
    });

  test("of all addresses has none of the other kind", () => {
    expect(isWithin("1.2.3.4", "0.0.0.0/0")).toBe(true);
    expect([isWithin("::1", "0.0.0.0/0"), isWithin("1.2.3.4", "::/0")]).toEqual([false, false]);
  });
});
