import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startGateway, type TestGateway } from "../gateway/gateway.ts";
import { type Agent, AGENTS, runAgent } from "./agents.ts";
import { LONG } from "../runs.ts";
import {
  type ScriptedCall,
  type ScriptedVendors,
  startScriptedVendors,
} from "../upstream/scripted-vendors.ts";

// Coding agents from the registry, each in its own format, with a model of each vendor, through the gateway. By calls
// of its own tools an agent writes a file, and edits another. Each file has the bytes that the model gave. The models
// are doubles that follow a script.

const MODELS = [
  "openai/gpt-5.6-luna",
  "anthropic/claude-haiku-4.5",
  "google/gemini-3.8-flash",
  "deepseek/deepseek-v4-pro",
] as const;

/** Quotes, tabs, line ends of both kinds, characters of two units, and what JSON and shells escape. */
const TEXT = "one \"two\" 'three' \\n\ttab\r\nnaïve 日本語 🌙 $HOME `x` %s \u2028 </tag> & end\n";

/** Its second line becomes another. */
const LINES = ["# Notes\n", "\n\tlast: 日本 \"x\" \\n 'y' $HOME `z`\n"] as const;
const FROM = "  - [ ] \"one\" 'two' \\t 🌙 </tag> & $1";
const TO = '  - [x] "one" \'three\' \\\\ naïve 月 `id` %s $& {"a": 1}';

test("an agent is asked to write and to edit by tools that it has sent, and by no other", () => {
  const tools = ["Read", "Write", "Edit", "exec_command", "write_file", "replace"];
  const change = { file: "/tmp/a", from: "a", to: "b" };
  const names = (calls: readonly ScriptedCall[]) => calls.map(({ tool }) => tool);
  expect(AGENTS.map(({ write }) => names(write(tools, "/tmp/a", "text")))).toEqual([
    ["Write"],
    ["exec_command"],
    ["exec_command"],
    ["write_file"],
  ]);
  const edits = (sent: readonly string[]) => AGENTS.map(({ edit }) => names(edit(sent, change)));
  expect(edits(tools)).toEqual([["Read", "Edit"], ["exec_command"], ["exec_command"], ["replace"]]);
  expect(edits(["exec", "apply_patch"])).toEqual([[], ["apply_patch"], ["apply_patch"], []]);
  expect(edits(["exec"])).toEqual([[], ["exec"], ["exec"], []]);
  expect(AGENTS.map(({ write }) => write([], "/tmp/a", "text"))).toEqual([[], [], [], []]);
});

// The agents come from the registry, which `npm run test:long` alone asks.
if (LONG)
  describe("agents from the registry", () => {
    let gateway: TestGateway;
    let vendors: ScriptedVendors;
    let callsFor: (tools: readonly string[]) => readonly ScriptedCall[] = () => [];
    const rows: string[] = [];

    beforeAll(async () => {
      vendors = await startScriptedVendors((tools, results) => {
        const call = callsFor(tools)[results];
        return call === undefined ? { text: "It is done." } : { thinking: "Hm. So.", calls: [call] };
      });
      gateway = await startGateway({ environment: vendors.environment });
    });
    afterAll(async () => {
      console.log(["", "Agents, each with a model of each vendor:", ...rows].join("\n"));
      await gateway.close();
      await vendors.close();
    });

    /** Runs the agent, which must do what the model says and end well; what the file has then, and the tools it went by. */
    async function changed(agent: Agent, model: string, file: string, folder: string): Promise<string> {
      const before = vendors.refusals.length;
      const asked = vendors.received.length;
      const used = new Set<string>();
      const calls = callsFor;
      callsFor = (tools) => {
        const scripted = calls(tools);
        for (const { tool } of scripted) used.add(tool);
        return scripted;
      };
      const { key, url } = gateway;
      const prompt = "Change the file as we agreed.";
      const { code, output } = await runAgent(agent, { gateway: url, key, model, folder, prompt });
      const requests = vendors.received.length - asked;
      rows.push(
        `  ${agent.name}, ${model}: ended with ${code} after ${requests} requests, by ${[...used].join(", ")}`,
      );
      expect(vendors.refusals.slice(before)).toEqual([]);
      const said = output.includes("It is done.");
      expect({ code, said, output }).toEqual({ code: 0, said: true, output });
      return readFileSync(join(folder, file), "utf8");
    }

    for (const agent of AGENTS) {
      for (const model of MODELS) {
        const inFolder = async (run: (folder: string) => Promise<void>): Promise<void> => {
          const folder = mkdtempSync(join(tmpdir(), "switchyard-agent-"));
          await run(folder);
          rmSync(folder, { recursive: true });
        };

        test(
          `${agent.name}, ${model}: a file gets the bytes of the model's call`,
          () =>
            inFolder(async (folder) => {
              callsFor = (tools) => agent.write(tools, join(folder, "new.txt"), TEXT);
              expect(await changed(agent, model, "new.txt", folder)).toBe(TEXT);
            }),
          400_000,
        );

        test(
          `${agent.name}, ${model}: a line of a file is changed, and no byte beside it`,
          () =>
            inFolder(async (folder) => {
              const file = join(folder, "notes.md");
              writeFileSync(file, LINES.join(FROM));
              callsFor = (tools) => agent.edit(tools, { file, from: FROM, to: TO });
              expect(await changed(agent, model, "notes.md", folder)).toBe(LINES.join(TO));
            }),
          400_000,
        );
      }
    }
  });
