import { afterAll, describe, expect, test } from "bun:test";
import { type AddressInfo, createServer } from "node:net";
import { type Certificate, createAuthority } from "../../test/outbound/certificates.ts";
import { createPinnedFetch } from "./pinned-fetch.ts";

const authority = createAuthority();
const certificates: Readonly<Record<string, Certificate>> = {
  "a.example": authority.issue(["a.example"]),
  "b.example": authority.issue(["b.example", "*.wild.example"]),
  "old.example": authority.issue(["old.example"], "until 2021"),
  "foreign.example": createAuthority().issue(["foreign.example"]),
  address: authority.issue(["127.0.0.1"]),
};

/** A request as its server was given it. A certificate but that of the address is shown to who names it in TLS only. */
interface Seen {
  readonly host: string | null;
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
}

const seen: Seen[] = [];
const servers: { readonly port: number | undefined; stop(): unknown }[] = [];

function listen(hostname: string, isSecure: boolean): number {
  const { address, ...named } = certificates;
  const shown = Object.entries(named).map(([serverName, certificate]) => ({
    serverName,
    cert: certificate.cert,
    key: certificate.key,
  }));
  const server = Bun.serve({
    hostname,
    port: 0,
    ...(isSecure
      ? { tls: [address!, ...shown, { ...named["b.example"]!, serverName: "*.wild.example" }] }
      : {}),
    fetch(request) {
      const { pathname, search } = new URL(request.url);
      const headers = Object.fromEntries(request.headers);
      seen.push({ host: request.headers.get("host"), target: pathname + search, headers });
      return pathname === "/moved"
        ? new Response(null, { status: 302, headers: { location: "https://b.example/next" } })
        : new Response("not gzip at all", { headers: { "content-encoding": "gzip" } });
    },
  });
  servers.push(server);
  return server.port ?? 0;
}

const secure = listen("127.0.0.1", true);
const plain = listen("127.0.0.1", false);
const secure6 = ((): number => {
  try {
    return listen("::1", true);
  } catch {
    console.log("the pinned fetch over IPv6 is not tried: this machine has no ::1");
    return 0;
  }
})();
afterAll(() => servers.forEach((server) => void server.stop()));

const connect = createPinnedFetch({ authorities: authority.cert });

function ask(url: string, address = "127.0.0.1", send = connect): Promise<Response> {
  seen.length = 0;
  return send({
    url: new URL(url),
    address,
    headers: new Headers({ "accept-encoding": "identity", "x-own": "1", Host: "other.example" }),
    signal: AbortSignal.timeout(20_000),
  });
}

async function codeOf(answer: Promise<Response>): Promise<unknown> {
  return await answer.then(
    ({ status }) => status,
    (error: { code?: string }) => error.code,
  );
}

describe("a pinned fetch", () => {
  test("connects to the address, and tells TLS and the server the name", async () => {
    const answer = await ask(`https://a.example:${secure}/path?query=1#fragment`);
    expect(answer.status).toBe(200);
    expect(seen).toMatchObject([
      {
        host: `a.example:${secure}`,
        target: "/path?query=1",
        headers: { "x-own": "1", "accept-encoding": "identity" },
      },
    ]);
  });

  test.if(secure6 !== 0)("does so over IPv6", async () => {
    expect(await codeOf(ask(`https://a.example:${secure6}/`, "::1"))).toBe(200);
  });

  test("does so by http", async () => {
    expect(await codeOf(ask(`http://a.example:${plain}/x`))).toBe(200);
    expect(seen).toMatchObject([{ host: `a.example:${plain}`, target: "/x" }]);
  });

  test("leaves the dot at the end of a name out of TLS", async () => {
    expect(await codeOf(ask(`https://a.example.:${secure}/`))).toBe(200);
  });

  test("takes a certificate with a wildcard", async () => {
    expect(await codeOf(ask(`https://x.wild.example:${secure}/`))).toBe(200);
  });

  test("verifies an address against the certificate, where an address was asked for", async () => {
    expect(await codeOf(ask(`https://127.0.0.1:${secure}/`))).toBe(200);
  });

  const refused = [
    { name: "is another's", host: "c.example", code: "ERR_TLS_CERT_ALTNAME_INVALID" },
    { name: "has run out", host: "old.example", code: "CERT_HAS_EXPIRED" },
    {
      name: "is of an authority that only has the name of a known one",
      host: "foreign.example",
      code: "CERT_SIGNATURE_FAILURE",
    },
  ];
  for (const { name, host, code } of refused) {
    test(`sends nothing to a server whose certificate ${name}`, async () => {
      expect(await codeOf(ask(`https://${host}:${secure}/`))).toBe(code);
      expect(seen).toEqual([]);
    });
  }

  test("trusts the machine's authorities where it is told of no other", async () => {
    const answer = ask(`https://a.example:${secure}/`, "127.0.0.1", createPinnedFetch());
    expect(await codeOf(answer)).toBe("UNABLE_TO_VERIFY_LEAF_SIGNATURE");
    expect(seen).toEqual([]);
  });

  test("asks anew for every name, though the address is the same", async () => {
    for (const host of ["a.example", "b.example", "a.example"])
      expect(await codeOf(ask(`https://${host}:${secure}/`))).toBe(200);
    expect(await codeOf(ask(`https://c.example:${secure}/`))).toBe("ERR_TLS_CERT_ALTNAME_INVALID");
  });

  describe("begins TLS", () => {
    /** The first bytes that a server is sent for a URL. */
    async function helloFor(host: string): Promise<string> {
      const { promise, resolve } = Promise.withResolvers<string>();
      const server = createServer((socket) => {
        socket
          .on("error", () => {})
          .once("data", (bytes) => {
            resolve(bytes.toString("latin1"));
            socket.destroy();
          });
      });
      await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
      const { port } = server.address() as AddressInfo;
      await ask(`https://${host}:${port}/secret-path`).catch(() => {});
      server.close();
      return await promise;
    }

    test("with the name, without the dot at its end", async () => {
      for (const host of ["a.example", "a.example."]) {
        const hello = await helloFor(host);
        // The length of the name stands before it.
        expect(hello).toContain("\u0000\u0009a.example");
        expect(hello).not.toContain("a.example.");
      }
    });

    test("without a name where there is only an address", async () => {
      expect(await helloFor("127.0.0.1")).not.toContain("127.0.0.1");
    });
  });

  test("follows no redirect", async () => {
    const answer = await ask(`https://a.example:${secure}/moved`);
    expect([answer.status, answer.headers.get("location")]).toEqual([302, "https://b.example/next"]);
    expect(seen).toHaveLength(1);
  });

  test("decodes nothing", async () => {
    const answer = await ask(`https://a.example:${secure}/`);
    expect(answer.headers.get("content-encoding")).toBe("gzip");
    expect(await answer.text()).toBe("not gzip at all");
  });
});
