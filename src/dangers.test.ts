import { expect, test } from "bun:test";
import { refuseDangers, warningsOf } from "./dangers.ts";

test("certificates that are not checked are refused by the variable's name, and nothing else is", () => {
  for (const value of ["0", " 0 "])
    expect(() => refuseDangers({ NODE_TLS_REJECT_UNAUTHORIZED: value })).toThrow(
      /^NODE_TLS_REJECT_UNAUTHORIZED is 0, .*\.$/,
    );
  for (const value of ["1", "", undefined]) refuseDangers({ NODE_TLS_REJECT_UNAUTHORIZED: value });
});

const configOf = (host: string, metricsHost?: string) => ({
  host,
  metricsListen: metricsHost === undefined ? undefined : { host: metricsHost, port: 9464 },
});

const INSPECTORS: readonly [string, Record<string, string>, string[]][] = [
  ["BUN_INSPECT", { BUN_INSPECT: "127.0.0.1:9229" }, []],
  ["BUN_INSPECT_CONNECT_TO", { BUN_INSPECT_CONNECT_TO: "unix:///tmp/x" }, []],
  ["NODE_OPTIONS", { NODE_OPTIONS: "--max-old-space-size=99 --inspect=0.0.0.0" }, []],
  ["--inspect", {}, ["--no-install", "--inspect=127.0.0.1:1"]],
  ["--inspect-brk", {}, ["--inspect-brk"]],
];
for (const [name, environment, flags] of INSPECTORS) {
  test(`an inspector by ${name} is warned of by that name`, () => {
    expect(warningsOf(configOf("127.0.0.1"), environment, flags)).toEqual([
      `${name} opens an inspector: whoever reaches it reads every credential and prompt.`,
    ]);
  });
}

test("a host beyond this machine is warned of by its name, one of this machine is not", () => {
  for (const host of ["127.0.0.1", "127.1.2.3", "localhost", "::1"])
    expect(
      warningsOf(configOf(host, host), { BUN_INSPECT: "", NODE_OPTIONS: "--title=x" }, ["--no-install"]),
    ).toEqual([]);
  for (const host of ["0.0.0.0", "::", "10.0.0.1", "example.com", "127.0.0.1.example.com"])
    expect(warningsOf(configOf(host, host), {}, [])).toEqual([
      expect.stringMatching(new RegExp(`^HOST is ${host}: `)),
      expect.stringMatching(new RegExp(`^METRICS_LISTEN is ${host}:9464: `)),
    ]);
});
