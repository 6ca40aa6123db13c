import { mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "../postgres/cluster.ts";
import { describeWhere } from "../required.ts";

/** An S3 store that checks every signature, with one bucket. */
export interface S3Server {
  readonly url: string;
  /** What ASSETS_URL and its credentials are for a prefix of the bucket. */
  environment(prefix: string): Readonly<Record<"ASSETS_URL" | (typeof CREDENTIALS)[number], string>>;
  /** All keys of the bucket, sorted. */
  keys(): readonly string[];
  stop(): Promise<void>;
}

const CREDENTIALS = ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"] as const;
const ACCESS_KEY = "test-access-key";
const SECRET_KEY = "test-secret-canary-1b2c3d";
const BUCKET = "results";
const PROGRAM = "versitygw";

/** How often a server that was just started is asked whether it listens, 50 ms apart. */
const TRIES = 200;

/** Tests on a store of `startS3Server`; where none is installed, one line that says so. */
export function describeOnS3(name: string, tests: () => void): void {
  describeWhere(Bun.which(PROGRAM) !== null, `the S3 server ${PROGRAM} is not installed`, name, tests);
}

/** Starts a store of its own in a temporary folder. */
export async function startS3Server(): Promise<S3Server> {
  const folder = mkdtempSync(join(tmpdir(), "switchyard-s3-"));
  mkdirSync(join(folder, BUCKET));
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const child = Bun.spawn([PROGRAM, "--quiet", "--port", `127.0.0.1:${port}`, "posix", folder], {
    env: { PATH: process.env.PATH ?? "", ROOT_ACCESS_KEY: ACCESS_KEY, ROOT_SECRET_KEY: SECRET_KEY },
    stdio: ["ignore", "ignore", "inherit"],
  });
  for (let i = 0; !(await listens(url)); i += 1) {
    if (i === TRIES || child.exitCode !== null) throw new Error("The S3 server did not start.");
    await Bun.sleep(50);
  }
  return {
    url,
    environment: (prefix) => ({
      ASSETS_URL: `s3://${BUCKET}/${prefix}?region=us-east-1&endpoint=${encodeURIComponent(url)}`,
      AWS_ACCESS_KEY_ID: ACCESS_KEY,
      AWS_SECRET_ACCESS_KEY: SECRET_KEY,
    }),
    keys: () =>
      readdirSync(join(folder, BUCKET), { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => join(entry.parentPath, entry.name).slice(join(folder, BUCKET).length + 1))
        .sort(),
    async stop() {
      child.kill("SIGKILL");
      await child.exited;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function listens(url: string): Promise<boolean> {
  return fetch(url).then(
    () => true,
    () => false,
  );
}
