import { spawn } from "node:child_process";
import { join } from "node:path";
import { describeWhere } from "../required.ts";

// The shell without windows and tabs comes first: it takes half the CPU.
const NAMES = ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"];
const found = NAMES.map((name) => Bun.which(name)).find((path) => path !== null);

/** The binary of Chromium; empty where there is none. */
export function chromiumPath(): string {
  return found ?? "";
}

/** Tests that need Chromium; where there is none, one line that says so. */
export function describeInChromium(name: string, tests: () => void): void {
  describeWhere(found !== undefined, "Chromium is not installed", name, tests);
}

/** Longer no page takes. */
const MOST_MS = 170_000;

/**
 * Opens a page whose script is `script`, beside which `files` are served by their names, and gives what the script
 * returns. It runs as the body of an async function.
 */
export async function inChromium(
  script: string,
  files: Readonly<Record<string, Uint8Array>>,
): Promise<unknown> {
  const page = `<!doctype html><script>globalThis.result = (async () => {${script}})();</script>`;
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch(request) {
      const name = new URL(request.url).pathname.slice(1);
      const bytes = files[name];
      if (bytes !== undefined) return respondWithPart(bytes, request.headers.get("range"), name);
      return name === ""
        ? new Response(page, { headers: { "content-type": "text/html" } })
        : new Response(null, { status: 404 });
    },
  });
  try {
    return JSON.parse(await browse(`http://127.0.0.1:${server.port}/`)) as unknown;
  } finally {
    await server.stop(true);
  }
}

const TYPES: Readonly<Record<string, string>> = {
  mp4: "video/mp4",
  png: "image/png",
  jpeg: "image/jpeg",
  webp: "image/webp",
};

/** A video can be moved about in only where its parts can be had. */
function respondWithPart(bytes: Uint8Array, range: string | null, name: string): Response {
  const headers = { "content-type": TYPES[name.split(".").at(-1) ?? ""] ?? "", "accept-ranges": "bytes" };
  const [, from, to] = /^bytes=(\d+)-(\d*)$/.exec(range ?? "") ?? [];
  if (from === undefined) return new Response(bytes, { headers });
  const end = Math.min(bytes.length, to === undefined || to === "" ? bytes.length : Number(to) + 1);
  return new Response(bytes.slice(Number(from), end), {
    status: 206,
    headers: { ...headers, "content-range": `bytes ${from}-${end - 1}/${bytes.length}` },
  });
}

/** Playwright runs under Node. */
function browse(url: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn("node", [join(import.meta.dir, "browse.mjs"), found ?? "", url], {
      stdio: ["ignore", "pipe", "pipe"],
      timeout: MOST_MS,
    });
    let said = "";
    let complaint = "";
    child.stdout.on("data", (chunk: Buffer) => (said += chunk.toString()));
    child.stderr.on("data", (chunk: Buffer) => (complaint += chunk.toString()));
    child.on("error", reject);
    child.on("close", (code) =>
      code === 0 ? resolve(said) : reject(new Error(`The browser ended with ${code}: ${complaint}`)),
    );
  });
}
