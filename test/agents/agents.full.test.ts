import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startGateway, type TestGateway } from "../gateway/gateway.ts";
import { AGENTS, installAgents, runAgent } from "./agents.ts";
import {
  type ScriptedCall,
  type ScriptedVendors,
  startScriptedVendors,
} from "../upstream/scripted-vendors.ts";

// Coding agents from the registry, each in its own format, with a model of each vendor: a file is written by a call of
// the agent's own tool, through the gateway, and has the bytes that the model gave. The models are doubles that follow
// a script.

const MODELS = [
  "openai/gpt-5.6-luna",
  "anthropic/claude-haiku-4.5",
  "google/gemini-3.8-flash",
  "deepseek/deepseek-v4-pro",
] as const;

/** Quotes, tabs, line ends of both kinds, characters of two units, and what JSON and shells escape. */
const TEXT = "one \"two\" 'three' \\n\ttab\r\nnaïve 日本語 🌙 $HOME `x` %s \u2028 </tag> & end\n";

const isLong = process.env.SWITCHYARD_TEST_LONG === "1";

test("an agent is asked to write by a tool that it has sent, and by no other", () => {
  const tools = ["Read", "Write", "exec_command", "write_file"];
  const called = AGENTS.map(({ write }) => write(tools, "/tmp/a", "text")?.tool);
  expect(called).toEqual(["Write", "exec_command", "write_file"]);
  expect(AGENTS.map(({ write }) => write(["Read"], "/tmp/a", "text"))).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
});

// The agents come from the registry, which `npm run test:long` alone asks.
if (isLong)
  describe("agents from the registry", () => {
    let bin: string;
    let gateway: TestGateway;
    let vendors: ScriptedVendors;
    let write: (tools: readonly string[]) => ScriptedCall | undefined = () => undefined;
    const rows: string[] = [];

    beforeAll(async () => {
      bin = installAgents();
      vendors = await startScriptedVendors((tools, results) => {
        const call = results === 0 ? write(tools) : undefined;
        return call === undefined ? { text: "It is done." } : { thinking: "Hm. So.", calls: [call] };
      });
      gateway = await startGateway({ environment: vendors.environment });
    }, 400_000);
    afterAll(async () => {
      console.log(["", "Agents, each with a model of each vendor:", ...rows].join("\n"));
      await gateway.close();
      await vendors.close();
    });

    for (const agent of AGENTS) {
      for (const model of MODELS) {
        test(`${agent.name}, ${model}: a file gets the bytes of the model's call`, async () => {
          const folder = mkdtempSync(join(tmpdir(), "switchyard-agent-"));
          const file = join(folder, "notes.txt");
          write = (tools) => agent.write(tools, file, TEXT);
          const before = vendors.refusals.length;
          const asked = vendors.received.length;
          const { key, url } = gateway;
          const prompt = "Write notes.txt as we agreed.";
          const { code, output } = await runAgent(bin, agent, { gateway: url, key, model, folder, prompt });
          rows.push(
            `  ${agent.name}, ${model}: ended with ${code} after ${vendors.received.length - asked} requests`,
          );
          expect(vendors.refusals.slice(before)).toEqual([]);
          expect({ code, said: output.includes("It is done."), output }).toEqual({
            code: 0,
            said: true,
            output,
          });
          expect(readFileSync(file, "utf8")).toBe(TEXT);
          rmSync(folder, { recursive: true });
        }, 150_000);
      }
    }
  });
