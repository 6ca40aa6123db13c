import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { isAddress } from "./ip-address.ts";
import { isPublicAddress, isPublicName } from "./public-address.ts";

/** Each range with its first address, one within, its last; and the addresses around it, where they are public. */
const RANGES: readonly {
  readonly range: string;
  readonly in: readonly string[];
  readonly out: readonly string[];
}[] = [
  { range: "0/8", in: ["0.0.0.0", "0.1.2.3", "0.255.255.255"], out: ["1.0.0.0"] },
  { range: "10/8", in: ["10.0.0.0", "10.9.8.7", "10.255.255.255"], out: ["9.255.255.255", "11.0.0.0"] },
  {
    range: "100.64/10",
    in: ["100.64.0.0", "100.100.100.200", "100.127.255.255"],
    out: ["100.63.255.255", "100.128.0.0"],
  },
  {
    range: "127/8",
    in: ["127.0.0.0", "127.0.0.1", "127.255.255.255"],
    out: ["126.255.255.255", "128.0.0.0"],
  },
  { range: "168.63.129.16", in: ["168.63.129.16"], out: ["168.63.129.15", "168.63.129.17"] },
  {
    range: "169.254/16",
    in: ["169.254.0.0", "169.254.169.254", "169.254.170.2", "169.254.255.255"],
    out: ["169.253.255.255", "169.255.0.0"],
  },
  {
    range: "172.16/12",
    in: ["172.16.0.0", "172.20.1.1", "172.31.255.255"],
    out: ["172.15.255.255", "172.32.0.0"],
  },
  {
    range: "192.0.0/24",
    in: ["192.0.0.0", "192.0.0.192", "192.0.0.255"],
    out: ["191.255.255.255", "192.0.1.0"],
  },
  { range: "192.0.2/24", in: ["192.0.2.0", "192.0.2.255"], out: ["192.0.1.255", "192.0.3.0"] },
  { range: "192.31.196/24", in: ["192.31.196.0", "192.31.196.255"], out: ["192.31.195.255", "192.31.197.0"] },
  { range: "192.52.193/24", in: ["192.52.193.0", "192.52.193.255"], out: ["192.52.192.255", "192.52.194.0"] },
  { range: "192.88.99/24", in: ["192.88.99.0", "192.88.99.255"], out: ["192.88.98.255", "192.88.100.0"] },
  {
    range: "192.168/16",
    in: ["192.168.0.0", "192.168.1.1", "192.168.255.255"],
    out: ["192.167.255.255", "192.169.0.0"],
  },
  { range: "192.175.48/24", in: ["192.175.48.0", "192.175.48.255"], out: ["192.175.47.255", "192.175.49.0"] },
  { range: "198.18/15", in: ["198.18.0.0", "198.19.255.255"], out: ["198.17.255.255", "198.20.0.0"] },
  { range: "198.51.100/24", in: ["198.51.100.0", "198.51.100.255"], out: ["198.51.99.255", "198.51.101.0"] },
  { range: "203.0.113/24", in: ["203.0.113.0", "203.0.113.255"], out: ["203.0.112.255", "203.0.114.0"] },
  { range: "224/4", in: ["224.0.0.0", "224.0.0.251", "239.255.255.255"], out: ["223.255.255.255"] },
  { range: "240/4 and broadcast", in: ["240.0.0.0", "254.1.1.1", "255.255.255.255"], out: [] },
  { range: "::", in: ["::", "0:0:0:0:0:0:0:0"], out: [] },
  { range: "::1", in: ["::1", "0:0:0:0:0:0:0:1"], out: [] },
  { range: "v4-compatible", in: ["::127.0.0.1", "::8.8.8.8", "::808:808"], out: [] },
  {
    range: "::ffff:0:0/96",
    in: ["::ffff:127.0.0.1", "::ffff:7f00:1", "::ffff:8.8.8.8", "::FFFF:0808:0808"],
    out: [],
  },
  { range: "64:ff9b::/96", in: ["64:ff9b::7f00:1", "64:ff9b::127.0.0.1", "64:ff9b::808:808"], out: [] },
  { range: "64:ff9b:1::/48", in: ["64:ff9b:1::", "64:ff9b:1:ffff::a00:1"], out: [] },
  { range: "100::/64, discard", in: ["100::", "100::1", "100:0:0:1::"], out: [] },
  {
    range: "2001::/23, Teredo and others",
    in: [
      "2001::",
      "2001::1",
      "2001:0:4136:e378::",
      "2001:2::1",
      "2001:10::1",
      "2001:20::1",
      "2001:1ff:ffff::",
    ],
    out: ["2001:200::", "2001:4860:4860::8888"],
  },
  {
    range: "2001:db8::/32",
    in: ["2001:db8::", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff"],
    out: ["2001:db7:ffff::", "2001:db9::"],
  },
  {
    range: "2002::/16, 6to4",
    in: ["2002::", "2002:7f00:1::", "2002:808:808::1", "2002:ffff::"],
    out: ["2003::", "2001:ffff::"],
  },
  {
    range: "2620:4f:8000::/48",
    in: ["2620:4f:8000::", "2620:4f:8000:ffff::"],
    out: ["2620:4f:7fff::", "2620:4f:8001::"],
  },
  { range: "3ffe::/16", in: ["3ffe::", "3ffe:ffff::"], out: ["3ffd:ffff::"] },
  { range: "3fff::/20", in: ["3fff::", "3fff:fff:ffff::"], out: ["3fff:1000::"] },
  {
    range: "beyond 2000::/3",
    in: ["4000::", "5f00::1", "8000::1", "1fff:ffff::"],
    out: ["2000::", "2a00:1450:4001::1"],
  },
  { range: "fc00::/7", in: ["fc00::", "fd00:ec2::254", "fd20:ce::254", "fdff:ffff::"], out: [] },
  { range: "fe80::/10", in: ["fe80::", "fe80::1", "febf:ffff::"], out: [] },
  { range: "fec0::/10", in: ["fec0::1", "feff::1"], out: [] },
  { range: "ff00::/8", in: ["ff00::", "ff02::1", "ff0e::1", "ffff::"], out: [] },
];

describe("an address of this range is not public, its neighbours are", () => {
  for (const { range, in: inside, out } of RANGES) {
    test(range, () => {
      expect(inside.filter(isPublicAddress)).toEqual([]);
      expect(inside.filter((text) => !isAddress(text))).toEqual([]);
      expect(out.filter((text) => !isPublicAddress(text))).toEqual([]);
    });
  }
});

test("what is no address in its plain form is none, and not public", () => {
  const odd = [
    "",
    ".",
    ":",
    ":::",
    "1",
    "127.1",
    "1.2.3",
    "1.2.3.4.5",
    "1.2.3.256",
    "1.2.3.-4",
    "1.2.3.",
    ".1.2.3",
    "01.2.3.4",
    "1.2.3.04",
    "0x7f.0.0.1",
    "0177.0.0.1",
    "2130706433",
    "0x7f000001",
    "127。0。0。1",
    "１２７.0.0.1",
    "1.2.3.4 ",
    " 1.2.3.4",
    "1.2.3.4\n",
    "1.2.3.4%25",
    "1:2:3:4:5:6:7",
    "1:2:3:4:5:6:7:8:9",
    "1::2::3",
    "1:2:3:4:5:6:7::8",
    "::1:2:3:4:5:6:7:8",
    "g::1",
    "12345::1",
    "fe80::1%eth0",
    "[::1]",
    "::ffff:1.2.3",
    "::ffff:1.2.3.4.5",
    "1.2.3.4::",
    "::1.2.3.4:5",
    "2606:4700:::1",
    "example.com",
    "localhost",
  ];
  expect(odd.filter(isAddress)).toEqual([]);
  expect(odd.filter(isPublicAddress)).toEqual([]);
});

test("an address is judged the same in every way to write it", () => {
  const word = fc.oneof(
    fc.integer({ min: 0, max: 0xffff }),
    fc.constantFrom(0, 0x2001, 0x2002, 0xfc00, 0xfe80, 0x64),
  );
  fc.assert(
    fc.property(fc.array(word, { minLength: 8, maxLength: 8 }), (words) => {
      const long = words.map((group) => group.toString(16).padStart(4, "0").toUpperCase()).join(":");
      // The URL's own reader writes it short.
      const short = new URL(`http://[${long}]/`).hostname.slice(1, -1);
      const [high = 0, low = 0] = words.slice(6);
      const dotted = `${words
        .slice(0, 6)
        .map((group) => group.toString(16))
        .join(":")}:${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`;
      expect(new Set([long, short, dotted].map(isAddress))).toEqual(new Set([true]));
      expect(new Set([long, short, dotted].map(isPublicAddress)).size).toBe(1);
    }),
  );
});

test("four numbers are an address exactly where a URL has them for one", () => {
  fc.assert(
    fc.property(fc.tuple(fc.nat(300), fc.nat(300), fc.nat(300), fc.nat(300)), (numbers) => {
      const text = numbers.join(".");
      const read = URL.canParse(`http://${text}/`) ? new URL(`http://${text}/`).hostname : undefined;
      expect(isAddress(text)).toBe(read === text);
    }),
  );
});

describe("a name", () => {
  const house = [
    "localhost",
    "localhost.",
    "a.localhost",
    "a.b.localhost.",
    "printer.local",
    "local.",
    "metadata.google.internal",
    "db.internal",
    "ip-10-0-0-1.ec2.internal",
    "x.home.arpa",
    "home.arpa",
    "router.lan",
    "nas.home",
    "ad.corp",
    "x.localdomain",
    "a.intranet",
    "a.private",
    "kubernetes.default.svc.cluster.local",
    "postgres",
    "redis.",
    "a",
    "",
    ".",
    "..",
    "a..b",
    "a.b..",
    ".a.b",
    "-",
    "a b.c",
    "a.b/c",
    "127.0.0.1",
    "1.2.3.4",
    "1.2.3.4.",
    "[::1]",
    "a:b.c",
    "é.example",
    `${"a".repeat(64)}.example`,
    `${"a.".repeat(130)}example`,
    `${"a.".repeat(125)}aaaa`,
  ];
  for (const name of house)
    test(`${JSON.stringify(name)} is not of the Internet`, () => expect(isPublicName(name)).toBe(false));

  const world = [
    "example.com",
    "example.com.",
    "a.example.",
    `${"a.".repeat(125)}aaa`,
    "a.b.c.example.org",
    "xn--bcher-kva.example",
    "local.example.com",
    "internal.example",
    "localhost.example",
    "notlocalhost.com",
    "mylocal.net",
    "thelan.org",
    "1and1.com",
    "3.example",
    "a_b.example.com",
    "-a.example.com",
    "home.arpa.example",
  ];
  for (const name of world)
    test(`${JSON.stringify(name)} can be`, () => expect(isPublicName(name)).toBe(true));
});
