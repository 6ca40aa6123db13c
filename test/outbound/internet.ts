import { type AddressInfo, createServer, type Socket } from "node:net";
import { createServer as createSecureServer } from "node:tls";
import { createPinnedFetch, type PinnedFetch } from "../../src/runtime/pinned-fetch.ts";
import type { Resolve } from "../../src/runtime/resolve.ts";
import { createAuthority } from "./certificates.ts";

/** A request that reached a server. */
export interface Asked {
  readonly scheme: "http" | "https";
  /** Without the port, which is not that of the world. */
  readonly host: string;
  readonly target: string;
  /** In lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly socket: Socket;
}

/** What a server says: a whole answer as bytes, after which it closes; nothing where it writes for itself. */
export type Answer = (asked: Asked) => string | Uint8Array | undefined;

/** A world of servers and names that is all on this machine. */
export interface Internet {
  /** Connects to any address: the server that stands for all of them, and only the ports 80 and 443 are open. */
  readonly connect: PinnedFetch;
  /** The script's answers, one after another, the last one for ever; rejects as a name server does where it has none. */
  readonly resolve: Resolve;
  /** Names and what they resolve to, each time they are asked for. */
  readonly names: Map<string, readonly (readonly string[])[]>;
  /** What was resolved, in order. */
  readonly resolved: string[];
  /** What was connected to, as address and port. */
  readonly connected: string[];
  /** The requests that arrived. */
  readonly asked: Asked[];
  /** Connections that any server has had. */
  connections(): number;
  /** Connections that are open now. */
  open(): number;
  answer: Answer;
  /** Forgets all that was, and answers with a short file again. */
  reset(): void;
  close(): void;
}

/** A whole answer: its status, its headers, its body. */
export function answerOf(
  status: number,
  headers: Readonly<Record<string, string>>,
  body: string | Uint8Array,
): Uint8Array {
  const bytes = Buffer.from(body as Uint8Array);
  const lines = Object.entries({ "content-length": String(bytes.length), connection: "close", ...headers });
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  return Buffer.concat([Buffer.from(`HTTP/1.1 ${status} x\r\n${head}\r\n`), bytes]);
}

const file: Answer = () => answerOf(200, { "content-type": "image/png" }, "a file");

/** Opens it. `names` are those for which its one certificate is good, beside IP addresses. */
export async function openInternet(names: readonly string[]): Promise<Internet> {
  const authority = createAuthority();
  const pinned = createPinnedFetch({ authorities: authority.cert });
  const sockets = new Set<Socket>();
  let connections = 0;
  const serve = (scheme: Asked["scheme"]) => (socket: Socket) => {
    connections += 1;
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket)).on("error", () => {});
    let text = "";
    socket.on("data", (bytes: Buffer) => {
      text += bytes.toString("latin1");
      if (!text.includes("\r\n\r\n")) return;
      const asked = readHead(scheme, text, socket);
      internet.asked.push(asked);
      const answer = internet.answer(asked);
      if (answer !== undefined) socket.end(answer);
    });
  };
  const secure = createSecureServer(authority.issue(names), serve("https"));
  const plain = createServer(serve("http"));
  const ports = new Map<string, number>();
  for (const [port, server] of [
    ["443", secure],
    ["80", plain],
  ] as const) {
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    ports.set(port, (server.address() as AddressInfo).port);
  }
  const internet: Internet = {
    names: new Map(),
    resolved: [],
    connected: [],
    asked: [],
    answer: file,
    connections: () => connections,
    open: () => sockets.size,
    async resolve(hostname) {
      internet.resolved.push(hostname);
      const times = internet.resolved.filter((name) => name === hostname).length;
      const script = internet.names.get(hostname);
      const answer = script?.[times - 1] ?? script?.at(-1);
      if (answer === undefined) throw Object.assign(new Error("not found"), { code: "ENOTFOUND" });
      return answer;
    },
    async connect(request) {
      const url = new URL(request.url);
      const port = url.port === "" ? (url.protocol === "https:" ? "443" : "80") : url.port;
      internet.connected.push(`${request.address} ${port}`);
      const real = ports.get(port);
      if (real === undefined) throw Object.assign(new Error("refused"), { code: "ECONNREFUSED" });
      url.port = String(real);
      return await pinned({ ...request, url, address: "127.0.0.1" });
    },
    reset() {
      internet.names.clear();
      for (const list of [internet.resolved, internet.connected, internet.asked]) list.length = 0;
      for (const socket of sockets) socket.destroy();
      connections = 0;
      internet.answer = file;
    },
    close() {
      for (const socket of sockets) socket.destroy();
      secure.close();
      plain.close();
    },
  };
  return internet;
}

function readHead(scheme: Asked["scheme"], text: string, socket: Socket): Asked {
  const [first = "", ...lines] = text.slice(0, text.indexOf("\r\n\r\n")).split("\r\n");
  const headers = Object.fromEntries(
    lines.map((line) => {
      const colon = line.indexOf(":");
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()] as const;
    }),
  );
  const host = (headers["host"] ?? "").replace(/:\d+$/, "");
  return { scheme, host, target: first.split(" ")[1] ?? "", headers, socket };
}
