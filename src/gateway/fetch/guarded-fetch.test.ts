import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { Readable } from "node:stream";
import { gzipSync } from "node:zlib";
import { INSIDE_HOSTS, ODD_HOSTS } from "../../../test/outbound/hosts.ts";
import { createFakeClock, type FakeClock } from "../../../test/gateway/fake-clock.ts";
import { type Answer, answerOf, openInternet } from "../../../test/outbound/internet.ts";
import type { Clock } from "../../core/time/clock.ts";
import { GatewayError } from "../../core/errors.ts";
import type { LogFields } from "../../core/log/log.ts";
import { wholeFile } from "./whole-file.ts";
import {
  createGuardedFetch,
  type FetchedFile,
  type GuardedFetchOptions,
  type GuardedFetchParts,
} from "./guarded-fetch.ts";

const PUBLIC = "93.184.215.14";
const PUBLIC_6 = "2606:2800:21f:cb07:6820:80da:af6b:8b2c";
const internet = await openInternet(["a.example", "b.example", "c.example", "minio.internal", "8.8.8.8"]);
afterAll(() => internet.close());

const lines: LogFields[] = [];
beforeEach(() => {
  internet.reset();
  lines.length = 0;
  for (const name of ["a.example", "b.example", "c.example"]) internet.names.set(name, [[PUBLIC]]);
});

interface Open {
  readonly clock: FakeClock;
  /** Fetches a file whole. */
  get(url: string, options?: Partial<GuardedFetchOptions>): Promise<Uint8Array>;
  /** Fetches a file for `take`. */
  give<Taken>(url: string, take: (file: FetchedFile) => Promise<Taken>): Promise<Taken>;
}

function open(parts: Partial<GuardedFetchParts> = {}): Open {
  const clock = createFakeClock();
  const note = (_: string, fields: LogFields = {}): void => void lines.push(fields);
  const log = { info: note, warn: note, error: note };
  const { connect, resolve } = internet;
  const fetch = createGuardedFetch({ allowedHosts: () => [], connect, resolve, clock, log, ...parts });
  const usual = { maxBytes: 1000, timeoutMs: 30_000, signal: new AbortController().signal };
  return {
    clock,
    get: (url, options = {}) => fetch(url, { ...usual, ...options }, wholeFile),
    give: (url, take) => fetch(url, usual, take),
  };
}

/** The text of a file, or of the refusal. */
async function outcomeOf(file: Promise<Uint8Array>): Promise<string> {
  return await file.then(
    (bytes) => new TextDecoder().decode(bytes),
    (error: Error) => error.message,
  );
}

const REFUSED = /^A file could not be fetched from its URL\./;

/** Refused with the one text and type; why, the log says. */
async function refusalOf(file: Promise<unknown>): Promise<string | undefined> {
  const error = await file.then(
    () => undefined,
    (error: unknown) => error,
  );
  expect(error).toBeInstanceOf(GatewayError);
  expect(error).toMatchObject({ kind: "invalid_request_error", message: expect.stringMatching(REFUSED) });
  expect(lines).toHaveLength(1);
  return lines[0]?.error?.replace("Refusal: ", "");
}

const redirect = (to: string, status = 302): Uint8Array => answerOf(status, { location: to }, "gone away");

describe("a file of a public host", () => {
  test("is fetched whole, without anything that tells who asks", async () => {
    const { get } = open();
    expect(await outcomeOf(get("https://a.example/x.png?y=1#z"))).toBe("a file");
    expect(internet.resolved).toEqual(["a.example"]);
    expect(internet.connected).toEqual([`${PUBLIC} 443`]);
    expect(internet.asked).toMatchObject([{ scheme: "https", host: "a.example", target: "/x.png?y=1" }]);
    expect(Object.keys(internet.asked[0]?.headers ?? {}).sort()).toEqual([
      "accept",
      "accept-encoding",
      "host",
      "user-agent",
    ]);
    expect(internet.asked[0]?.headers["accept-encoding"]).toBe("identity");
    expect(lines).toEqual([]);
  });

  test("by its address is fetched without asking for a name", async () => {
    expect(await outcomeOf(open().get("https://8.8.8.8/x"))).toBe("a file");
    expect(internet.connected).toEqual(["8.8.8.8 443"]);
    expect(internet.resolved).toEqual([]);
  });

  test("is sent the headers it was to be sent, but none of those that say how", async () => {
    await open().get("https://a.example/", {
      headers: {
        authorization: "Bearer t",
        "Accept-Encoding": "gzip",
        Host: "evil.example",
        "user-agent": "x",
      },
    });
    expect(internet.asked[0]?.headers).toMatchObject({
      authorization: "Bearer t",
      "accept-encoding": "identity",
      "user-agent": "switchyard",
    });
    expect(internet.asked[0]?.host).toBe("a.example");
  });

  test("leaves no connection open", async () => {
    internet.answer = ({ socket }) => void socket.write("HTTP/1.1 200 x\r\ncontent-length: 6\r\n\r\na file");
    expect(await outcomeOf(open().get("https://a.example/"))).toBe("a file");
    await closed();
  });

  test("by http is refused, and fetched where the operator says so", async () => {
    expect(await refusalOf(open().get("http://a.example/"))).toBe("it is http");
    expect(internet.connections()).toBe(0);
    expect(await outcomeOf(open({ plainHttp: () => true }).get("http://a.example/"))).toBe("a file");
    expect(internet.connected).toEqual([`${PUBLIC} 80`]);
  });

  test("is looked for at an address of the other family when the first does not answer", async () => {
    internet.names.set("a.example", [[PUBLIC_6, "2606:2800:21f::1", PUBLIC, "1.1.1.1"]]);
    const { get } = open({
      connect: (request) =>
        request.address === PUBLIC_6 ? Promise.reject(new Error("no way there")) : internet.connect(request),
    });
    expect(await outcomeOf(get("https://a.example/"))).toBe("a file");
    expect(internet.connected).toEqual([`${PUBLIC} 443`]);
  });

  test("whose certificate is another's is refused, and sent nothing", async () => {
    internet.names.set("z.example", [[PUBLIC]]);
    expect(await refusalOf(open().get("https://z.example/"))).toMatch(/ERR_TLS_CERT_ALTNAME_INVALID$/);
    expect(internet.asked).toEqual([]);
  });
});

describe("no connection is made", () => {
  const ports = [22, 25, 80, 5432, 6379, 8080].map((port) => `a.example:${port}`);
  const hosts = [...INSIDE_HOSTS, ...Object.values(ODD_HOSTS).flat(), ...ports];
  for (const host of hosts) {
    test(`for https://${JSON.stringify(host)}`, async () => {
      // What is odd in a host stands in another part of the URL where the host ends before.
      for (const url of [`https://${host}/x`, `http://${host.replace(":80", ":81")}/x`]) {
        lines.length = 0;
        await refusalOf(open({ plainHttp: () => true }).get(url));
      }
      expect(internet.connected).toEqual([]);
      expect(internet.resolved).toEqual([]);
      expect(internet.connections()).toBe(0);
    });
  }

  const answers: Readonly<Record<string, readonly string[]>> = {
    "a private address": ["10.0.0.1"],
    "a public and a private one": [PUBLIC, "10.0.0.1"],
    "a private and a public one": ["127.0.0.1", PUBLIC],
    "a public one and a private one of IPv6": [PUBLIC, "fd00::1"],
    "a public one of IPv6 and a private one": [PUBLIC_6, "169.254.169.254"],
    "a mapped one": ["::ffff:10.0.0.1"],
    "one of NAT64": [PUBLIC, "64:ff9b::a00:1"],
    "a public one and one with a zone": [PUBLIC, "fe80::1%eth0"],
    "a public one and something else": [PUBLIC, "a.example"],
    nothing: [],
  };
  for (const [name, addresses] of Object.entries(answers)) {
    test(`for a name that has ${name}`, async () => {
      internet.names.set("a.example", [addresses]);
      expect(await refusalOf(open().get("https://a.example/"))).toMatch(/^its name has/);
      expect(internet.connected).toEqual([]);
      expect(internet.connections()).toBe(0);
    });
  }
});

describe("a name whose answers change", () => {
  test("is asked for once, and connected to at the address that was checked", async () => {
    internet.names.set("a.example", [[PUBLIC], ["127.0.0.1"]]);
    expect(await outcomeOf(open().get("https://a.example/"))).toBe("a file");
    expect(internet.resolved).toEqual(["a.example"]);
    expect(internet.connected).toEqual([`${PUBLIC} 443`]);
  });

  test("is checked anew where a redirect leads to it again", async () => {
    internet.names.set("a.example", [[PUBLIC], ["127.0.0.1"]]);
    internet.answer = () => redirect("https://a.example/again");
    expect(await refusalOf(open().get("https://a.example/"))).toBe(
      "its name has an address that is not public",
    );
    expect(internet.connected).toEqual([`${PUBLIC} 443`]);
  });
});

describe("a redirect", () => {
  for (const status of [301, 302, 303, 307, 308]) {
    test(`by ${status} is followed, with the same method`, async () => {
      internet.answer = ({ target }) =>
        target === "/" ? redirect("https://b.example/x", status) : answerOf(200, {}, "there");
      expect(await outcomeOf(open().get("https://a.example/"))).toBe("there");
      expect(internet.asked.map(({ host, target }) => host + target)).toEqual(["a.example/", "b.example/x"]);
    });

    const inside = [
      "https://127.0.0.1/",
      "https://10.0.0.1/",
      "https://[::1]/",
      "https://localhost/",
      "//169.254.169.254/latest/meta-data/",
      "https://private.example/",
      "http://a.example/",
      "https://a.example:22/",
      "file:///etc/passwd",
      "https://user:pw@a.example/",
    ];
    for (const to of inside) {
      test(`by ${status} to ${to} is refused`, async () => {
        internet.names.set("private.example", [["192.168.1.1"]]);
        internet.answer = () => redirect(to, status);
        await refusalOf(open({ plainHttp: () => true }).get("https://a.example/"));
        expect(internet.connected).toEqual([`${PUBLIC} 443`]);
        expect(internet.connections()).toBe(1);
      });
    }
  }

  const chain: Answer = ({ target }) => {
    const left = Number(target.slice(1));
    return left === 0 ? answerOf(200, {}, "the end") : redirect(`/${left - 1}`);
  };
  test("is followed three times, not four", async () => {
    internet.answer = chain;
    expect(await outcomeOf(open().get("https://a.example/3"))).toBe("the end");
    expect(internet.connections()).toBe(4);
    expect(await refusalOf(open().get("https://a.example/4"))).toBe("it redirects too often");
    expect(internet.connections()).toBe(8);
  });

  test("takes headers along within its origin only, and never back", async () => {
    internet.answer = ({ host, target }) => {
      const to: Record<string, string> = {
        "a.example/": "/2",
        "a.example/2": "https://b.example/",
        "b.example/": "https://a.example/3",
      };
      const next = to[host + target];
      return next === undefined ? answerOf(200, {}, "end") : redirect(next);
    };
    await open().get("https://a.example/", { headers: { "x-key": "secret", cookie: "c=1" } });
    expect(internet.asked.map(({ headers }) => [headers["x-key"], headers["cookie"]])).toEqual([
      ["secret", "c=1"],
      ["secret", "c=1"],
      [undefined, undefined],
      [undefined, undefined],
    ]);
  });

  test("is not kept open while the next is asked, whatever it still has to say", async () => {
    internet.answer = ({ target, socket }) => {
      if (target === "/") socket.write("HTTP/1.1 302 x\r\nlocation: /next\r\n\r\nmore, and never an end");
      return undefined;
    };
    const stop = new AbortController();
    const file = outcomeOf(open().get("https://a.example/", { signal: stop.signal }));
    for (let i = 0; (internet.asked.length < 2 || internet.open() > 1) && i < 400; i += 1) await Bun.sleep(5);
    expect([internet.asked.length, internet.open()]).toEqual([2, 1]);
    stop.abort(new Error("enough"));
    expect(await file).toBe("enough");
  });

  test("sets no cookie for the next", async () => {
    internet.answer = ({ target }) =>
      target === "/" ? answerOf(302, { location: "/2", "set-cookie": "a=b" }, "") : answerOf(200, {}, "end");
    await open().get("https://a.example/");
    expect(internet.asked[1]?.headers["cookie"]).toBeUndefined();
  });

  const other = [
    { name: "without a location", answer: answerOf(302, {}, "x"), status: 302 },
    { name: "of another kind", answer: answerOf(300, { location: "/x" }, "x"), status: 300 },
    { name: "by 304", answer: "HTTP/1.1 304 x\r\nlocation: /x\r\n\r\n", status: 304 },
    {
      name: "as a page that refreshes",
      answer: answerOf(404, { refresh: "0; url=https://127.0.0.1/" }, "x"),
      status: 404,
    },
  ];
  for (const { name, answer, status } of other) {
    test(`${name} is none`, async () => {
      internet.answer = () => answer;
      expect(await refusalOf(open().get("https://a.example/"))).toBe(`it answers with status ${status}`);
      expect(internet.connections()).toBe(1);
    });
  }
});

describe("what is no whole file is refused:", () => {
  const gzipped = gzipSync(Buffer.alloc(300_000));
  const answers: readonly {
    readonly name: string;
    readonly answer: string | Uint8Array;
    readonly reason: RegExp;
  }[] = [
    ...[201, 204, 206, 400, 401, 403, 404, 410, 429, 500, 503].map((status) => ({
      name: `status ${status}`,
      answer: answerOf(status, {}, status === 204 ? "" : "x"),
      reason: new RegExp(`^it answers with status ${status}$`),
    })),
    { name: "an empty one", answer: answerOf(200, {}, ""), reason: /empty/ },
    {
      name: "one that says that it is too large",
      answer: answerOf(200, { "content-length": "1001" }, "x"),
      reason: /too large/,
    },
    { name: "one that is too large", answer: answerOf(200, {}, "x".repeat(1001)), reason: /too large/ },
    {
      name: "one that is too large and does not say so",
      answer: `HTTP/1.1 200 x\r\n\r\n${"x".repeat(5000)}`,
      reason: /too large/,
    },
    {
      name: "one in chunks that is too large",
      answer: `HTTP/1.1 200 x\r\ntransfer-encoding: chunked\r\n\r\n400\r\n${"x".repeat(1024)}\r\n0\r\n\r\n`,
      reason: /too large/,
    },
    {
      name: "gzip, small enough, that would be large",
      answer: answerOf(200, { "content-encoding": "gzip" }, gzipped),
      reason: /encoded/,
    },
    {
      name: "gzip a thousand times",
      answer: answerOf(200, { "content-encoding": "gzip, ".repeat(999) + "gzip" }, gzipped),
      reason: /encoded/,
    },
    { name: "brotli", answer: answerOf(200, { "content-encoding": "br" }, "x"), reason: /encoded/ },
    {
      name: "one that breaks off",
      answer: answerOf(200, { "content-length": "10" }, "x"),
      reason: /could not be asked/,
    },
    {
      name: "one in chunks that breaks off",
      answer: "HTTP/1.1 200 x\r\ntransfer-encoding: chunked\r\n\r\n5\r\nab",
      reason: /could not be asked/,
    },
    ...["+6", "6e0", "-6", "", "6\r\ncontent-length: 7"].map((length) => ({
      name: `one whose length is ${JSON.stringify(length)}`,
      answer: `HTTP/1.1 200 x\r\ncontent-length: ${length}\r\n\r\na file`,
      reason: /could not be asked/,
    })),
    {
      name: "one with two codings in two lines",
      answer:
        "HTTP/1.1 200 x\r\ncontent-encoding: identity\r\ncontent-encoding: gzip\r\ncontent-length: 1\r\n\r\nx",
      reason: /encoded/,
    },
    { name: "what is no HTTP", answer: "220 mail.example ESMTP\r\n", reason: /could not be asked/ },
    { name: "no answer", answer: "", reason: /could not be asked/ },
    {
      name: "a head without end",
      answer: `HTTP/1.1 200 x\r\n${"a: b\r\n".repeat(100_000)}`,
      reason: /could not be asked/,
    },
  ];
  for (const { name, answer, reason } of answers) {
    test(name, async () => {
      internet.answer = () => answer;
      expect(await refusalOf(open().get("https://a.example/"))).toMatch(reason);
    });
  }

  test("one that never ends, as soon as it is too large", async () => {
    internet.answer = ({ socket }) => {
      socket.write("HTTP/1.1 200 x\r\n\r\n");
      const more = (): void => {
        while (!socket.destroyed && socket.write("x".repeat(65_536)));
      };
      socket.on("drain", more);
      more();
      return undefined;
    };
    expect(await refusalOf(open().get("https://a.example/", { maxBytes: 5_000_000 }))).toMatch(/too large/);
    await closed();
  });

  test("gzip as the coding of a transfer, which is not asked for either, is never unfolded", async () => {
    internet.answer = ({ socket }) => {
      socket.write(
        `HTTP/1.1 200 x\r\ntransfer-encoding: gzip, chunked\r\n\r\n${gzipped.length.toString(16)}\r\n`,
      );
      socket.write(gzipped);
      socket.end("\r\n0\r\n\r\n");
      return undefined;
    };
    const file = await open()
      .get("https://a.example/", { maxBytes: 100_000 })
      .catch(() => undefined);
    expect(file?.length ?? gzipped.length).toBe(gzipped.length);
  });

  test("but a file of just the size that is allowed is taken, and one that says that it is not encoded", async () => {
    internet.answer = () => answerOf(200, { "content-encoding": "Identity" }, "x".repeat(1000));
    expect(await outcomeOf(open().get("https://a.example/"))).toBe("x".repeat(1000));
  });
});

/** Waits until no server has a connection any more: the fetch has let go of its own. */
async function closed(): Promise<void> {
  for (let i = 0; internet.open() > 0 && i < 400; i += 1) await Bun.sleep(5);
  expect(internet.open()).toBe(0);
}

/** Waits until a request has arrived. */
async function arrived(): Promise<void> {
  for (let i = 0; internet.asked.length === 0 && i < 400; i += 1) await Bun.sleep(5);
}

describe("time", () => {
  test("without the head of an answer is 10 s", async () => {
    internet.answer = () => undefined;
    const { get, clock } = open();
    const reason = refusalOf(get("https://a.example/"));
    await arrived();
    await clock.advance(9_999);
    expect(lines).toEqual([]);
    await clock.advance(1);
    expect(await reason).toBe("it does not answer");
    await closed();
  });

  test("without the addresses of a name is 10 s", async () => {
    const { get, clock } = open({ resolve: () => new Promise(() => {}) });
    const reason = refusalOf(get("https://a.example/"));
    await clock.advance(10_000);
    expect(await reason).toBe("it does not answer");
  });

  test("is that of the whole, however steadily the file comes", async () => {
    const head = Promise.withResolvers<void>();
    const { get, clock } = open({
      async connect(request) {
        const response = await internet.connect(request);
        head.resolve();
        return response;
      },
    });
    internet.answer = ({ socket }) => void socket.write("HTTP/1.1 200 x\r\n\r\nx");
    const reason = refusalOf(get("https://a.example/", { timeoutMs: 20_000 }));
    await head.promise;
    await Bun.sleep(0);
    for (let sec = 0; sec < 19; sec += 1) {
      internet.asked[0]?.socket.write("x");
      await clock.advance(1_000);
    }
    expect(lines).toEqual([]);
    await clock.advance(1_000);
    expect(await reason).toBe("it took too long");
    await closed();
  });

  test("that is over is waited for no longer", async () => {
    const clock = createFakeClock();
    const pending = new Set<number>();
    let next = 0;
    const counted: Clock = {
      nowMs: clock.nowMs,
      steadyMs: clock.steadyMs,
      setTimer(delayMs, run) {
        const id = (next += 1);
        pending.add(id);
        const timer = clock.setTimer(delayMs, run);
        return { cancel: () => void (pending.delete(id) && timer.cancel()) };
      },
    };
    expect(await outcomeOf(open({ clock: counted }).get("https://a.example/"))).toBe("a file");
    await refusalOf(open({ clock: counted }).get("https://nowhere.example/"));
    expect([next, pending.size]).toEqual([6, 0]);
  });

  test("is that of the whole over redirects", async () => {
    const { get, clock } = open();
    internet.answer = ({ target }) => (target === "/" ? redirect("/next") : undefined);
    const reason = refusalOf(get("https://a.example/", { timeoutMs: 5_000 }));
    for (let i = 0; internet.asked.length < 2 && i < 400; i += 1) await Bun.sleep(5);
    await clock.advance(5_000);
    expect(await reason).toBe("it took too long");
    await closed();
  });

  test("ends with the caller's signal, by its own reason and without a line in the log", async () => {
    internet.answer = () => undefined;
    const stop = new AbortController();
    const gone = new Error("the client has gone");
    const file = open().get("https://a.example/", { signal: stop.signal });
    await arrived();
    stop.abort(gone);
    expect(await file.catch((error: unknown) => error)).toBe(gone);
    expect(lines).toEqual([]);
    await closed();
  });

  test("has not begun where the signal was aborted before", async () => {
    const signal = AbortSignal.abort(new Error("over"));
    expect(await outcomeOf(open().get("https://a.example/", { signal }))).toBe("over");
    expect(internet.resolved).toEqual([]);
    expect(internet.connections()).toBe(0);
  });
});

describe("a file that is taken as it comes", () => {
  test("says how long it will be, where its server does", async () => {
    const { give } = open();
    const lengthOf = async ({ length, pieces }: FetchedFile) => {
      for await (const piece of pieces) expect(piece.length).toBeGreaterThan(0);
      return length;
    };
    expect(await give("https://a.example/", lengthOf)).toBe(6);
    internet.answer = () => "HTTP/1.1 200 x\r\n\r\na file";
    expect(await give("https://a.example/", lengthOf)).toBeUndefined();
    // Chunks end when they end, whatever was said.
    internet.answer = () =>
      "HTTP/1.1 200 x\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n6\r\na file\r\n0\r\n\r\n";
    expect(await give("https://a.example/", lengthOf)).toBeUndefined();
  });

  test("is let go of where it is left unread, and what was made of it is given", async () => {
    internet.answer = ({ socket }) => void socket.write("HTTP/1.1 200 x\r\n\r\nmore, and never an end");
    expect(await open().give("https://a.example/", async () => "enough")).toBe("enough");
    await closed();
    const firstOf = async ({ pieces }: FetchedFile) => {
      for await (const piece of pieces) return piece.length;
      return 0;
    };
    expect(await open().give("https://a.example/", firstOf)).toBe(22);
    await closed();
    expect(lines).toEqual([]);
  });

  test("by somebody who fails rejects with that failure, and no line says that the URL was at fault", async () => {
    const full = new GatewayError("overloaded_error", "The disk is full.");
    for (const failure of [full, new Error("x")]) {
      const failed = open().give("https://a.example/", async ({ pieces }) => {
        for await (const piece of pieces) if (piece.length > 0) throw failure;
      });
      expect(await failed.catch((error: unknown) => error)).toBe(failure);
    }
    expect(lines).toEqual([]);
    await closed();
  });

  test("and breaks off on its way is refused, whatever was made of its beginning", async () => {
    internet.answer = () => answerOf(200, { "content-length": "10" }, "half");
    const seen: number[] = [];
    const taken = open().give("https://a.example/", async ({ pieces }) => {
      for await (const piece of pieces) seen.push(piece.length);
      return "whole";
    });
    expect(await refusalOf(taken)).toMatch(/could not be asked/);
  });

  test("has no more time than it was given, but whoever has all of it has as much as it takes", async () => {
    const { give, clock } = open();
    const stored = Promise.withResolvers<string>();
    const isRead = Promise.withResolvers<void>();
    const taken = give("https://a.example/", async (file) => {
      await wholeFile(file);
      isRead.resolve();
      return stored.promise;
    });
    await isRead.promise;
    await clock.advance(60_000);
    stored.resolve("stored");
    expect(await taken).toBe("stored");
  });

  test("has all of its time where whoever takes it had to wait for room before", async () => {
    const { give, clock } = open();
    const room = Promise.withResolvers<void>();
    const hasCome = Promise.withResolvers<void>();
    internet.answer = ({ socket }) => void socket.write("HTTP/1.1 200 x\r\ncontent-length: 6\r\n\r\na ");
    const taken = give("https://a.example/", async (file) => {
      hasCome.resolve();
      await room.promise;
      return wholeFile(file);
    });
    await hasCome.promise;
    await clock.advance(600_000);
    room.resolve();
    await Bun.sleep(0);
    await clock.advance(29_999);
    expect(lines).toEqual([]);
    internet.asked[0]?.socket.write("file");
    expect(await outcomeOf(taken)).toBe("a file");
  });

  test("is asked for no faster than it is taken", async () => {
    let sent = 0;
    internet.answer = ({ socket }) => {
      socket.write("HTTP/1.1 200 x\r\n\r\n");
      const more = (): void => {
        while (!socket.destroyed && sent < 100_000_000 && socket.write("x".repeat(65_536))) sent += 65_536;
      };
      socket.on("drain", more);
      more();
      return undefined;
    };
    const { connect, resolve } = internet;
    const fetch = createGuardedFetch({
      allowedHosts: () => [],
      connect,
      resolve,
      clock: createFakeClock(),
      log: { info() {}, warn() {}, error() {} },
    });
    const { signal } = new AbortController();
    await fetch("https://a.example/", { maxBytes: 2e8, timeoutMs: 30_000, signal }, async ({ pieces }) => {
      for await (const piece of pieces) {
        expect(piece.length).toBeGreaterThan(0);
        break;
      }
    });
    expect(sent).toBeLessThan(50_000_000);
    await closed();
  });
});

test("a whole file is whole, whether its length was said, not said, or said wrongly", async () => {
  const pieces = ["abc", "de", "fghi"].map((text) => new TextEncoder().encode(text));
  for (const length of [undefined, 9, 4, 3, 20]) {
    const file = await wholeFile({ pieces: Readable.from(pieces), length });
    expect(new TextDecoder().decode(file)).toBe("abcdefghi");
  }
});

test("many at once come each to its own end", async () => {
  internet.answer = ({ target }) => answerOf(200, {}, `file ${target}`);
  const { get } = open();
  const all = Array.from({ length: 40 }, (_, i) =>
    outcomeOf(get(i % 4 === 0 ? `https://127.0.0.1/${i}` : `https://a.example/${i}`)),
  );
  const outcomes = await Promise.all(all);
  for (const [i, outcome] of outcomes.entries())
    expect(outcome).toMatch(i % 4 === 0 ? REFUSED : new RegExp(`^file /${i}$`));
  await closed();
});

describe("an exception of the operator", () => {
  test("is fetched from though its address is private and it is http", async () => {
    internet.names.set("minio.internal", [["10.0.0.9", "fd00::9"]]);
    const { get } = open({ allowedHosts: () => ["minio.internal"] });
    expect(await outcomeOf(get("http://minio.internal/x"))).toBe("a file");
    expect(await outcomeOf(get("https://minio.internal/x"))).toBe("a file");
    expect(internet.connected).toEqual(["10.0.0.9 80", "10.0.0.9 443"]);
  });

  test("is no other host, and no other port", async () => {
    for (const url of ["http://db.internal/", "http://minio.internal:9000/", "http://10.0.0.9/"]) {
      lines.length = 0;
      await refusalOf(open({ allowedHosts: () => ["minio.internal"] }).get(url));
    }
    expect(internet.connections()).toBe(0);
  });

  test("of one fetch holds for that fetch", async () => {
    internet.names.set("minio.internal", [["10.0.0.9"]]);
    const { get } = open();
    expect(await outcomeOf(get("https://minio.internal/x", { allowedHosts: ["minio.internal:443"] }))).toBe(
      "a file",
    );
    await refusalOf(get("https://minio.internal/x"));
    expect(internet.connections()).toBe(1);
  });

  test("is read anew for each fetch", async () => {
    internet.names.set("minio.internal", [["10.0.0.9"]]);
    let allowed: readonly string[] = [];
    const { get } = open({ allowedHosts: () => allowed });
    await refusalOf(get("https://minio.internal/x"));
    allowed = ["minio.internal"];
    expect(await outcomeOf(get("https://minio.internal/x"))).toBe("a file");
  });
});

test("a refused, a closed, a missing and a broken target cannot be told apart by what is said", async () => {
  internet.names.set("private.example", [["10.0.0.1"]]);
  internet.names.set("z.example", [[PUBLIC]]);
  internet.answer = ({ target }) => answerOf(target === "/404" ? 404 : 500, {}, "the inside of a house");
  const down = open({
    connect: () => Promise.reject(Object.assign(new Error("x"), { code: "ECONNREFUSED" })),
  });
  const tries = [
    open().get("https://10.0.0.1/"),
    open().get("https://10.0.0.1:22/"),
    open().get("https://localhost/"),
    open().get("https://private.example/"),
    open().get("https://missing.example/"),
    down.get("https://a.example/"),
    open().get("https://z.example/"),
    open().get("https://a.example/404"),
    open().get("https://a.example/"),
    open().get("nonsense"),
  ];
  const told = await Promise.all(tries.map((file) => file.catch((error: GatewayError) => error)));
  const said = told.map((error) => {
    const { kind, message, status, param, headers } = error as GatewayError;
    return JSON.stringify({ kind, message, status, param, headers });
  });
  expect(new Set(said).size).toBe(1);
  expect(said[0]).not.toContain("example");
});

test("the log names the host and the reason, and nothing of path and query", async () => {
  internet.answer = () => answerOf(403, {}, "x");
  await refusalOf(
    open().get("https://a.example/canary-path/x.png?X-Amz-Signature=canary-query", {
      headers: { a: "canary-header" },
    }),
  );
  expect(lines).toEqual([{ host: "a.example", error: "Refusal: it answers with status 403" }]);
  lines.length = 0;
  // The runtime's own error repeats the URL.
  internet.names.set("z.example", [[PUBLIC]]);
  const error = await open()
    .get("https://z.example/canary-path?canary-query")
    .catch((error: unknown) => error);
  expect(Bun.inspect([lines, error, (error as Error).cause])).not.toContain("canary");
  lines.length = 0;
  await open()
    .get("https://user:canary-secret@a.example/")
    .catch(() => {});
  await open()
    .get("http://10.0.0.1/canary-path")
    .catch(() => {});
  expect(JSON.stringify(lines)).not.toContain("canary");
});
