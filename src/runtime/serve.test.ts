import { expect, test } from "bun:test";
import { serve } from "./serve.ts";

test("a listener that pauses takes no connection until it resumes, and none after its end", async () => {
  const listener = serve({
    hostname: "127.0.0.1",
    port: 0,
    stallSec: 60,
    handle: () => new Response("ok", { headers: { connection: "close" } }),
  });
  const isReached = async (): Promise<boolean> =>
    fetch(listener.url, { keepalive: false }).then(
      ({ ok }) => ok,
      () => false,
    );
  expect(await isReached()).toBe(true);
  listener.pause();
  expect(await isReached()).toBe(false);
  expect([listener.resume(), listener.resume()]).toEqual([true, true]);
  expect(await isReached()).toBe(true);
  await listener.drain();
  expect(listener.resume()).toBe(false);
  expect(await isReached()).toBe(false);
  await listener.stop();
});
