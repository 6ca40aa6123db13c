import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import type { Clock } from "../../src/core/time/clock.ts";
import { systemClock } from "../../src/core/time/clock.ts";
import type { ResultFile } from "../../src/core/task.ts";
import { mp4File, pngFile } from "../assets/media-files.ts";
import { describeOnS3, startS3Server } from "../assets/s3-server.ts";
import { startGateway, type TestGateway } from "../gateway/gateway.ts";
import { LONG, SEED } from "../runs.ts";
import { toText } from "../upstream/bytes.ts";
import { openRawClient } from "../upstream/raw-client.ts";

const TASK = `img_${"0a".repeat(16)}`;
const VIDEO_TASK = `vid_${"0b".repeat(16)}`;
const IMAGE = pngFile(200, 150);
const VIDEO = mp4File({ dataBytes: 24 * 1024 * 1024 });

let offsetMs = 0;
const clock: Clock = { ...systemClock, nowMs: () => systemClock.nowMs() + offsetMs };

let gateway: TestGateway;
let image: ResultFile;
let url: string;
beforeAll(async () => {
  gateway = await startGateway({ clock });
  image = await keep(TASK, IMAGE, "image");
  url = gateway.services.assets.urlOf(TASK, image);
});
afterAll(() => gateway.close());

async function keep(task: string, bytes: Uint8Array, kind: "image" | "video"): Promise<ResultFile> {
  const file = await gateway.services.assets.store(task, bytes, kind);
  if ("notStored" in file) throw new Error(file.notStored);
  return file;
}

/** The status and body that a target as these bytes gets; no status when the server closes without an answer. */
async function rawGet(target: string, method = "GET"): Promise<{ status?: number; body: string }> {
  const client = await openRawClient(gateway.url);
  client.send(`${method} ${target} HTTP/1.1\r\nHost: gateway\r\nConnection: close\r\n\r\n`);
  await client.ended();
  const text = toText(client.received());
  client.close();
  const status = /^HTTP\/1\.1 (\d{3})/.exec(text)?.[1];
  const body = text.slice(text.indexOf("\r\n\r\n") + 4);
  return { ...(status === undefined ? {} : { status: Number(status) }), body };
}

const targetOf = (whole: string): string => whole.slice(whole.indexOf("/assets/"));

async function refusal(): Promise<string> {
  return (await rawGet("/assets/x")).body;
}

describe("a signed URL", () => {
  test("gives the file, and says how it may be shown and kept", async () => {
    const response = await fetch(url);
    expect(response.status).toBe(200);
    expect(Buffer.from(await response.arrayBuffer())).toEqual(Buffer.from(IMAGE));
    const { date: _, "request-id": id, ...headers } = Object.fromEntries(response.headers);
    const maxAge = Number(/max-age=(\d+)/.exec(headers["cache-control"] ?? "")?.[1]);
    expect(maxAge).toBeGreaterThan(3_590);
    expect(maxAge).toBeLessThanOrEqual(3_600);
    expect(headers).toEqual({
      "accept-ranges": "bytes",
      "access-control-allow-origin": "*",
      "access-control-expose-headers": "accept-ranges, content-length, content-range, etag, x-request-id",
      "cache-control": `private, max-age=${maxAge}, immutable`,
      "content-disposition": `inline; filename="${TASK}-${image.name.slice(0, 8)}.png"`,
      "content-length": String(IMAGE.length),
      "content-security-policy":
        "sandbox; default-src 'none'; img-src 'self'; media-src 'self'; style-src 'unsafe-inline'",
      "content-type": "image/png",
      "cross-origin-resource-policy": "cross-origin",
      etag: `"${image.sha256.slice(0, 32)}"`,
      "referrer-policy": "no-referrer",
      vary: "authorization, x-api-key, x-goog-api-key",
      "x-content-type-options": "nosniff",
      "x-request-id": id ?? "",
    });
  });

  test("needs no key, and takes no notice of one", async () => {
    for (const headers of [{ authorization: "Bearer x" }, { "x-api-key": gateway.key }])
      expect((await fetch(url, { headers })).status).toBe(200);
  });

  test("tells the head of the answer by itself, for a part too", async () => {
    for (const headers of [{}, { range: "bytes=5-9" }]) {
      const response = await fetch(url, { method: "HEAD", headers });
      expect(response.status).toBe(200);
      expect(response.headers.get("content-length")).toBe(String(IMAGE.length));
      expect(response.headers.get("content-type")).toBe("image/png");
      expect((await response.arrayBuffer()).byteLength).toBe(0);
    }
  });

  test("is for reading alone", async () => {
    for (const method of ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"]) {
      const response = await fetch(url, { method });
      expect([method, response.status, response.headers.get("allow")]).toEqual([method, 405, "GET"]);
    }
    expect((await fetch(url)).status).toBe(200);
  });

  test("is a 403 when its time is over, and before it can have begun", async () => {
    try {
      for (const [ms, status] of [
        [3_600_000, 200],
        [3_662_000, 403],
        [-58_000, 200],
        [-62_000, 403],
      ] as const) {
        offsetMs = ms;
        expect([ms, (await fetch(url)).status]).toEqual([ms, status]);
      }
    } finally {
      offsetMs = 0;
    }
  });

  test("with any bit of it changed is the same 403, or no target at all", async () => {
    const target = targetOf(url);
    const wrong = await refusal();
    const seen = new Map<string, number>();
    await fc.assert(
      fc.asyncProperty(fc.nat(target.length - 1), fc.nat(7), async (at, bit) => {
        const code = target.charCodeAt(at) ^ (1 << bit);
        const changed = target.slice(0, at) + String.fromCharCode(code) + target.slice(at + 1);
        const { status, body } = await rawGet(changed);
        seen.set(String(status), (seen.get(String(status)) ?? 0) + 1);
        if (status === 403) expect(body).toBe(wrong);
        // A path outside of the folder, bytes that no target has, and a broken escape.
        else if (at < "/assets/".length) expect([400, 404, 505, undefined]).toContain(status);
        else {
          expect(code <= 0x20 || code >= 0x7f || code === 0x25).toBe(true);
          expect([400, 505, undefined]).toContain(status);
        }
      }),
      { seed: SEED, numRuns: LONG ? 10_000 : 1_000 },
    );
    expect(seen.get("403")).toBeGreaterThan(500);
    expect((await rawGet(target)).status).toBe(200);
  }, 300_000);

  test("of a file that was removed is the same 403", async () => {
    const file = await keep(VIDEO_TASK, pngFile(7, 7), "image");
    const gone = gateway.services.assets.urlOf(VIDEO_TASK, file);
    expect((await fetch(gone)).status).toBe(200);
    await gateway.services.assets.remove(VIDEO_TASK);
    const response = await fetch(gone);
    expect(response.status).toBe(403);
    expect(await response.text()).toBe(await refusal());
    expect(response.headers.get("access-control-allow-origin")).toBe("*");
    expect(response.headers.get("cache-control")).toBe("no-store");
  });

  test("does not stand in the log", async () => {
    const signature = new URL(url).searchParams.get("signature")?.slice("1.".length) ?? "";
    expect(signature.length).toBe(43);
    await fetch(url);
    expect(gateway.logs.at(-1)).toMatchObject({ path: `/assets/${TASK}/${image.name}`, status: 200 });
    // Where its mark was lost, a signature is a part of the path.
    await fetch(url.replace("?", "%3F"));
    expect(gateway.logs.at(-1)?.status).toBe(403);
    expect(JSON.stringify(gateway.logs)).not.toContain(signature);
  });
});

describe("whatever else is asked of the folder is the same 403", () => {
  const other = `${"cd".repeat(16)}.png`;
  const targets: readonly (readonly [string, (path: string, query: string) => string])[] = [
    ["the folder itself", () => "/assets/"],
    ["the folder of a task", (path) => path.slice(0, path.lastIndexOf("/") + 1)],
    ["no query", (path) => path],
    ["an empty query", (path) => `${path}?`],
    ["a parameter too many", (path, query) => `${path}?${query}&x=1`],
    ["a parameter twice", (path, query) => `${path}?${query}&${query}`],
    ["another order", (path, query) => `${path}?${query.split("&").toReversed().join("&")}`],
    ["a path in capitals", (path, query) => `${path.replace("img_0a", "img_0A")}?${query}`],
    ["an encoded letter", (path, query) => `${path.replace("img", "%69mg")}?${query}`],
    ["an encoded slash", (path, query) => `${path.replace(/\/([^/]*)$/, "%2F$1")}?${query}`],
    ["an encoded dot", (path, query) => `${path.replace(".png", "%2Epng")}?${query}`],
    ["a doubled slash", (path, query) => `${path.replace("/img", "//img")}?${query}`],
    ["a slash behind", (path, query) => `${path}/?${query}`],
    ["a dot behind", (path, query) => `${path}.?${query}`],
    ["another file", (path, query) => `${path.replace(/[^/]*$/, other)}?${query}`],
    ["a parent by encoded slashes", (path, query) => `${path}%2F..%2F..%2F..%2Fpepper?${query}`],
    ["the secret by a path", (_, query) => `/assets/..%2Fpepper?${query}`],
    ["the secret by back slashes", (_, query) => `/assets/..%5C..%5Cpepper?${query}`],
    ["a link in the folder", (_, query) => `/assets/${TASK}/link.png?${query}`],
    ["a partial file", (_, query) => `/assets/${TASK}/.00.partial?${query}`],
  ];
  for (const [name, build] of targets) {
    test(name, async () => {
      const assets = join(gateway.home, "assets");
      if (!existsSync(join(assets, TASK, "link.png"))) {
        symlinkSync(join(gateway.home, "pepper"), join(assets, TASK, "link.png"));
        writeFileSync(join(assets, TASK, ".00.partial"), "half");
      }
      const [path = "", query = ""] = targetOf(url).split("?");
      expect(await rawGet(build(path, query))).toEqual({ status: 403, body: await refusal() });
      expect((await rawGet(build(path, query), "HEAD")).status).toBe(403);
    });
  }

  test("but for a path that leads out of it, which is of no file", async () => {
    for (const target of ["/assets/../pepper", "/assets/%2e%2e/pepper", "/assets"])
      expect((await rawGet(target)).status).toBe(404);
  });
});

describe("a part of a file", () => {
  const size = IMAGE.length;
  const cases: readonly (readonly [string, number, string | null, (readonly [number, number])?])[] = [
    ["bytes=0-", 206, `bytes 0-${size - 1}/${size}`, [0, size]],
    ["bytes=0-0", 206, `bytes 0-0/${size}`, [0, 1]],
    ["bytes=5-9", 206, `bytes 5-9/${size}`, [5, 10]],
    ["bytes=5-999999", 206, `bytes 5-${size - 1}/${size}`, [5, size]],
    ["bytes=-8", 206, `bytes ${size - 8}-${size - 1}/${size}`, [size - 8, size]],
    ["bytes=-999999", 206, `bytes 0-${size - 1}/${size}`, [0, size]],
    [`bytes=${size}-`, 416, `bytes */${size}`],
    ["bytes=-0", 416, `bytes */${size}`],
    ["bytes=9-1", 200, null, [0, size]],
    ["bytes=0-1,5-6", 200, null, [0, size]],
    [`bytes=${"0-,".repeat(1_000)}0-`, 200, null, [0, size]],
    ["pages=1-2", 200, null, [0, size]],
    ["junk", 200, null, [0, size]],
  ];
  for (const [range, status, contentRange, part] of cases) {
    test(`${range.slice(0, 40)} is a ${status}`, async () => {
      const response = await fetch(url, { headers: { range } });
      const body = new Uint8Array(await response.arrayBuffer());
      expect([response.status, response.headers.get("content-range")]).toEqual([status, contentRange]);
      expect(response.headers.get("accept-ranges")).toBe("bytes");
      const want = part === undefined ? new Uint8Array() : IMAGE.slice(...part);
      expect(response.headers.get("content-length")).toBe(String(want.length));
      expect(body).toEqual(want);
    });
  }

  test("is given only of the file that the client has the rest of", async () => {
    const etag = `"${image.sha256.slice(0, 32)}"`;
    for (const [condition, status] of [
      [etag, 206],
      [`W/${etag}`, 200],
      ['"another"', 200],
      ["Sat, 21 Nov 2026 12:00:00 GMT", 200],
      ["junk", 200],
    ] as const) {
      const response = await fetch(url, { headers: { range: "bytes=5-9", "if-range": condition } });
      expect([condition, response.status]).toEqual([condition, status]);
      expect((await response.arrayBuffer()).byteLength).toBe(status === 206 ? 5 : size);
    }
  });

  test("is not sent to a client that has the file already", async () => {
    const etag = `"${image.sha256.slice(0, 32)}"`;
    for (const known of [etag, `W/${etag}`, `"x", ${etag}`, "*"]) {
      for (const headers of [{ "if-none-match": known }, { "if-none-match": known, range: "bytes=5-9" }]) {
        const response = await fetch(url, { headers });
        expect([known, response.status, response.headers.get("etag")]).toEqual([known, 304, etag]);
        expect((await response.arrayBuffer()).byteLength).toBe(0);
      }
    }
    for (const known of ['"another"', "", "junk", etag.slice(1, -1)])
      expect((await fetch(url, { headers: { "if-none-match": known } })).status).toBe(200);
  });
});

describe("a file that is removed while it is sent", () => {
  for (const range of [undefined, "bytes=1000-"]) {
    test(`comes whole${range === undefined ? "" : ", a part of it too"}`, async () => {
      const file = await keep(VIDEO_TASK, VIDEO, "video");
      const target = targetOf(gateway.services.assets.urlOf(VIDEO_TASK, file));
      const client = await openRawClient(gateway.url);
      const ask = range === undefined ? "" : `Range: ${range}\r\n`;
      client.send(`GET ${target} HTTP/1.1\r\nHost: gateway\r\n${ask}Connection: close\r\n\r\n`);
      await client.waitFor("\r\n\r\n");
      client.pause();
      await gateway.services.assets.remove(VIDEO_TASK);
      expect(existsSync(join(gateway.home, "assets", VIDEO_TASK))).toBe(false);
      client.resume();
      await client.ended();
      const received = client.received();
      client.close();
      const head = toText(received.subarray(0, 2_000)).split("\r\n\r\n")[0] ?? "";
      const body = received.subarray(head.length + 4);
      const want = range === undefined ? VIDEO : VIDEO.subarray(1_000);
      expect(head).toContain(`content-length: ${want.length}`);
      expect(Bun.hash(body)).toBe(Bun.hash(want));
      expect((await rawGet(target)).status).toBe(403);
    }, 60_000);
  }
});

describe("a folder of result files that cannot be written", () => {
  test("is one sentence at the start, and what was opened before is let go of", async () => {
    const home = mkdtempSync(join(tmpdir(), "switchyard-home-"));
    writeFileSync(join(home, "assets"), "");
    const start = () => startGateway({ environment: { SWITCHYARD_HOME: home } });
    const sentence = await start().then(
      () => "it started",
      (error: unknown) => (error instanceof Error ? error.message : ""),
    );
    expect(sentence).toBe(
      `The folder of result files ${join(home, "assets")} cannot be written (EEXIST). Give it to this user, or set ASSETS_URL.`,
    );
    rmSync(join(home, "assets"));
    await (await start()).close();
    // A thread that closes its database removes files of it meanwhile.
    rmSync(home, { recursive: true, force: true });
  });
});

describeOnS3("result files in a bucket", () => {
  test("are given out by the store, and not by the gateway", async () => {
    const server = await startS3Server();
    const environment = server.environment("a/b");
    const other = await startGateway({ environment });
    const file = await other.services.assets.store(TASK, IMAGE, "image");
    if ("notStored" in file) throw new Error(file.notStored);
    const signed = other.services.assets.urlOf(TASK, file);
    expect(signed).toStartWith(`${server.url}/results/a/b/${TASK}/`);
    const response = await fetch(signed);
    expect([response.status, response.headers.get("content-type")]).toEqual([200, "image/png"]);
    expect(Buffer.from(await response.arrayBuffer())).toEqual(Buffer.from(IMAGE));
    for (const path of [`/assets/${TASK}/${file.name}`, targetOf(url)])
      expect((await fetch(`${other.url}${path}`)).status).toBe(403);
    expect(existsSync(join(other.home, "assets"))).toBe(false);
    expect(JSON.stringify(other.logs)).not.toContain(environment.AWS_SECRET_ACCESS_KEY);
    await other.close();
    await server.stop();
  });
});
