import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { describeOnS3, startS3Server } from "../assets/s3-server.ts";
import { type Json, startGateway, type TestGateway } from "../gateway/gateway.ts";
import { toText } from "../upstream/bytes.ts";
import { openRawClient } from "../upstream/raw-client.ts";

// The console's files, and the way to them (catalogue, S27, S33).

const PAGE = "<!doctype html><title>Console</title>";
const SCRIPT = "console.log('hello')";

let folder: string;
let gateway: TestGateway;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "switchyard-console-"));
  const dist = join(folder, "dist");
  mkdirSync(join(dist, "assets"), { recursive: true });
  for (const [name, text] of [
    ["index.html", PAGE],
    ["assets/app-3f9c.js", SCRIPT],
  ] as const) {
    writeFileSync(join(dist, name), text);
    writeFileSync(join(dist, `${name}.br`), brotliCompressSync(text));
    writeFileSync(join(dist, `${name}.gz`), gzipSync(text));
  }
  writeFileSync(join(dist, "icon.svg"), "<svg/>");
  writeFileSync(join(folder, "secret.txt"), "a secret");
  symlinkSync(join(folder, "secret.txt"), join(dist, "link.txt"));
  symlinkSync(folder, join(dist, "up"));
  gateway = await startGateway({
    consoleFolder: dist,
    environment: { PUBLIC_URL: "https://gw.example/" },
  });
  // What is built anew while a process serves is not for it.
  writeFileSync(join(dist, "later.txt"), "later");
  rmSync(join(dist, "icon.svg"));
});
afterAll(async () => {
  await gateway.close();
  rmSync(folder, { recursive: true, force: true });
});

const get = (path: string, headers: Readonly<Record<string, string>> = {}, method = "GET") =>
  fetch(`${gateway.url}${path}`, { method, headers, redirect: "manual" });

describe("the way to the console", () => {
  test("from / for a browser; a program is told what there is", async () => {
    const browser = await get("/", { accept: "text/html,application/xhtml+xml,*/*;q=0.8" });
    expect([browser.status, browser.headers.get("location")]).toEqual([303, "/console/"]);
    expect(browser.headers.get("vary")).toBe("accept");
    for (const accept of ["*/*", "application/json"]) {
      const program = await get("/", { accept });
      expect([program.status, ((await program.json()) as Json).error.type]).toEqual([404, "not_found_error"]);
      expect(program.headers.get("vary")).toContain("accept");
    }
  });

  test("from /console", async () => {
    const { status, headers } = await get("/console");
    expect([status, headers.get("location")]).toEqual([303, "/console/"]);
  });
});

describe("the page", () => {
  for (const path of ["", "index.html", "requests/req_1", "models/openai/gpt", "x?api=/console/api/", "apis"])
    test(`at /console/${path}`, async () => {
      const response = await get(`/console/${path}`);
      expect([response.status, await response.text()]).toEqual([200, PAGE]);
      expect(response.headers.get("content-type")).toBe("text/html; charset=utf-8");
      expect(response.headers.get("cache-control")).toBe("no-cache");
    });

  test("may run and load nothing but its own, and show files of PUBLIC_URL", async () => {
    const { headers } = await get("/console/");
    const shown = "'self' data: blob: https://gw.example";
    expect(headers.get("content-security-policy")?.split("; ")).toEqual([
      "default-src 'self'",
      "script-src 'self'",
      "style-src 'self'",
      "connect-src 'self'",
      `img-src ${shown}`,
      `media-src ${shown}`,
      "object-src 'none'",
      "base-uri 'none'",
      "frame-ancestors 'none'",
      "form-action 'self'",
    ]);
    for (const [name, value] of [
      ["x-content-type-options", "nosniff"],
      ["x-frame-options", "DENY"],
      ["referrer-policy", "no-referrer"],
      ["cross-origin-opener-policy", "same-origin"],
      ["cross-origin-resource-policy", "same-origin"],
    ] as const)
      expect([name, headers.get(name)]).toEqual([name, value]);
  });

  test("is served to a client that has it by a 304, with the same policy", async () => {
    const first = await get("/console/");
    const etag = first.headers.get("etag") ?? "";
    const again = await get("/console/requests", { "if-none-match": etag });
    expect([again.status, await again.text()]).toEqual([304, ""]);
    expect(again.headers.get("content-security-policy")).toBe(first.headers.get("content-security-policy"));
    expect((await get("/console/", { "if-none-match": '"other"' })).status).toBe(200);
  });

  test("has no body for HEAD, and no other method", async () => {
    const { status, headers } = await get("/console/", {}, "HEAD");
    expect([status, headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
    expect((await get("/console/", {}, "POST")).status).toBe(405);
  });
});

describe("a file", () => {
  for (const [accepted, encoding] of [
    ["gzip, deflate, br", "br"],
    ["GZIP", "gzip"],
    ["br;q=0, gzip;q=0.5", "gzip"],
    ["br; q=0.0, gzip; q=0", null],
    ["identity", null],
    ["bro", null],
  ] as const)
    test(`for a client that accepts ${accepted}: ${encoding ?? "plain"}`, async () => {
      const { headers } = await get("/console/assets/app-3f9c.js", { "accept-encoding": accepted }, "HEAD");
      expect(headers.get("content-encoding")).toBe(encoding);
      expect(headers.get("vary")).toBe("accept-encoding");
      expect(headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
      const whole = await get("/console/assets/app-3f9c.js", { "accept-encoding": accepted });
      expect([await whole.text(), whole.headers.get("content-type")]).toEqual([
        SCRIPT,
        "text/javascript; charset=utf-8",
      ]);
    });

  test("has a tag of its own in each encoding", async () => {
    const tags = await Promise.all(
      ["br", "gzip", "identity"].map(async (accepted) => {
        const { headers } = await get("/console/assets/app-3f9c.js", { "accept-encoding": accepted });
        return headers.get("etag");
      }),
    );
    expect(new Set(tags).size).toBe(3);
  });

  test("of an earlier build is a 404, not the page", async () => {
    const response = await get("/console/assets/app-old1.js");
    expect([response.status, response.headers.get("cache-control")]).toEqual([404, "no-store"]);
  });

  test("is what was there at the start, whatever became of it", async () => {
    expect(await (await get("/console/icon.svg")).text()).toBe("<svg/>");
    expect(await (await get("/console/later.txt")).text()).toBe(PAGE);
  });

  test("is never one outside the folder, nor behind a link, nor a compressed form by its name", async () => {
    for (const path of [
      "../secret.txt",
      "..%2fsecret.txt",
      "%2e%2e/secret.txt",
      "..%5csecret.txt",
      "....//secret.txt",
      "/etc/passwd",
      "link.txt",
      "up/secret.txt",
      "assets/../../secret.txt",
      "assets/..%2f..%2fsecret.txt",
      "index.html.br",
      "__proto__",
      "constructor",
    ]) {
      const raw = await openRawClient(gateway.url);
      raw.send(`GET /console/${path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`);
      await raw.ended();
      const text = toText(raw.received());
      raw.close();
      expect([path, /^HTTP\/1\.1 (200|404|400) /.test(text), text.includes("a secret")]).toEqual([
        path,
        true,
        false,
      ]);
      if (text.startsWith("HTTP/1.1 200")) expect([path, text.endsWith(PAGE)]).toEqual([path, true]);
    }
  });
});

describe("where PUBLIC_URL is https", () => {
  test("the cookie is for https alone, and a page of http may not sign in", async () => {
    const post = (origin: string) =>
      fetch(`${gateway.url}/console/api/session`, {
        method: "POST",
        headers: { origin, "content-type": "application/json" },
        body: JSON.stringify({ credential: gateway.key }),
      });
    const good = await post("https://gw.example");
    expect([good.status, good.headers.get("set-cookie")?.endsWith("; Secure")]).toEqual([200, true]);
    // A proxy that ends TLS and passes the Host on.
    expect((await post(gateway.url.replace("http:", "https:"))).status).toBe(200);
    const plain = await post(gateway.url);
    expect([plain.status, ((await plain.json()) as Json).error.message]).toEqual([
      403,
      "Only pages of this gateway may ask for this: open https://gw.example/console/.",
    ]);
    expect((await post("http://gw.example")).status).toBe(403);
  });
});

describeOnS3("the page of a gateway with a bucket", () => {
  test("may show files of the bucket", async () => {
    const server = await startS3Server();
    const own = await startGateway({
      consoleFolder: join(folder, "dist"),
      environment: server.environment("x"),
    });
    const { headers } = await fetch(`${own.url}/console/`);
    for (const name of ["img-src", "media-src"])
      expect(headers.get("content-security-policy")).toContain(
        `${name} 'self' data: blob: ${own.url} ${server.url};`,
      );
    await own.close();
    await server.stop();
  });
});

test("a checkout without built files says so", async () => {
  const bare = await startGateway({ consoleFolder: join(folder, "nothing") });
  const response = await fetch(`${bare.url}/console/`);
  expect([response.status, ((await response.json()) as Json).error.type]).toEqual([404, "not_found_error"]);
  await bare.close();
});
