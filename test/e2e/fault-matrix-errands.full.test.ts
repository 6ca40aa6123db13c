import type { AddressInfo, Server } from "node:net";
import { createServer, type TlsOptions } from "node:tls";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createAuthority } from "../outbound/certificates.ts";
import { CAN_BE_ALONE, type Found, run } from "./fault-errand.ts";
import {
  expectTriedInVain,
  madeBySecond,
  MEDIA_KINDS,
  type MediaOutcome,
  refusedByBoth,
} from "./fault-media.ts";
import type { Outcome } from "./fault-unsent.ts";

// Names that cannot be resolved, and servers that cannot show who they are, for each endpoint, in processes of their own.

/** Of all cases, what they came to, and how many there are. */
function expectAll(outcomes: readonly Outcome[], want: Partial<Outcome>): void {
  expect(outcomes.length).toBeGreaterThan(1);
  for (const outcome of outcomes) expect(outcome).toMatchObject({ name: outcome.name, ...want });
}

/** The second maker made all, whatever the first could not be sent; where both were there, `alone` says what became of it. */
function expectMade(
  { media }: Found,
  reason: string,
  alone: (outcome: MediaOutcome, kind: MediaOutcome["kind"]) => void,
): void {
  for (const [i, kind] of MEDIA_KINDS.entries()) {
    expect(media.first[i]).toMatchObject(madeBySecond(kind));
    expect(media.first[i]?.state.at(-1)).toBe(reason);
    alone(media.both[i] as MediaOutcome, kind);
  }
}

const SERVED = { status: 200, said: "answer", calls: ["b1"], spent: 0.2, attempts: 2 } as const;
const COUNTED = { status: 200, said: "estimate", spent: 0, state: ["healthy", 0, null] } as const;

describe("U5 a server that cannot show who it is is sent nothing, by TLS or without", () => {
  const authority = createAuthority();
  const good = authority.issue(["127.0.0.1"]);
  const SERVERS: Readonly<Record<string, TlsOptions>> = {
    good,
    expired: authority.issue(["127.0.0.1"], "until 2021"),
    wronghost: authority.issue(["provider.example"]),
    selfsigned: createAuthority().issue(["127.0.0.1"]),
    oldtls: { ...good, minVersion: "TLSv1", maxVersion: "TLSv1" },
  };
  const servers: Server[] = [];
  /** What each was sent within TLS. */
  const read = new Map<string, number>();
  let found: Readonly<Record<string, Found>>;

  beforeAll(async () => {
    const places: Record<string, string> = {};
    for (const [name, options] of Object.entries(SERVERS)) {
      const server = createServer(options, (socket) => {
        socket.on("error", () => {});
        socket.on("data", (bytes) => {
          read.set(name, (read.get(name) ?? 0) + bytes.length);
          socket.end("HTTP/1.1 400 No\r\ncontent-length: 2\r\ncontent-type: application/json\r\n\r\n{}");
        });
      });
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
      servers.push(server);
      places[name] = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
    }
    found = await run({ places, letsWait: false, authority: authority.cert });
  });
  afterAll(() => {
    for (const server of servers) server.close();
  });

  test("but one that can is", () => {
    expectAll((found.good as Found).first, { status: 400, said: "invalid_request_error", calls: [] });
    expect(read.get("good")).toBeGreaterThan(0);
  });

  for (const name of Object.keys(SERVERS).filter((name) => name !== "good"))
    test(name, () => {
      const place = found[name] as Found;
      const { first, both, counts } = place;
      const state = ["healthy", 1, "untrusted"];
      expectAll(first, { ...SERVED, state, hasAlarm: true });
      const refused = { status: 502, said: "upstream_error", calls: [], spent: 0, attempts: 2 };
      expectAll(both, { ...refused, state, hasAlarm: true });
      for (const { message } of both) expect(message).not.toMatch(/insecure|verif|certificate|TLS|SSL/i);
      expectAll(counts, COUNTED);
      expectMade(place, "untrusted", (outcome, kind) => expect(outcome).toMatchObject(refusedByBoth(kind)));
      for (const { hasAlarm } of place.media.first) expect(hasAlarm).toBe(true);
      expect(read.get(name)).toBeUndefined();
    });
});

describe.skipIf(!CAN_BE_ALONE)("a name that cannot be resolved is a provider that got nothing", () => {
  const places = { dns: "http://provider.example" };

  for (const names of ["NXDOMAIN", "SERVFAIL"] as const)
    test(`U1 ${names}: another provider serves, else 502`, async () => {
      const place = (await run({ places, letsWait: false, names })).dns as Found;
      const state = ["healthy", 1, "not_sent"];
      expectAll(place.first, { ...SERVED, state });
      const refused = { status: 502, said: "upstream_error", calls: [], spent: 0, attempts: 3 };
      expectAll(place.both, { ...refused, state });
      expectAll(place.counts, COUNTED);
      expectMade(place, "not_sent", expectTriedInVain);
    });

  test("U2 no answer about the name: another provider serves after 5 s, else 504 after 5 s for each", async () => {
    const place = (await run({ places, letsWait: true, names: "nothing" })).dns as Found;
    const state = ["healthy", 1, "send_timed_out"];
    expectAll(place.first, { ...SERVED, state });
    const refused = { status: 504, said: "timeout_error", calls: [], spent: 0, attempts: 2 };
    expectAll(place.both, { ...refused, state });
    expectAll(place.counts, COUNTED);
    expectMade(place, "send_timed_out", expectTriedInVain);
    for (const { firstMs } of place.media.first) expect(firstMs).toBeGreaterThanOrEqual(5_000);
  });
});
