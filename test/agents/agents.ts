import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ScriptedCall } from "../upstream/scripted-vendors.ts";

/** A coding agent as people run it: from the registry, with a key and the gateway's address. */
export interface Agent {
  readonly name: string;
  readonly binary: string;
  /** Arguments of a run that may write files and asks nobody. */
  args(model: string, prompt: string): readonly string[];
  environment(gateway: string, key: string, home: string, model: string): Readonly<Record<string, string>>;
  /** The call of its own tool that writes `text` to `file`; `undefined` where it has sent no such tool. */
  write(tools: readonly string[], file: string, text: string): ScriptedCall | undefined;
}

const PACKAGES = ["@openai/codex@0.169.0", "@anthropic-ai/claude-code@2.1.197", "@google/gemini-cli@0.61.0"];

/** Installs the agents in a folder of the machine's temporary ones, once; throws where the registry does not have them. */
export function installAgents(): string {
  const folder = join(tmpdir(), "switchyard-agents");
  const bin = join(folder, "node_modules", ".bin");
  if (existsSync(join(folder, "installed"))) return bin;
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "package.json"), JSON.stringify({ name: "agents", private: true }));
  run("npm", ["install", "--no-audit", "--no-fund", "--ignore-scripts", ...PACKAGES], folder);
  // Its own installer puts the program from a package that is there into its place.
  run("node", [join(folder, "node_modules/@anthropic-ai/claude-code/install.cjs")], folder);
  writeFileSync(join(folder, "installed"), "");
  return bin;
}

function run(command: string, args: readonly string[], cwd: string): void {
  const { status, stderr } = spawnSync(command, args, { cwd, encoding: "utf8", timeout: 300_000 });
  if (status !== 0) throw new Error(`${command} ${args.join(" ")} ended with ${status}: ${stderr}`);
}

const ofShell = (file: string, text: string): string =>
  `printf %s ${quoted(Buffer.from(text).toString("base64"))} | base64 -d > ${quoted(file)}`;
const quoted = (word: string): string => `'${word.replaceAll("'", "'\\''")}'`;

export const AGENTS: readonly Agent[] = [
  {
    name: "Claude Code",
    binary: "claude",
    args: (model, prompt) => ["-p", prompt, "--model", model, "--allowedTools", "Write"],
    environment: (gateway, key, home, model) => ({
      ANTHROPIC_BASE_URL: `${gateway}/api`,
      ANTHROPIC_AUTH_TOKEN: key,
      ANTHROPIC_SMALL_FAST_MODEL: model,
      CLAUDE_CONFIG_DIR: join(home, "claude"),
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
      DISABLE_AUTOUPDATER: "1",
    }),
    write: (tools, file, text) =>
      tools.includes("Write") ? { tool: "Write", input: { file_path: file, content: text } } : undefined,
  },
  {
    name: "Codex",
    binary: "codex",
    args: (model, prompt) => [
      "exec",
      "--skip-git-repo-check",
      "--dangerously-bypass-approvals-and-sandbox",
      "-c",
      'model_provider="gateway"',
      "-m",
      model,
      prompt,
    ],
    environment: (gateway, key, home) => {
      const folder = join(home, "codex");
      mkdirSync(folder, { recursive: true });
      const provider = `[model_providers.gateway]\nname = "gateway"\nbase_url = "${gateway}/api/v1"\nenv_key = "GATEWAY_KEY"\nwire_api = "responses"\n`;
      writeFileSync(join(folder, "config.toml"), provider);
      return { CODEX_HOME: folder, GATEWAY_KEY: key };
    },
    write: (tools, file, text) =>
      tools.includes("exec_command")
        ? { tool: "exec_command", input: { cmd: ofShell(file, text) } }
        : tools.includes("exec")
          ? {
              tool: "exec",
              input: `text(await tools.exec_command(${JSON.stringify({ cmd: ofShell(file, text) })}));`,
            }
          : undefined,
  },
  {
    name: "Gemini CLI",
    binary: "gemini",
    args: (model, prompt) => ["-p", prompt, "--yolo", "--skip-trust", "-m", model],
    environment: (gateway, key, home) => {
      const folder = join(home, ".gemini");
      mkdirSync(folder, { recursive: true });
      const security = { auth: { selectedType: "gemini-api-key" } };
      writeFileSync(join(folder, "settings.json"), JSON.stringify({ security }));
      return {
        GEMINI_API_KEY: key,
        GOOGLE_GEMINI_BASE_URL: `${gateway}/api`,
        GEMINI_TELEMETRY_ENABLED: "false",
      };
    },
    write: (tools, file, text) =>
      tools.includes("write_file")
        ? { tool: "write_file", input: { file_path: file, content: text } }
        : undefined,
  },
];

/** What a run of an agent came to. */
export interface AgentRun {
  readonly code: number | null;
  readonly output: string;
}

/** Runs an agent in a folder of its own, with nothing of this machine's settings. */
export async function runAgent(
  bin: string,
  agent: Agent,
  {
    gateway,
    key,
    model,
    folder,
    prompt,
  }: Readonly<Record<"gateway" | "key" | "model" | "folder" | "prompt", string>>,
): Promise<AgentRun> {
  const home = mkdtempSync(join(tmpdir(), "switchyard-agent-home-"));
  const child = spawn(join(bin, agent.binary), agent.args(model, prompt), {
    cwd: folder,
    env: {
      PATH: process.env.PATH ?? "",
      HOME: home,
      TERM: "dumb",
      CI: "1",
      NO_PROXY: "*",
      ...agent.environment(gateway, key, home, model),
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => void (output += text));
  const ender = setTimeout(() => child.kill("SIGKILL"), 120_000);
  const code = await new Promise<number | null>((resolve) => child.on("close", resolve));
  clearTimeout(ender);
  return { code, output };
}
