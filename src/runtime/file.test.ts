import { expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileSlice } from "./file.ts";
import { serve } from "./serve.ts";

test("a file that is removed before its first byte is sent is a 404, never a short answer", async () => {
  const folder = mkdtempSync(join(tmpdir(), "switchyard-file-"));
  const path = join(folder, "file");
  const listener = serve({
    hostname: "127.0.0.1",
    port: 0,
    stallSec: 60,
    handle(request) {
      writeFileSync(path, "0123456789");
      const response = new Response(fileSlice(path, 2, 6), { status: 206 });
      if (request.url.endsWith("/gone")) rmSync(path);
      return response;
    },
  });
  const whole = await fetch(`${listener.url}/`);
  expect([whole.status, await whole.text()]).toEqual([206, "2345"]);
  const gone = await fetch(`${listener.url}/gone`);
  expect([gone.status, await gone.text()]).toEqual([404, ""]);
  await listener.stop();
  rmSync(folder, { recursive: true });
});
