import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openRawClient } from "../../test/upstream/raw-client.ts";
import { fileSlice } from "./file.ts";
import { serve } from "./serve.ts";

// The runtime looks every 4 s, by the machine's own clock, so these wait for it.

const BYTES = 40_000_000;
const folder = mkdtempSync(join(tmpdir(), "switchyard-stall-"));
const path = join(folder, "file");
writeFileSync(path, new Uint8Array(BYTES));
const listener = serve({
  hostname: "127.0.0.1",
  port: 0,
  stallSec: 4,
  handle(request, connection) {
    if (request.url.endsWith("/file")) return new Response(fileSlice(path, 0, BYTES));
    if (request.url.endsWith("/plain")) {
      connection.limitStall();
      return new Response(new Uint8Array(BYTES));
    }
    return new Response("ordinary");
  },
});
afterAll(async () => {
  await listener.stop();
  rmSync(folder, { recursive: true });
});

for (const kind of ["file", "plain"])
  test(`who reads nothing of a ${kind} answer loses the connection; one that is only idle stays`, async () => {
    const idle = await openRawClient(listener.url);
    idle.send("GET /ordinary HTTP/1.1\r\nhost: x\r\n\r\n");
    await idle.waitFor("ordinary");
    const client = await openRawClient(listener.url);
    client.send(`GET /${kind} HTTP/1.1\r\nhost: x\r\n\r\n`);
    await client.waitFor("200 OK");
    client.pause();
    await Bun.sleep(13_000);
    client.resume();
    await client.ended();
    expect(client.received().length).toBeLessThan(BYTES);
    idle.send("GET /ordinary HTTP/1.1\r\nhost: x\r\n\r\n");
    await idle.waitForBytes(idle.received().length + 50);
    idle.close();
  }, 60_000);
