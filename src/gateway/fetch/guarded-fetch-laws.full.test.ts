import { expect, test } from "bun:test";
import fc from "fast-check";
import { createFakeClock } from "../../../test/gateway/fake-clock.ts";
import { runsOf } from "../../../test/runs.ts";
import { isPublicAddress } from "../../core/net/public-address.ts";
import type { PinnedRequest } from "../../runtime/pinned-fetch.ts";
import { createGuardedFetch } from "./guarded-fetch.ts";
import { wholeFile } from "./whole-file.ts";

const RUNS = runsOf(4_000, 200_000);

const quiet = { info() {}, warn() {}, error() {} };
const ALLOWED = ["minio.internal", "10.0.0.9:9000", "[fd00::9]"];
/** What an exception's name resolves to, and the exceptions that are addresses. */
const EXCEPTED = new Set(["10.0.0.8", "10.0.0.9", "fd00::9"]);

const octet = fc.oneof(fc.nat(255), fc.constantFrom(0, 10, 100, 127, 168, 169, 172, 192, 198, 224, 254, 255));
const v4 = fc.tuple(octet, octet, octet, octet).map((parts) => parts.join("."));
const group = fc.oneof(
  fc.nat(0xffff),
  fc.constantFrom(0, 0, 0, 1, 0x2001, 0x2002, 0x64, 0xff9b, 0xffff, 0xfe80, 0xfd00),
);
const v6 = fc.oneof(
  fc.ipV6(),
  fc
    .array(group, { minLength: 8, maxLength: 8 })
    .map((groups) => groups.map((part) => part.toString(16)).join(":")),
  fc.constantFrom("::1", "::", "fd00::9", "2606:4700::1", "::ffff:10.0.0.1", "64:ff9b::a00:1"),
);
const name = fc.oneof(
  fc.domain(),
  fc.constantFrom(
    "a.example",
    "b.example",
    "private.example",
    "mixed.example",
    "minio.internal",
    "db.internal",
    "localhost",
    "localhost.",
  ),
);
const numberless = fc.oneof(
  fc.constantFrom("2130706433", "0x7f.1", "0177.1", "127.1", "１２７.0.0.1", "127。0.0.1", "0"),
  fc.nat().map(String),
);
const host = fc.oneof(
  name,
  v4,
  v6.map((text) => `[${text}]`),
  numberless,
  fc.string({ unit: "binary", maxLength: 8 }),
);
const piece = fc.oneof(
  fc.constantFrom("", "", "/", "?", "#", "@", "\\", ":", "//", "%2e", "\t", "\n", " ", "user:pw@", "\u0000"),
  fc.string({ maxLength: 4 }),
);
const scheme = fc.constantFrom(
  "https://",
  "https://",
  "https://",
  "http://",
  "https:",
  "https:/",
  "https:///",
  "//",
  "",
  "file://",
  "HTTPS://",
  "\thttps://",
);
const port = fc.constantFrom("", "", "", "", ":443", ":80", ":22", ":9000", ":", ":0443");
const url = fc.oneof(
  fc.tuple(scheme, piece, host, port, piece, fc.webPath(), piece).map((parts) => parts.join("")),
  fc.webUrl({ withQueryParameters: true, withFragments: true }),
  fc
    .tuple(fc.constantFrom("https://", "http://"), host, port, fc.constantFrom("", "/", "/a?b"))
    .map((parts) => parts.join("")),
);
/** What a name server says, each time it is asked, whatever the name. */
const answers = fc.array(
  fc.array(fc.oneof(v4, v6, fc.constantFrom("93.184.215.14", "127.0.0.1")), { maxLength: 3 }),
  { maxLength: 4 },
);

test("whatever a URL, its redirects and the name servers say, only addresses that are public or excepted are connected to", async () => {
  let reached = 0;
  let excepted = 0;
  await fc.assert(
    fc.asyncProperty(
      url,
      fc.array(url, { maxLength: 5 }),
      answers,
      fc.boolean(),
      async (first, next, said, plainHttp) => {
        const connected: PinnedRequest[] = [];
        const checked: string[] = [];
        const script = said.values();
        const redirects = next.values();
        const fetch = createGuardedFetch({
          allowedHosts: () => ALLOWED,
          plainHttp: () => plainHttp,
          clock: createFakeClock(),
          log: quiet,
          async resolve(hostname) {
            const addresses =
              hostname === "minio.internal" ? ["10.0.0.8"] : (script.next().value ?? ["93.184.215.14"]);
            checked.push(...addresses);
            return addresses;
          },
          async connect(request) {
            connected.push(request);
            const location = redirects.next().value;
            if (location === undefined) return new Response("end");
            // What no header can hold reaches nobody.
            const headers = /^[\u0020-\u007e]*$/.test(location) ? { location } : {};
            return new Response(null, { status: 302, headers });
          },
        });
        const options = { maxBytes: 10, timeoutMs: 1000, signal: new AbortController().signal };
        await fetch(first, options, wholeFile).catch(() => {});
        expect(connected.length).toBeLessThanOrEqual(4);
        for (const { url, address } of connected) {
          const isExcepted =
            EXCEPTED.has(address) && ["minio.internal", "10.0.0.9", "[fd00::9]"].includes(url.hostname);
          expect([url.href, address, isExcepted || isPublicAddress(address)]).toEqual([
            url.href,
            address,
            true,
          ]);
          // An address comes from where it was checked: the answer of the resolver, or the URL itself.
          expect(checked.includes(address) || url.hostname.replace(/^\[|\]$/g, "") === address).toBe(true);
          if (!isExcepted) expect([url.port, plainHttp || url.protocol === "https:"]).toEqual(["", true]);
          expect(url.username + url.password).toBe("");
          reached += isExcepted ? 0 : 1;
          excepted += isExcepted ? 1 : 0;
        }
      },
    ),
    RUNS,
  );
  // The law says something only where connections were made at all.
  expect(reached).toBeGreaterThan(RUNS.numRuns / 20);
  expect(excepted).toBeGreaterThan(RUNS.numRuns / 200);
});
