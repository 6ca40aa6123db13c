// The bare proxy that the gateway is compared with: what a proxy on this runtime cannot do without, and nothing else.
// A process of its own: `bare-proxy.ts <the URL to call>` prints {"url"} when it listens.

const upstream = process.argv[2] ?? "";

const server = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  idleTimeout: 255,
  development: false,
  async fetch(request) {
    const answer = await fetch(upstream, {
      method: "POST",
      headers: {
        authorization: request.headers.get("authorization") ?? "",
        "content-type": request.headers.get("content-type") ?? "",
      },
      body: await request.arrayBuffer(),
      redirect: "manual",
      signal: request.signal,
      timeout: false,
    });
    const contentType = answer.headers.get("content-type") ?? "";
    return new Response(answer.body, { status: answer.status, headers: { "content-type": contentType } });
  },
  error: () => new Response("the upstream failed", { status: 502 }),
});

process.once("SIGTERM", () => process.exit(0));
console.log(JSON.stringify({ url: server.url.origin }));
