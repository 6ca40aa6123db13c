import { expect, test } from "bun:test";
import { createFakeClock } from "../../test/gateway/fake-clock.ts";
import { openS3Bucket } from "./s3.ts";

test("an object that is cut off on its way is a failure, and no part of it is given", async () => {
  const server = Bun.listen({
    hostname: "127.0.0.1",
    port: 0,
    socket: {
      data(socket) {
        socket.write(`HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n${"x".repeat(900)}`);
        socket.end();
      },
    },
  });
  const bucket = openS3Bucket(
    {
      bucket: "results",
      region: "us-east-1",
      endpoint: `http://127.0.0.1:${server.port}`,
      accessKeyId: "id",
      secretAccessKey: "secret-canary",
    },
    createFakeClock(),
  );
  const failure = await bucket.get("x").then(
    () => undefined,
    (error: unknown) => error,
  );
  server.stop(true);
  expect(failure).toMatchObject({ name: "S3Failure", code: "ConnectionClosed" });
  expect(String(failure)).not.toContain("canary");
});

test("a file is sent by a URL that is signed for an hour, and a list goes on where the last one ended", async () => {
  const asked: [method: string, path: string, signedSec: string | null, after: string | null][] = [];
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch({ method, url }) {
      const { pathname, searchParams } = new URL(url);
      asked.push([method, pathname, searchParams.get("X-Amz-Expires"), searchParams.get("start-after")]);
      return new Response("<ListBucketResult></ListBucketResult>");
    },
  });
  const credentials = { accessKeyId: "id", secretAccessKey: "secret-canary" };
  const bucket = openS3Bucket(
    { bucket: "results", region: "us-east-1", endpoint: server.url.origin, ...credentials },
    createFakeClock(),
  );
  await bucket.put("a/b.png", new Blob(["x"]), "image/png");
  expect(await bucket.list("a/", "")).toEqual({ objects: [], more: false });
  await bucket.list("a/", "a/b.png");
  await server.stop(true);
  expect(asked).toEqual([
    ["PUT", "/results/a/b.png", "3600", null],
    ["GET", "/results/", null, null],
    ["GET", "/results/", null, "a/b.png"],
  ]);
});

test("a file that the store refuses is a failure with the store's word, or its status", async () => {
  const bodies = ["<Error><Code>SlowDown</Code></Error>", "busy"];
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: () => new Response(bodies.shift(), { status: 503 }),
  });
  const credentials = { accessKeyId: "id", secretAccessKey: "secret-canary" };
  const bucket = openS3Bucket(
    { bucket: "results", region: "us-east-1", endpoint: server.url.origin, ...credentials },
    createFakeClock(),
  );
  const failure = () => bucket.put("a/b.png", new Blob(["x"]), "image/png").catch((error: unknown) => error);
  expect(await failure()).toMatchObject({ name: "S3Failure", code: "SlowDown" });
  expect(await failure()).toMatchObject({ name: "S3Failure", code: "status 503" });
  await server.stop(true);
});

test("a bucket without an endpoint is Amazon's in its region", () => {
  const credentials = { accessKeyId: "id", secretAccessKey: "secret-canary" };
  const bucket = openS3Bucket({ bucket: "results", region: "eu-west-1", ...credentials }, createFakeClock());
  const url = new URL(bucket.presign("a/b.png", 3_600, "c.png"));
  expect(url.origin + url.pathname).toBe("https://s3.eu-west-1.amazonaws.com/results/a/b.png");
  expect(url.search).not.toContain("canary");
  expect(url.searchParams.get("response-content-disposition")).toBe('inline; filename="c.png"');
});
