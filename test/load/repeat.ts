/** What became of requests that were sent one after the other on connections that are kept. */
export interface Repeated {
  readonly answers: number;
  readonly seconds: number;
  readonly times: readonly number[];
  /** How many answers had each status; `broken` for a connection that ended. */
  readonly statuses: Readonly<Record<string, number>>;
}

interface Repeating {
  askedAt: number;
  buffer: Buffer;
}

/** Sends a request without a body `count` times over `connections`, each when the one before was answered. */
export async function repeat(
  url: string,
  headers: Readonly<Record<string, string>>,
  { count, connections }: { readonly count: number; readonly connections: number },
): Promise<Repeated> {
  const { hostname, port, pathname } = new URL(url);
  const lines = Object.entries({ host: "x", ...headers }).map(([name, value]) => `${name}: ${value}\r\n`);
  const request = `GET ${pathname} HTTP/1.1\r\n${lines.join("")}\r\n`;
  const statuses: Record<string, number> = {};
  const times: number[] = [];
  const over = Promise.withResolvers<void>();
  let asked = 0;
  let open = connections;
  const note = (status: string): void => void (statuses[status] = (statuses[status] ?? 0) + 1);
  const ask = (socket: Bun.Socket<Repeating>): void => {
    if (asked >= count) return void socket.end();
    asked += 1;
    socket.data.askedAt = performance.now();
    socket.write(request);
  };
  const take = (socket: Bun.Socket<Repeating>, bytes: Uint8Array): void => {
    const { data } = socket;
    data.buffer = Buffer.concat([data.buffer, bytes]);
    const end = data.buffer.indexOf("\r\n\r\n");
    if (end < 0) return;
    const head = data.buffer.toString("latin1", 0, end + 2);
    const length = Number(/\r\ncontent-length: (\d+)\r\n/i.exec(head)?.[1] ?? 0);
    if (data.buffer.length < end + 4 + length) return;
    data.buffer = Buffer.alloc(0);
    note(head.slice(9, 12));
    times.push(performance.now() - data.askedAt);
    ask(socket);
  };
  const startedAt = performance.now();
  for (let i = 0; i < connections; i += 1)
    void Bun.connect<Repeating>({
      hostname,
      port: Number(port),
      data: { askedAt: 0, buffer: Buffer.alloc(0) },
      socket: {
        open: ask,
        data: take,
        close() {
          open -= 1;
          if (open === 0) over.resolve();
        },
        error: () => note("broken"),
      },
    });
  await over.promise;
  return { answers: times.length, seconds: (performance.now() - startedAt) / 1_000, times, statuses };
}
