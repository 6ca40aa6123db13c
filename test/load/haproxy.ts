import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { freePort } from "../postgres/cluster.ts";
import { describeWhere } from "../required.ts";

/** A load balancer in front of gateways. */
export interface Balancer {
  readonly url: string;
  /** The state of each server as it sees them: `UP` or `DOWN`. */
  states(): Promise<Readonly<Record<string, string>>>;
  close(): Promise<void>;
}

const PROGRAM = "haproxy";

/** Tests behind haproxy; where it is not installed, one line that says so. */
export function describeBehindHaproxy(name: string, tests: () => void): void {
  describeWhere(Bun.which(PROGRAM) !== null, `${PROGRAM} is not installed`, name, tests);
}

/** Starts haproxy in front of servers on these ports of 127.0.0.1; it asks each for `/readyz`. */
export async function startBalancer(
  folder: string,
  ports: Readonly<Record<string, number>>,
): Promise<Balancer> {
  const port = await freePort();
  const file = join(folder, "haproxy.cfg");
  writeFileSync(file, configOf(port, ports));
  const child = spawn(PROGRAM, ["-db", "-f", file], { stdio: "ignore" });
  const exit = new Promise<void>((resolve) => child.on("close", () => resolve()));
  const url = `http://127.0.0.1:${port}`;
  const states: Balancer["states"] = async () => {
    const rows = (await (await fetch(`${url}/balancer;csv`)).text()).split("\n").map((row) => row.split(","));
    const column = rows[0]?.indexOf("status") ?? 0;
    const ours = rows.filter(([backend, server = ""]) => backend === "gateways" && server in ports);
    return Object.fromEntries(ours.map((row) => [row[1] ?? "", row[column] ?? ""]));
  };
  while (
    !(await states().then(
      () => true,
      () => false,
    ))
  )
    await Bun.sleep(20);
  return {
    url,
    states,
    async close() {
      child.kill("SIGKILL");
      await exit;
    },
  };
}

function configOf(port: number, ports: Readonly<Record<string, number>>): string {
  const servers = Object.entries(ports).map(([name, at]) => `  server ${name} 127.0.0.1:${at} check`);
  return `global
  maxconn 2000
defaults
  mode http
  timeout connect 5s
  timeout client 300s
  timeout server 300s
  timeout check 5s
  option redispatch
  retries 3
frontend clients
  bind 127.0.0.1:${port}
  stats enable
  stats uri /balancer
  default_backend gateways
backend gateways
  option httpchk
  http-check send meth GET uri /readyz
  http-check expect status 200
  default-server inter 200ms fall 1 rise 1
${servers.join("\n")}
`;
}
