import { describe, expect, test } from "bun:test";
import { INSIDE_HOSTS, ODD_HOSTS } from "../../../test/outbound/hosts.ts";
import { leadsOutside, readRedirect, readTarget, Refusal } from "./target.ts";

const NONE = { allowedHosts: [], plainHttp: false };
const HTTP = { allowedHosts: [], plainHttp: true };

/** The reason of a refusal; `undefined` when there is none. */
function reasonOf(run: () => unknown): string | undefined {
  try {
    run();
    return undefined;
  } catch (error) {
    expect(error).toBeInstanceOf(Refusal);
    return (error as Refusal).message;
  }
}

describe("a URL that may be fetched", () => {
  const cases = [
    "https://example.com/a.png",
    "https://example.com",
    "https://example.com/",
    "https://example.com:443/a.png",
    "https://example.com?size=1",
    "https://EXAMPLE.com/a.png",
    "HTTPS://example.com/a.png",
    "https://example.com./a.png",
    "https://example.com/a@b/c%2F..%2f?url=http://127.0.0.1/&x=a@b#fragment@x",
    "https://bücher.example/ü.png",
    "https://xn--bcher-kva.example/a",
    "https://8.8.8.8/a.png",
    "https://[2606:4700:4700::1111]/a.png",
    "https://a.b.c.d.example.com/signed?X-Amz-Signature=0123456789abcdef&X-Amz-Expires=60",
  ];
  for (const url of cases) {
    test(url, () => {
      const target = readTarget(url, NONE);
      expect(target.isException).toBe(false);
      expect(target.url.href).toBe(new URL(url).href);
    });
  }

  test("by http, where the operator says so", () => {
    expect(readTarget("http://example.com/a", HTTP).url.host).toBe("example.com");
    expect(readTarget("http://example.com:80/a", HTTP).url.host).toBe("example.com");
  });
});

describe("a host that is not of the public Internet is refused, by https and http alike", () => {
  for (const host of INSIDE_HOSTS) {
    test(host, () => {
      for (const url of [`https://${host}/`, `http://${host}/x`, `https://${host}`, `https://${host}:443/`])
        expect(reasonOf(() => readTarget(url, HTTP))).toMatch(
          /^its (host is not of the|address is not written)/,
        );
    });
  }
});

describe("where a link leads is told without asking for addresses:", () => {
  const urls = (hosts: readonly string[]) =>
    hosts.flatMap((host) => [`http://${host}/a`, `https://${host}/`]);

  test("to no host that is not public, and to none that is written oddly", () => {
    const wrongPort = new Set(ODD_HOSTS["a wrong port"]);
    const odd = Object.values(ODD_HOSTS)
      .flat()
      .filter((host) => !wrongPort.has(host));
    for (const url of urls([...INSIDE_HOSTS, ...odd]))
      expect([url, leadsOutside(url, [])]).toEqual([url, false]);
  });

  test("to any other, by whatever scheme and port", () => {
    for (const url of urls(["example.com", "8.8.8.8", "[2606:4700:4700::1111]", "example.com:8443"]))
      expect([url, leadsOutside(url, [])]).toEqual([url, true]);
  });

  test("to the operator's exceptions", () => {
    expect(leadsOutside("http://minio.internal:9000/a", ["minio.internal:9000"])).toBe(true);
    expect(leadsOutside("http://minio.internal:9001/a", ["minio.internal:9000"])).toBe(false);
  });
});

describe("what readers of URLs may differ in is refused:", () => {
  for (const [name, hosts] of Object.entries(ODD_HOSTS)) {
    test(name, () => {
      for (const host of hosts) {
        for (const url of [`https://${host}/`, `http://${host}/a.png`, `https://${host}`])
          expect([url, reasonOf(() => readTarget(url, HTTP))]).toEqual([url, expect.any(String)]);
      }
    });
  }

  const whole = [
    "",
    " ",
    "example.com",
    "//example.com/a",
    "/etc/passwd",
    "https:",
    "https:/",
    "https://",
    "https:///example.com/a",
    "https:example.com",
    "http:127.0.0.1",
    "http:///127.0.0.1",
    "http:/127.0.0.1/",
    "https:\\\\example.com\\a",
    "https:/\\example.com",
    "\thttps://example.com/",
    "https://example.com/ ",
    "ht\ntps://example.com/",
    " https://example.com/",
    "https://example.com/a b",
    "https://example.com/a\\..\\b",
    "https://example.com/a\r\nHost: x",
    "https://example.com/\u0000",
    "file:///etc/passwd",
    "file://example.com/x",
    "ftp://example.com/a",
    "gopher://example.com/_x",
    "data:image/png;base64,aGk=",
    "javascript:alert(1)",
    "blob:https://example.com/x",
    "ws://example.com/",
    "view-source:https://example.com/",
    "jar:https://example.com/!/",
    "https+x://example.com/",
    "dict://example.com:11211/",
    "about:blank",
    "gs://bucket/a.png",
    "s3://bucket/a.png",
    "urn:x",
    "https://",
    "unix:/var/run/docker.sock",
    `https://example.com/${"a".repeat(9000)}`,
    `https://${"a".repeat(64)}.example/`,
    `https://${"a.".repeat(200)}example/`,
  ];
  for (const url of whole) {
    test(`the whole of ${JSON.stringify(url.slice(0, 60))}`, () => {
      expect(reasonOf(() => readTarget(url, HTTP))).toEqual(expect.any(String));
    });
  }
});

describe("ports", () => {
  for (const port of [22, 25, 53, 80, 3306, 5432, 6379, 8080, 8443, 9200, 11211, 27017, 65535]) {
    test(`${port} is refused by https`, () => {
      for (const host of ["example.com", "8.8.8.8", "[2606:4700:4700::1111]"])
        expect(reasonOf(() => readTarget(`https://${host}:${port}/`, HTTP))).toBe(
          "its port is not that of its scheme",
        );
    });
  }
  test("443 is refused by http, and others too", () => {
    for (const port of [443, 22, 8080])
      expect(reasonOf(() => readTarget(`http://example.com:${port}/`, HTTP))).toBe(
        "its port is not that of its scheme",
      );
  });
  test("80 by http is refused unless the operator says so", () => {
    expect(reasonOf(() => readTarget("http://example.com/", NONE))).toBe("it is http");
  });
});

describe("an exception", () => {
  const cases: readonly {
    readonly entry: string;
    readonly yes: readonly string[];
    readonly no: readonly string[];
  }[] = [
    {
      entry: "minio",
      yes: ["http://minio/a", "https://minio/a", "http://minio:443/", "https://minio:80/", "http://MINIO/"],
      no: ["http://minio:9000/", "http://a.minio/", "http://minio.a/", "http://xminio/", "ftp://minio/"],
    },
    {
      entry: "minio:9000",
      yes: ["http://minio:9000/a", "https://minio:9000/"],
      no: ["http://minio/", "http://minio:9001/"],
    },
    { entry: "minio:80", yes: ["http://minio/", "https://minio:80/"], no: ["https://minio/"] },
    { entry: "Minio.Internal:0443", yes: ["https://minio.internal/"], no: ["http://minio.internal/"] },
    {
      entry: "127.0.0.1:8080",
      yes: ["http://127.0.0.1:8080/"],
      no: [
        "http://127.0.0.2:8080/",
        "http://127.0.0.1/",
        "http://0x7f.1:8080/",
        "http://localhost:8080/",
        "http://[::1]:8080/",
      ],
    },
    { entry: "127.1:8080", yes: ["http://127.0.0.1:8080/"], no: ["http://127.1:8080/"] },
    {
      entry: "[::1]:8080",
      yes: ["http://[::1]:8080/"],
      no: ["http://[::1]/", "http://127.0.0.1:8080/", "http://[0::1]:8080/"],
    },
    { entry: "[::1]", yes: ["https://[::1]/"], no: ["https://[::2]/"] },
    {
      entry: "bücher.lan",
      yes: ["http://bücher.lan/", "http://xn--bcher-kva.lan/"],
      no: ["http://bucher.lan/"],
    },
    {
      entry: "localhost",
      yes: ["http://localhost/"],
      no: ["http://localhost./", "http://user@localhost/", "http://localhost\\x/"],
    },
    { entry: "*.internal", yes: [], no: ["http://a.internal/", "http://*.internal/"] },
    { entry: "http://minio", yes: [], no: ["http://minio/"] },
    { entry: "", yes: [], no: ["http://localhost/", "http://127.0.0.1/"] },
  ];
  for (const { entry, yes, no } of cases) {
    test(`${JSON.stringify(entry)} is that host and port, and no other`, () => {
      const exceptions = { allowedHosts: ["other.example", entry], plainHttp: false };
      for (const url of yes) expect([url, readTarget(url, exceptions).isException]).toEqual([url, true]);
      for (const url of no)
        expect([url, reasonOf(() => readTarget(url, exceptions))]).toEqual([url, expect.any(String)]);
    });
  }
});

describe("a redirect", () => {
  const from = new URL("https://example.com/a/b?c");
  const led = {
    "/x": "https://example.com/x",
    x: "https://example.com/a/x",
    "?y": "https://example.com/a/b?y",
    "//cdn.example/z": "https://cdn.example/z",
    "https://cdn.example/z": "https://cdn.example/z",
  };
  for (const [location, to] of Object.entries(led)) {
    test(`to ${location} leads to ${to}`, () => expect(readRedirect(location, from, NONE).url.href).toBe(to));
  }

  const refused = [
    "http://example.com/",
    "http://127.0.0.1/",
    "https://127.0.0.1/",
    "//127.0.0.1/",
    "//localhost/x",
    "https://2130706433/",
    "//2130706433/",
    "//0x7f.1/",
    "https://[::1]/",
    "https://example.com:22/",
    "//example.com:8080/",
    "file:///etc/passwd",
    "data:text/html,x",
    "javascript:x",
    "ftp://example.com/",
    "gopher://x/",
    "https://user:pass@example.com/",
    "//user@example.com/",
    "https://example.com\\@127.0.0.1/",
    "/\\127.0.0.1/",
    "\\\\127.0.0.1\\x",
    "/a b",
    "\thttps://example.com/",
    "https://exa\nmple.com/",
    "https:127.0.0.1",
    "https:example.com",
    "https:///example.com/",
    "http:",
    "//",
    "https://example.com#@127.0.0.1/",
    "https://metadata.google.internal/",
    `/${"a".repeat(9000)}`,
  ];
  for (const location of refused) {
    test(`to ${JSON.stringify(location.slice(0, 50))} is refused`, () => {
      expect(reasonOf(() => readRedirect(location, from, HTTP))).toEqual(expect.any(String));
    });
  }

  test("may lead from http to https, and on by http where http may be used", () => {
    const plain = new URL("http://example.com/a");
    expect(readRedirect("https://example.com/", plain, HTTP).url.protocol).toBe("https:");
    expect(readRedirect("/x", plain, HTTP).url.href).toBe("http://example.com/x");
    expect(reasonOf(() => readRedirect("/x", plain, NONE))).toBe("it is http");
  });

  test("from https to an exception by http is refused too", () => {
    const exceptions = { allowedHosts: ["minio:9000"], plainHttp: false };
    expect(reasonOf(() => readRedirect("http://minio:9000/", from, exceptions))).toBe(
      "it redirects from https to http",
    );
    expect(readRedirect("https://minio:9000/", from, exceptions).isException).toBe(true);
  });
});
