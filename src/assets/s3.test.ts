import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { JPEG_FILE, mp4File, pngFile } from "../../test/assets/media-files.ts";
import { describeOnS3, type S3Server, startS3Server } from "../../test/assets/s3-server.ts";
import { createFakeClock } from "../../test/gateway/fake-clock.ts";
import { type Clock, systemClock } from "../core/time/clock.ts";
import { GatewayError } from "../core/errors.ts";
import { systemRandom } from "../core/random.ts";
import type { ResultFile } from "../core/task.ts";
import type { Insist } from "./assets.ts";
import { openS3Assets } from "./s3.ts";
import { readS3Address, type S3Address } from "./s3-address.ts";

const TASK = `img_${"0a".repeat(16)}`;
const OTHER = `vid_${"0b".repeat(16)}`;

function stored(answer: ResultFile | { readonly notStored: string }): ResultFile {
  if ("notStored" in answer) throw new Error(answer.notStored);
  return answer;
}

/** What a promise that must reject rejects with. */
async function failureOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => "it did not reject",
    (error: unknown) => error,
  );
}

const spoolFolder = mkdtempSync(join(tmpdir(), "switchyard-spool-"));
afterAll(() => rmSync(spoolFolder, { recursive: true, force: true }));
/** What is on its way, or was left behind. */
const spooled = (): string[] => readdirSync(spoolFolder);

function openOnS3(address: S3Address, clock: Clock): ReturnType<typeof openS3Assets> {
  return openS3Assets({ address, spoolFolder, clock, random: systemRandom });
}

function addressOf(environment: Readonly<Record<string, string>>): S3Address {
  return readS3Address(environment.ASSETS_URL ?? "", (name) => environment[name]);
}

describeOnS3("a bucket", () => {
  let server: S3Server;
  beforeAll(async () => {
    server = await startS3Server();
  });
  afterAll(() => server.stop());

  const openIn = (prefix: string, clock = systemClock) =>
    openOnS3(addressOf(server.environment(prefix)), clock);

  test("keeps files by names made of their content, each once", async () => {
    const assets = await openIn("kept/here");
    const video = mp4File({ dataBytes: 12 * 1024 * 1024 });
    for (const [bytes, kind, mediaType] of [
      [pngFile(), "image", "image/png"],
      [JPEG_FILE, "image", "image/jpeg"],
      [video, "video", "video/mp4"],
    ] as const) {
      const file = stored(await assets.store(TASK, bytes, kind));
      expect(stored(await assets.store(TASK, bytes, kind))).toEqual(file);
      const sha256 = new Bun.CryptoHasher("sha256").update(bytes).digest("hex");
      expect(file).toMatchObject({ mediaType, bytes: bytes.length, sha256 });
      expect(Bun.hash((await assets.read(TASK, file.name)) ?? "")).toBe(Bun.hash(bytes));
      expect(await assets.read(OTHER, file.name)).toBeUndefined();
      expect(server.keys()).toContain(`kept/here/${TASK}/${file.name}`);
    }
    expect(server.keys().filter((key) => key.startsWith("kept/")).length).toBe(3);
    expect(await assets.store(TASK, new Uint8Array(9), "image")).toHaveProperty("notStored");
    expect(spooled()).toEqual([]);
    expect(await assets.read(TASK, "../x")).toBeUndefined();
  });

  test("gives a file out by URLs of its own, for an hour and to nobody else", async () => {
    const assets = await openIn("given");
    const bytes = pngFile();
    const file = stored(await assets.store(TASK, bytes, "image"));
    const url = assets.urlOf(TASK, file);
    expect(url).toStartWith(`${server.url}/results/given/${TASK}/${file.name}?`);
    expect(new URL(url).searchParams.get("X-Amz-Expires")).toBe("3600");
    const response = await fetch(url);
    expect(response.status).toBe(200);
    expect(Bun.hash(await response.arrayBuffer())).toBe(Bun.hash(bytes));
    expect(response.headers.get("content-type")).toBe("image/png");
    expect(response.headers.get("content-disposition")).toBe(
      `inline; filename="${TASK}-${file.name.slice(0, 8)}.png"`,
    );
    const part = await fetch(url, { headers: { range: "bytes=5-9" } });
    expect([part.status, (await part.arrayBuffer()).byteLength]).toEqual([206, 5]);
    for (const wrong of [
      url.split("?")[0] ?? "",
      url.replace(/(Signature=)(.)/, (_, name: string, digit: string) => name + (digit === "0" ? "1" : "0")),
      url.replace("Expires=3600", "Expires=7200"),
      url.replace("inline", "attachment"),
      `${url}&x=1`,
    ])
      expect([wrong, (await fetch(wrong)).status]).toEqual([wrong, 403]);
    expect((await fetch(url, { method: "DELETE" })).status).toBe(403);
    expect(await assets.open(new URL(url).pathname, new URL(url).search.slice(1))).toBeUndefined();
    await assets.remove(TASK);
    expect((await fetch(url)).status).toBe(404);
  });

  test("loses what is removed of a task, and nothing of others", async () => {
    const assets = await openIn("removed");
    for (const shade of [1, 2, 3]) await assets.store(TASK, pngFile(9, 9, shade), "image");
    const file = stored(await assets.store(OTHER, pngFile(), "image"));
    await assets.remove(TASK);
    await assets.remove(TASK);
    expect(server.keys().filter((key) => key.startsWith("removed/"))).toEqual([
      `removed/${OTHER}/${file.name}`,
    ]);
    expect(await failureOf(assets.remove("img_1"))).toMatchObject({ message: "This is no id of a task." });
  });

  test("is swept of files of an hour that nobody names", async () => {
    const files = await openIn("swept");
    const [named, orphan] = await Promise.all(
      [1, 2].map(async (shade) => stored(await files.store(TASK, pngFile(9, 9, shade), "image")).name),
    );
    const isNamed = (task: string, name: string) => Promise.resolve(task === TASK && name === named);
    expect(await files.sweep(isNamed)).toBe(0);
    const later = await openIn("swept", createFakeClock(systemClock.nowMs() + 2 * 3_600_000));
    expect(await later.sweep(isNamed)).toBe(1);
    expect(server.keys().filter((key) => key.startsWith("swept/"))).toEqual([`swept/${TASK}/${named}`]);
    expect(orphan).not.toBe(named);
  });

  test("is swept of what processes that died had on their way to it, for an hour at least", async () => {
    const files = await openIn("died");
    const [old, young, other] = [`.${"0a".repeat(16)}.partial`, `.${"0b".repeat(16)}.partial`, "notes.txt"];
    const longAgoSec = systemClock.nowMs() / 1000 - 3_700;
    for (const name of [old, young, other]) writeFileSync(join(spoolFolder, name), "half a file");
    for (const name of [old, other]) utimesSync(join(spoolFolder, name), longAgoSec, longAgoSec);
    await files.sweep(() => Promise.resolve(false));
    expect(spooled().sort()).toEqual([young, other].sort());
    for (const name of [young, other]) rmSync(join(spoolFolder, name));
  });

  test("takes a file in pieces, and nothing of one whose source breaks off", async () => {
    const files = await openIn("pieces");
    const video = mp4File({ dataBytes: 3 * 1024 * 1024 + 5 });
    const pieces = async function* (end: number) {
      for (let at = 0; at < end; at += 70_000) yield video.subarray(at, Math.min(end, at + 70_000));
      if (end < video.length) throw new Error("it broke off");
    };
    expect(await failureOf(files.store(TASK, pieces(2_000_000), "video"))).toMatchObject({
      message: "it broke off",
    });
    expect(server.keys().filter((key) => key.startsWith("pieces/"))).toEqual([]);
    const file = stored(await files.store(TASK, pieces(video.length), "video"));
    expect(file).toEqual(stored(await files.store(TASK, video, "video")));
    expect(spooled()).toEqual([]);
  });

  test("is swept of nothing that is not ours", async () => {
    const outer = await openIn("");
    const inner = await openIn("inner");
    const file = stored(await inner.store(TASK, pngFile(), "image"));
    const later = await openIn("", createFakeClock(systemClock.nowMs() + 2 * 3_600_000));
    await later.sweep(() => Promise.resolve(false));
    expect(server.keys()).toContain(`inner/${TASK}/${file.name}`);
    expect(await outer.read(TASK, file.name)).toBeUndefined();
  });

  for (const [name, change] of [
    ["whose secret is wrong", { AWS_SECRET_ACCESS_KEY: "wrong-canary" }],
    ["whose key is unknown", { AWS_ACCESS_KEY_ID: "nobody" }],
    ["that is not there", { ASSETS_URL: "nonesuch" }],
    ["of a store that is away", { ASSETS_URL: "away" }],
  ] as const) {
    test(`${name} is one sentence when it is opened, without a secret`, async () => {
      const good = server.environment("x");
      const odd: Readonly<Record<string, string>> = {
        nonesuch: good.ASSETS_URL.replace("s3://results", "s3://nonesuch"),
        away: "s3://results/x?endpoint=http://127.0.0.1:9",
      };
      const url = "ASSETS_URL" in change ? odd[change.ASSETS_URL] : good.ASSETS_URL;
      const address = addressOf({ ...good, ...change, ASSETS_URL: url ?? "" });
      const failure = await failureOf(openOnS3(address, systemClock));
      const sentence = failure instanceof Error ? failure.message : "";
      expect(sentence).toMatch(
        /^The bucket of ASSETS_URL cannot be written, listed and cleared \(\w+\)\. .*\.$/,
      );
      expect(sentence).not.toContain("canary");
    });
  }
});

describe("a store that fails", () => {
  /** A store that takes the first requests, which prove it, and then does what a test wants. */
  async function openOn(answer: () => Response | Promise<Response>) {
    let proven = false;
    const seen: string[] = [];
    const server = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      fetch(request) {
        if (proven) {
          seen.push(`${request.method} ${new URL(request.url).pathname}`);
          return answer();
        }
        return request.method === "GET" ? new Response("<ListBucketResult/>") : new Response();
      },
    });
    const clock = createFakeClock();
    const address = addressOf({
      ASSETS_URL: `s3://results/x?endpoint=http://127.0.0.1:${server.port}`,
      AWS_ACCESS_KEY_ID: "id",
      AWS_SECRET_ACCESS_KEY: "secret-canary",
    });
    const assets = await openOnS3(address, clock);
    proven = true;
    return { assets, clock, seen, stop: () => server.stop(true) };
  }

  const code = (status: number, word: string) => () =>
    new Response(`<Error><Code>${word}</Code><Message>No.</Message></Error>`, { status });
  for (const [name, answer] of [
    ["is overloaded", code(503, "SlowDown")],
    ["refuses the write", code(403, "AccessDenied")],
    ["has lost the bucket", code(404, "NoSuchBucket")],
    ["answers with a page", () => new Response("<html>", { status: 502 })],
  ] as const) {
    test(`because it ${name} has stored nothing, and can be tried again`, async () => {
      const { assets, stop } = await openOn(answer);
      const failure = await failureOf(assets.store(TASK, pngFile(), "image"));
      expect(failure).toBeInstanceOf(GatewayError);
      expect(failure).toMatchObject({
        kind: "overloaded_error",
        message: "Results cannot be stored at the moment.",
      });
      expect(spooled()).toEqual([]);
      expect(await failureOf(assets.read(TASK, `${"ab".repeat(16)}.png`))).toMatchObject({
        kind: "overloaded_error",
        message: "Results cannot be read at the moment.",
      });
      expect(await failureOf(assets.remove(TASK))).toBeInstanceOf(Error);
      expect(await failureOf(assets.sweep(() => Promise.resolve(true)))).toBeInstanceOf(Error);
      await stop();
    });
  }

  test("by not answering is left when its time is over", async () => {
    const { assets, clock, seen, stop } = await openOn(() => new Promise(() => {}));
    const failure = failureOf(assets.store(TASK, pngFile(), "image"));
    while (seen.length === 0) await Bun.sleep(5);
    let over = false;
    void failure.then(() => (over = true));
    await clock.advance(29_000);
    expect(over).toBe(false);
    await clock.advance(2_000);
    expect(await failure).toMatchObject({ kind: "overloaded_error", cause: { code: "Timeout" } });
    expect(spooled()).toEqual([]);
    await stop();
  });

  test("is given the same file again, and its source is not asked for it twice", async () => {
    let refusals = 2;
    const { assets, seen, stop } = await openOn(() =>
      refusals-- > 0 ? code(503, "SlowDown")() : new Response(),
    );
    let asked = 0;
    const source = async function* () {
      asked += 1;
      yield pngFile();
    };
    const insist: Insist = async (work) => {
      for (;;) {
        try {
          return await work();
        } catch (error) {
          expect(error).toMatchObject({ kind: "overloaded_error" });
        }
      }
    };
    stored(await assets.store(TASK, source(), "image", insist));
    expect([asked, seen.length, new Set(seen).size]).toEqual([1, 3, 1]);
    expect(spooled()).toEqual([]);
    await stop();
  });

  test("in the midst of a file has stored nothing, however it does so", async () => {
    const video = mp4File({ dataBytes: 40 * 1024 * 1024 });
    const ways: readonly ((socket: Socket) => void)[] = [
      (socket) => socket.destroy(),
      (socket) => socket.resetAndDestroy(),
      (socket) => socket.end("HTTP/1.1 503 Slow Down\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"),
      (socket) => socket.write("HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n"),
    ];
    for (const way of ways) {
      const sockets = new Set<Socket>();
      const server = createServer((socket) => {
        sockets.add(socket);
        socket.on("error", () => {});
        socket.once("data", (bytes) => {
          const isFile = bytes.toString("latin1").includes(`/${TASK}/`);
          if (isFile) return way(socket);
          const body = "<ListBucketResult/>";
          socket.end(`HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
        });
      });
      await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
      const { port } = server.address() as AddressInfo;
      const environment = {
        ASSETS_URL: `s3://results/x?endpoint=http://127.0.0.1:${port}`,
        AWS_ACCESS_KEY_ID: "id",
        AWS_SECRET_ACCESS_KEY: "secret-canary",
      };
      const assets = await openOnS3(addressOf(environment), systemClock);
      const failure = await failureOf(assets.store(TASK, video, "video"));
      expect(failure).toMatchObject({ kind: "overloaded_error", cause: { name: "S3Failure" } });
      expect(Bun.inspect(failure)).not.toContain("canary");
      expect(Bun.inspect(failure)).not.toContain("X-Amz-Signature");
      expect(spooled()).toEqual([]);
      for (const socket of sockets) socket.destroy();
      server.close();
    }
  });

  test("to have an object is told from one that fails", async () => {
    const { assets, stop } = await openOn(code(404, "NoSuchKey"));
    expect(await assets.read(TASK, `${"ab".repeat(16)}.png`)).toBeUndefined();
    await stop();
  });
});
