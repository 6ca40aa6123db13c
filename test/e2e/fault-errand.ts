import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { MediaOutcome } from "./fault-media.ts";
import type { Outcome } from "./fault-unsent.ts";

/** What another process asks for. */
export interface Errand {
  /** Addresses, by the name of a row. */
  readonly places: Readonly<Record<string, string>>;
  /** A place lets wait until the limit of time. */
  readonly letsWait: boolean;
  /** It is alone on its network, and its server of names says this. */
  readonly names?: "NXDOMAIN" | "SERVFAIL" | "nothing";
  /** A certificate of an authority that it trusts. */
  readonly authority?: string;
}

/** What became of each row, with the first provider there, with both, and of counts. */
export interface Found {
  readonly first: readonly Outcome[];
  readonly both: readonly Outcome[];
  readonly counts: readonly Outcome[];
  /** Of images and videos. */
  readonly media: { readonly first: readonly MediaOutcome[]; readonly both: readonly MediaOutcome[] };
}

/** The longest that glibc waits for an answer, so that a test's time is over first. */
const RESOLVER = "nameserver 127.0.0.1\noptions timeout:30 attempts:5\n";

/** Runs the rest with a network of its own that has but itself, and with names from there. */
const ALONE = [
  "unshare",
  "-Urmn",
  "sh",
  "-c",
  'ip link set lo up && mount --bind "$0/resolv.conf" /etc/resolv.conf && mount --bind "$0/nsswitch.conf" /etc/nsswitch.conf && exec "$@"',
];

/** Whether the system lets a process be alone on a network. */
export const CAN_BE_ALONE = spawnSync("unshare", ["-Urmn", "true"]).status === 0;

/** Sends a process on an errand. */
export async function run(errand: Errand): Promise<Readonly<Record<string, Found>>> {
  const folder = mkdtempSync(join(tmpdir(), "switchyard-errand-"));
  const files = { "resolv.conf": RESOLVER, "nsswitch.conf": "hosts: files dns\n" };
  for (const [name, text] of Object.entries({ ...files, "authority.pem": errand.authority ?? "" }))
    writeFileSync(join(folder, name), text);
  const own = [
    process.execPath,
    "--no-install",
    "--no-env-file",
    join(import.meta.dirname, "fault-child.ts"),
  ];
  const [program, ...args] = [
    ...(errand.names === undefined ? [] : [...ALONE, folder]),
    ...own,
    JSON.stringify(errand),
  ];
  const child = spawn(program, args, {
    env: {
      ...process.env,
      ...(errand.authority === undefined ? {} : { NODE_EXTRA_CA_CERTS: join(folder, "authority.pem") }),
    },
  });
  let [output, errors] = ["", ""];
  child.stdout.on("data", (text: Buffer) => (output += text.toString()));
  child.stderr.on("data", (text: Buffer) => (errors += text.toString()));
  const code = await new Promise((resolve) => child.on("close", resolve));
  rmSync(folder, { recursive: true, force: true });
  if (code !== 0) throw new Error(`It ended with ${String(code)}: ${errors}`);
  return JSON.parse(output.trim().split("\n").at(-1) ?? "");
}
