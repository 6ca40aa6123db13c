import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { freePort } from "./gateway.ts";
import { type Server, startLogged } from "./processes.ts";

/** What is passed on, and where. */
interface NginxForm {
  /** A folder of its own. */
  readonly folder: string;
  readonly upstreamUrl: string;
  readonly on: readonly string[];
}

const READY_MS = 5_000;
const POLL_MS = 20;

/** Starts an nginx that passes every request on as it is; `undefined` where none is installed. */
export async function startNginx({ folder, upstreamUrl, on }: NginxForm): Promise<Server | undefined> {
  const program = Bun.which("nginx");
  if (program === null) return undefined;
  const port = freePort();
  mkdirSync(folder, { recursive: true });
  const file = join(folder, "nginx.conf");
  writeFileSync(file, nginxConfig(folder, port, new URL(upstreamUrl).host));
  const child = startLogged({ on, program, args: ["-p", folder, "-c", file] }, join(folder, "nginx.log"));
  const url = `http://127.0.0.1:${port}`;
  for (
    const deadline = performance.now() + READY_MS;
    performance.now() < deadline;
    await Bun.sleep(POLL_MS)
  ) {
    const isThere = await fetch(url).then(
      () => true,
      () => false,
    );
    if (isThere) return { ...child, url };
  }
  throw new Error(`nginx does not listen; it may have said why in ${folder}`);
}

/** One process in the foreground, which keeps connections, buffers no stream, and logs nothing but errors. */
export function nginxConfig(folder: string, port: number, upstream: string): string {
  const kept = "keepalive_requests 1000000000;";
  const folders = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
    (kind) => `${kind}_temp_path ${folder}/${kind};`,
  );
  return `daemon off; master_process off; pid ${folder}/nginx.pid; error_log ${folder}/error.log;
events { worker_connections 1024; }
http {
  access_log off; ${folders.join(" ")}
  client_body_buffer_size 1m; client_max_body_size 0; ${kept}
  upstream double { server ${upstream}; keepalive 256; ${kept} }
  server {
    listen 127.0.0.1:${port};
    location / {
      proxy_pass http://double; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_buffering off;
    }
  }
}
`;
}
