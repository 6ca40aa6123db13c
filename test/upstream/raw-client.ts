import { connect } from "node:net";
import { joinBytes, latin1Bytes, toBytes, toText } from "./bytes.ts";
import { createWatch } from "./watch.ts";

/** How a server ended a connection. */
export type ServerEnd = "fin" | "reset";

/** A client on a raw socket: what it sends and what it sees is up to the test, byte for byte. */
export interface RawClient {
  send(bytes: string | Uint8Array): void;
  /** All that came so far. */
  received(): Uint8Array;
  /** Resolves when this text has come, with all that came so far; rejects when the server ends without it. */
  waitFor(text: string): Promise<string>;
  /** Resolves when at least so many bytes have come. */
  waitForBytes(count: number): Promise<void>;
  /** Resolves when the server has ended the connection. */
  ended(): Promise<ServerEnd>;
  /** Bytes that the kernel has not taken yet: more than 0 when the server does not read. */
  unsentBytes(): number;
  /** Stops reading, so that the server's writes back up. */
  pause(): void;
  resume(): void;
  /** Closes only the sending side. */
  halfClose(): void;
  close(): void;
  /** Closes with a RST. */
  reset(): void;
}

/** Connects to a server given by its URL. */
export async function openRawClient(url: string): Promise<RawClient> {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true, noDelay: true });
  const watch = createWatch();
  let parts: Uint8Array[] = [];
  let receivedBytes = 0;
  let end: ServerEnd | undefined;
  const ended = (how: ServerEnd) => {
    end ??= how;
    watch.changed();
  };
  const received = () => {
    parts = [joinBytes(parts)];
    return parts[0] ?? new Uint8Array();
  };
  socket.on("data", (bytes: Uint8Array) => {
    parts.push(bytes);
    receivedBytes += bytes.length;
    watch.changed();
  });
  socket.on("end", () => ended("fin"));
  await new Promise<void>((resolve, reject) => {
    socket.once("error", reject);
    socket.once("connect", () => resolve());
  });
  socket.on("error", () => ended("reset"));

  return {
    send: (bytes) => void socket.write(toBytes(bytes)),
    received,
    waitFor: (text) =>
      watch.until(() => {
        const soFar = toText(received());
        if (soFar.includes(text)) return soFar;
        if (end !== undefined)
          throw new Error(
            `${end} before ${JSON.stringify(text.slice(0, 200))} in ${JSON.stringify(soFar.slice(-200))}`,
          );
        return undefined;
      }),
    waitForBytes: async (count) => void (await watch.until(() => receivedBytes >= count || undefined)),
    ended: () => watch.until(() => end),
    unsentBytes: () => socket.writableLength,
    pause: () => void socket.pause(),
    resume: () => void socket.resume(),
    halfClose: () => void socket.end(),
    close: () => void socket.destroy(),
    reset: () => void socket.resetAndDestroy(),
  };
}

/** The bytes of a POST request with a Content-Length. */
export function postBytes(
  target: string,
  body: string | Uint8Array,
  headers: readonly string[] = [],
): Uint8Array {
  const bytes = toBytes(body);
  const lines = [
    `POST ${target} HTTP/1.1`,
    "Host: double",
    "Content-Type: application/json",
    `Content-Length: ${bytes.length}`,
    ...headers,
  ];
  return joinBytes([latin1Bytes(`${lines.join("\r\n")}\r\n\r\n`), bytes]);
}
