import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";

/** A server on 127.0.0.1 that nobody reaches. */
export interface OutOfReach {
  readonly port: number;
  /** Resolves once somebody tries. */
  tried(): Promise<void>;
  close(): void;
}

/** Accepts connections and says nothing, so that no TLS handshake ends. */
export async function startSilent(): Promise<OutOfReach> {
  const sockets = new Set<Socket>();
  const tried = Promise.withResolvers<void>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    tried.resolve();
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    tried: () => tried.promise,
    close() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

/** What the child runs: Node keeps to the backlog that it is given. */
const LISTEN = `const server = require("node:net").createServer();
server.listen({ port: 0, host: "127.0.0.1", backlog: 1 }, () => console.log(server.address().port));`;

/**
 * Swallows attempts to connect, as a firewall does that drops packets: the process that listens is frozen, and its queue
 * is full. Linux drops further attempts then.
 */
export async function startBlackHole(): Promise<OutOfReach> {
  const child = spawn("node", ["-e", LISTEN]);
  const port = await new Promise<number>((resolve) =>
    child.stdout.once("data", (text: Buffer) => resolve(Number(text.toString()))),
  );
  child.kill("SIGSTOP");
  const sockets: Socket[] = [];
  // The queue is full once an attempt stays open; three at a time, since the last that fits may be slow.
  for (let isFull = false; !isFull;) isFull = !(await connectThree(port, sockets));
  const ours = attemptsAt(port);
  return {
    port,
    async tried() {
      while (attemptsAt(port) === ours) await Bun.sleep(1);
    },
    close() {
      for (const socket of sockets) socket.destroy();
      child.kill("SIGKILL");
    },
  };
}

/** Whether any of three attempts was taken within a moment. */
async function connectThree(port: number, sockets: Socket[]): Promise<boolean> {
  let taken = false;
  for (let i = 0; i < 3; i += 1) {
    const socket = connect(port, "127.0.0.1", () => (taken = true));
    socket.on("error", () => {});
    sockets.push(socket);
  }
  await Bun.sleep(100);
  return taken;
}

/** How many connections to the port are attempted: in Linux's table, the state SYN_SENT. */
function attemptsAt(port: number): number {
  const remote = `:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  const rows = readFileSync("/proc/net/tcp", "utf8").split("\n");
  return rows.filter((row) => row.trim().split(/\s+/)[2]?.endsWith(remote) && / 02 /.test(row)).length;
}
