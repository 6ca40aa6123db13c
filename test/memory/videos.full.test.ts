import { afterEach, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FILE_TYPE, mp4Box, mp4File } from "../assets/media-files.ts";
import { LONG } from "../runs.ts";

const MIB = 1024 * 1024;
const VIDEOS = 8;
/** Held whole, they would take at least so much for each of them. */
const VIDEO_BYTES = (LONG ? 200 : 40) * MIB;
/** What taking all of them may add to a process: buffers of sockets and of the runtime, and what is not yet collected. */
const MAY_GROW = 200 * MIB;

const ends: (() => void)[] = [];
afterEach(() => {
  for (const end of ends.splice(0)) end();
});

/** Everything of a video before its data, whose box says that it has the rest. */
function headOf(bytes: number): Uint8Array {
  const video = mp4File({ dataBytes: 0 });
  const head = Buffer.from(video.subarray(0, video.length - 8));
  const data = Buffer.from(mp4Box("mdat"));
  data.writeUInt32BE(bytes - head.length, 0);
  expect(head.subarray(0, FILE_TYPE.length).equals(FILE_TYPE)).toBe(true);
  return Buffer.concat([head, data]);
}

const PIECE = Buffer.alloc(MIB, 7);

/** A server that sends a video to everybody, as fast as it is taken. */
async function serveVideos(): Promise<string> {
  const head = headOf(VIDEO_BYTES);
  const server: Server = createServer((socket) => {
    socket.on("error", () => {});
    socket.once("data", () => {
      socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${VIDEO_BYTES}\r\nConnection: close\r\n\r\n`);
      socket.write(head);
      let left = VIDEO_BYTES - head.length;
      const more = (): void => {
        while (left > 0) {
          const piece = PIECE.subarray(0, Math.min(left, MIB));
          left -= piece.length;
          if (!socket.write(piece)) return;
        }
        socket.end();
      };
      socket.on("drain", more);
      more();
    });
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  ends.push(() => void server.close());
  const address = server.address();
  return `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}`;
}

/** What the video's bytes come to. */
function expectedHash(): string {
  const hash = new Bun.CryptoHasher("sha256").update(headOf(VIDEO_BYTES));
  for (let left = VIDEO_BYTES - headOf(VIDEO_BYTES).length; left > 0; left -= MIB)
    hash.update(PIECE.subarray(0, Math.min(left, MIB)));
  return hash.digest("hex");
}

/** A store that speaks S3 just well enough, and counts what it is sent. */
function serveBucket() {
  const sizes: number[] = [];
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    maxRequestBodySize: 1024 * MIB,
    async fetch(request) {
      if (request.method === "GET") return new Response("<ListBucketResult/>");
      if (request.method !== "PUT") return new Response();
      let size = 0;
      if (request.body !== null) for await (const piece of request.body) size += piece.length;
      if (Number(request.headers.get("content-length")) !== size) return new Response("", { status: 400 });
      sizes.push(size);
      return new Response();
    },
  });
  ends.push(() => void server.stop(true));
  return { url: `http://127.0.0.1:${server.port}`, sizes };
}

interface Taken {
  readonly files: readonly { readonly bytes: number; readonly sha256: string }[];
  readonly grownBytes: number;
  readonly longestMs: number;
}

async function takeVideos(bucketUrl = ""): Promise<{ readonly taken: Taken; readonly folder: string }> {
  const folder = mkdtempSync(join(tmpdir(), "switchyard-videos-"));
  ends.push(() => rmSync(folder, { recursive: true, force: true }));
  const script = join(import.meta.dirname, "taker.ts");
  const child = Bun.spawn(
    [process.execPath, script, folder, await serveVideos(), String(VIDEOS), bucketUrl],
    {
      stdout: "pipe",
      stderr: "inherit",
      env: { ...process.env, NO_PROXY: "127.0.0.1" },
    },
  );
  ends.push(() => child.kill("SIGKILL"));
  const taken = JSON.parse(await child.stdout.text()) as Taken;
  const { grownBytes, longestMs } = taken;
  console.log(
    `${VIDEOS} videos of ${VIDEO_BYTES / MIB} MiB at once into a ${bucketUrl === "" ? "folder" : "bucket"}: ${Math.round(grownBytes / MIB)} MiB more at the most, the main thread blocked for ${longestMs} ms at the longest`,
  );
  return { taken, folder };
}

const FILES = Array.from({ length: VIDEOS }, () => ({ bytes: VIDEO_BYTES, sha256: expectedHash() }));

test("videos that are fetched at once go to a folder as they come: none of them is ever whole in memory", async () => {
  const { taken, folder } = await takeVideos();
  expect(taken.files).toEqual(FILES);
  expect(taken.grownBytes).toBeLessThan(MAY_GROW);
  expect(readdirSync(folder)).toHaveLength(VIDEOS);
}, 120_000);

test("and so they go to a bucket, each in one request of their length", async () => {
  const bucket = serveBucket();
  const { taken, folder } = await takeVideos(bucket.url);
  expect(taken.files).toEqual(FILES);
  expect(bucket.sizes.filter((size) => size > 1)).toEqual(FILES.map(({ bytes }) => bytes));
  expect(taken.grownBytes).toBeLessThan(MAY_GROW);
  expect(readdirSync(join(folder, "spool"))).toEqual([]);
}, 120_000);
