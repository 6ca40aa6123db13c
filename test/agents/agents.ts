import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Json } from "../gateway/gateway.ts";
import type { ScriptedCall } from "../upstream/scripted-vendors.ts";
import { type Installable, install, run } from "./install.ts";

/** Where an agent runs, and what it runs against. */
export interface AgentSetting {
  readonly gateway: string;
  readonly key: string;
  readonly model: string;
  /** An empty folder for its own settings. */
  readonly home: string;
}

/** A line of a file that becomes another. */
export interface LineChange {
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

/** A coding agent as people run it: from the registry, with a key and the gateway's address. */
export interface Agent extends Installable {
  readonly name: string;
  /** Arguments of a run that may write files and asks nobody. */
  args(model: string, prompt: string): readonly string[];
  environment(setting: AgentSetting): Readonly<Record<string, string>>;
  /** The calls of its own tools that write `text` to `file`, one after another; none where it has sent no such tool. */
  write(tools: readonly string[], file: string, text: string): readonly ScriptedCall[];
  /** The same that change a line of a file that is there, by the tool that it edits files with. */
  edit(tools: readonly string[], change: LineChange): readonly ScriptedCall[];
}

const ofShell = (file: string, text: string): string =>
  `printf %s ${quoted(Buffer.from(text).toString("base64"))} | base64 -d > ${quoted(file)}`;
const quoted = (word: string): string => `'${word.replaceAll("'", "'\\''")}'`;
const patchOf = ({ file, from, to }: LineChange): string =>
  `*** Begin Patch\n*** Update File: ${file}\n@@\n-${from}\n+${to}\n*** End Patch\n`;

const CLAUDE_CODE: Agent = {
  name: "Claude Code",
  package: "@anthropic-ai/claude-code@2.1.197",
  binary: "claude",
  installer: "install.cjs",
  args: (model, prompt) => ["-p", prompt, "--model", model, "--allowedTools", "Read,Write,Edit"],
  environment: ({ gateway, key, home, model }) => ({
    ANTHROPIC_BASE_URL: `${gateway}/api`,
    ANTHROPIC_AUTH_TOKEN: key,
    ANTHROPIC_SMALL_FAST_MODEL: model,
    CLAUDE_CONFIG_DIR: join(home, "claude"),
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    DISABLE_AUTOUPDATER: "1",
  }),
  write: (tools, file, text) => called(tools, "Write", { file_path: file, content: text }),
  // It edits no file that it has not read.
  edit: (tools, { file, from, to }) => [
    ...called(tools, "Read", { file_path: file }),
    ...called(tools, "Edit", { file_path: file, old_string: from, new_string: to }),
  ],
};

const CODEX: Agent = {
  name: "Codex",
  package: "@openai/codex@0.169.0",
  binary: "codex",
  args: (model, prompt) => [
    "exec",
    "--skip-git-repo-check",
    "--dangerously-bypass-approvals-and-sandbox",
    "-m",
    model,
    prompt,
  ],
  environment: (setting) => codexEnvironment(setting, ""),
  write: (tools, file, text) => byCodex(tools, ofShell(file, text)),
  // With models that it does not know it has no tool for patches, but a command.
  edit(tools, change) {
    const patch = patchOf(change);
    if (tools.includes("apply_patch")) return called(tools, "apply_patch", patch);
    if (tools.includes("exec"))
      return called(tools, "exec", `text(await tools.apply_patch(${JSON.stringify(patch)}));`);
    return byCodex(tools, `apply_patch <<'EOF'\n${patch}EOF`);
  },
};

/** It offers models of its catalogue a custom tool with a grammar for its patches. */
const CODEX_KNOWING: Agent = {
  ...CODEX,
  name: "Codex, which knows the model",
  environment(setting) {
    const { home, model } = setting;
    const models = JSON.parse(
      run(install(CODEX), ["debug", "models"], home, { ...process.env, HOME: home }),
    ).models;
    const known = models.find((one: Json) => one.apply_patch_tool_type === "freeform" && !one.tool_mode);
    const file = join(home, "models.json");
    writeFileSync(file, JSON.stringify({ models: [{ ...known, slug: model }] }));
    return codexEnvironment(setting, `model_catalog_json = ${JSON.stringify(file)}\n`);
  },
};

const GEMINI_CLI: Agent = {
  name: "Gemini CLI",
  package: "@google/gemini-cli@0.61.0",
  binary: "gemini",
  args: (model, prompt) => ["-p", prompt, "--yolo", "--skip-trust", "-m", model],
  environment({ gateway, key, home }) {
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
  write: (tools, file, text) => called(tools, "write_file", { file_path: file, content: text }),
  edit: (tools, { file, from, to }) =>
    called(tools, "replace", {
      file_path: file,
      instruction: "Change the line.",
      old_string: from,
      new_string: to,
    }),
};

export const AGENTS: readonly Agent[] = [CLAUDE_CODE, CODEX, CODEX_KNOWING, GEMINI_CLI];

/** A call of a tool that was sent. */
function called(tools: readonly string[], tool: string, input: Json): readonly ScriptedCall[] {
  return tools.includes(tool) ? [{ tool, input }] : [];
}

/** A command of the shell, by the tool that Codex has for the model. */
function byCodex(tools: readonly string[], cmd: string): readonly ScriptedCall[] {
  const plain = called(tools, "exec_command", { cmd });
  if (plain.length > 0) return plain;
  return called(tools, "exec", `text(await tools.exec_command(${JSON.stringify({ cmd })}));`);
}

function codexEnvironment({ gateway, home }: AgentSetting, settings: string): Record<string, string> {
  const folder = join(home, "codex");
  mkdirSync(folder, { recursive: true });
  const provider = `[model_providers.gateway]\nname = "gateway"\nbase_url = "${gateway}/api/v1"\nenv_key = "GATEWAY_KEY"\nwire_api = "responses"\n`;
  writeFileSync(join(folder, "config.toml"), `model_provider = "gateway"\n${settings}\n${provider}`);
  return { CODEX_HOME: folder };
}

/** What a run of an agent came to. */
export interface AgentRun {
  readonly code: number | null;
  readonly output: string;
}

/** Runs an agent in `folder`, with nothing of this machine's settings. Throws where it cannot be installed. */
export async function runAgent(
  agent: Agent,
  { folder, prompt, ...at }: Omit<AgentSetting, "home"> & Readonly<Record<"folder" | "prompt", string>>,
): Promise<AgentRun> {
  const program = install(agent);
  const home = mkdtempSync(join(tmpdir(), "switchyard-agent-home-"));
  const child = spawn(program, agent.args(at.model, prompt), {
    cwd: folder,
    env: {
      PATH: process.env.PATH ?? "",
      HOME: home,
      TERM: "dumb",
      CI: "1",
      NO_PROXY: "*",
      GATEWAY_KEY: at.key,
      ...agent.environment({ ...at, home }),
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
