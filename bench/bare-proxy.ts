// The bare proxy that the gateway is compared with: what a proxy on this runtime cannot do without, and nothing else. A
// process of its own: `bare-proxy.ts <the URL to call> [tap]` prints {"url"} when it listens. As a tap it reads each
// chunk of a stream and looks at nothing. A gateway that has to look at each chunk does at least that.

const [upstream = "", kind] = process.argv.slice(2);

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
    const body = kind === "tap" && answer.body !== null ? tapped(answer.body) : answer.body;
    return new Response(body, { status: answer.status, headers: { "content-type": contentType } });
  },
  error: () => new Response("the upstream failed", { status: 502 }),
});

/** The runtime's direct streams, which cost less for each chunk than others. */
interface DirectController {
  write(bytes: Uint8Array): unknown;
  flush(wait: true): unknown;
  close(): void;
}

function tapped(body: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  const source = {
    type: "direct",
    async pull(controller: DirectController) {
      for (let read = await reader.read(); !read.done; read = await reader.read()) {
        controller.write(read.value);
        const room = controller.flush(true);
        if (room instanceof Promise) await room;
      }
      controller.close();
    },
    cancel: () => void reader.cancel(),
  };
  return new ReadableStream(source as unknown as ConstructorParameters<typeof ReadableStream<Uint8Array>>[0]);
}

process.once("SIGTERM", () => process.exit(0));
console.log(JSON.stringify({ url: server.url.origin }));
