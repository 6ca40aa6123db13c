import { describe, test } from "bun:test";

/** Whether Prometheus's own checker is installed. */
export const hasPromtool = Bun.which("promtool") !== null;

/** Tests that ask Prometheus's own parser; where it is not installed, one line that says so. */
export function describeWithPromtool(name: string, tests: () => void): void {
  if (hasPromtool) {
    describe(name, tests);
    return;
  }
  const reason = "promtool is not installed";
  if (process.env.SWITCHYARD_REQUIRE_ALL === "1") {
    test(name, () => {
      throw new Error(`${reason}, and SWITCHYARD_REQUIRE_ALL is set.`);
    });
  } else test.skip(`${name} (${reason})`, () => {});
}

/** What promtool says, with what it is given on its standard input; nothing where all is well. */
export function promtool(args: readonly string[], input = ""): string {
  const { exitCode, stdout, stderr } = Bun.spawnSync(["promtool", ...args], { stdin: Buffer.from(input) });
  return exitCode === 0 && stderr.length === 0 ? "" : stdout.toString() + stderr.toString();
}
