import { expect, test } from "bun:test";
import { nginxConfig } from "./nginx.ts";

test("nginx listens on one port of this machine, keeps connections and buffers no stream", () => {
  const config = nginxConfig("/tmp/n", 81, "127.0.0.1:80");
  for (const part of [
    "listen 127.0.0.1:81;",
    "server 127.0.0.1:80;",
    "keepalive 256;",
    "proxy_buffering off;",
  ])
    expect(config).toContain(part);
  expect(config.split("{").length).toBe(config.split("}").length);
});
