import { describeWhere } from "../required.ts";

/** Tests that ask Prometheus's own parser; where it is not installed, one line that says so. */
export function describeWithPromtool(name: string, tests: () => void): void {
  describeWhere(Bun.which("promtool") !== null, "promtool is not installed", name, tests);
}

/** What promtool says, with what it is given on its standard input; nothing where all is well. */
export function promtool(args: readonly string[], input = ""): string {
  const { exitCode, stdout, stderr } = Bun.spawnSync(["promtool", ...args], { stdin: Buffer.from(input) });
  return exitCode === 0 && stderr.length === 0 ? "" : stdout.toString() + stderr.toString();
}
