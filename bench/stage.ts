import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { chatBody } from "./chat-body.ts";
import type { Cores } from "./cores.ts";
import { GRANT, startGateway } from "./gateway.ts";
import type { LoadResult } from "./load-client.ts";
import { runToEnd, startServer } from "./processes.ts";
import type { RoundBounds, Subject } from "./rounds.ts";

/** What the upstream does, and what is asked of the proxies in front of it. */
export interface Mode {
  readonly name: string;
  readonly stream: boolean;
  /** Arguments of the upstream double. */
  readonly upstream: readonly string[];
}

/** What all modes have in common. */
export interface StageForm {
  readonly cores: Cores;
  /** A temporary folder for all that this run writes. */
  readonly folder: string;
  readonly gatewayEntry: string;
  readonly gatewayFlags: readonly string[];
}

/** An upstream and both proxies in front of it, all running. */
export interface Stage {
  bare(concurrency: number): Subject;
  ours(concurrency: number): Subject;
  /** Credits charged for each request so far; throws when there was no charge or a hold was left. */
  charged(): Promise<number>;
  close(): Promise<void>;
}

/** The events that the upstream writes for one stream: 300 of content, the role, the finish, the usage, and [DONE]. */
export const STREAM_EVENTS = 304;

const PLAIN_BYTES = 1_024;
const UPSTREAM_PATH = "/v1/chat/completions";

/** The three modes; a stream's events come 10 ms apart or, in a burst, back to back. */
export const MODES: readonly Mode[] = [
  {
    name: "plain",
    stream: false,
    upstream: ["--mode", "plain", "--body-bytes", String(PLAIN_BYTES)],
  },
  {
    name: "stream",
    stream: true,
    upstream: ["--mode", "stream", "--chunks", "300", "--interval-ms", "10"],
  },
  {
    name: "burst",
    stream: true,
    upstream: ["--mode", "stream", "--chunks", "300", "--interval-ms", "0"],
  },
];

/** Starts everything that a mode needs. */
export async function openStage(mode: Mode, form: StageForm): Promise<Stage> {
  const folder = join(form.folder, mode.name);
  mkdirSync(folder, { recursive: true });
  const { double, bare, gateway } = await startProxies(mode, form, folder);
  const bodies = writeBodies(folder, mode);
  const bareTarget = {
    url: `${bare.url}${UPSTREAM_PATH}`,
    bearer: "sk-bench",
    bodyFile: bodies.upstream,
  };
  const ourTarget = {
    url: `${gateway.url}/api/v1/chat/completions`,
    bearer: gateway.key,
    bodyFile: bodies.client,
  };
  const on = form.cores.others;
  let answered = 0;

  return {
    bare: (concurrency) => ({
      pid: bare.pid,
      load: (bounds) => runLoadTool({ mode, target: bareTarget, concurrency, bounds, on }),
    }),
    ours: (concurrency) => ({
      pid: gateway.pid,
      load: async (bounds) => {
        const result = await runLoadTool({ mode, target: ourTarget, concurrency, bounds, on });
        answered += result.requests;
        return result;
      },
    }),
    charged: async () => {
      const spent = GRANT - (await gateway.balance());
      if (spent <= 0) throw new Error(`the gateway charged ${spent} credits for ${answered} requests`);
      return spent / answered;
    },
    close: async () => {
      for (const child of [gateway, bare, double]) await child.stop();
    },
  };
}

async function startProxies(mode: Mode, form: StageForm, folder: string) {
  const { cores } = form;
  const double = await startServer({
    on: cores.others,
    args: [fileHere("../test/upstream/double-server.ts"), ...mode.upstream],
  });
  const bare = await startServer({
    on: cores.subject,
    args: [fileHere("bare-proxy.ts"), `${double.url}${UPSTREAM_PATH}`],
  });
  const gateway = await startGateway({
    entry: form.gatewayEntry,
    flags: form.gatewayFlags,
    folder,
    upstreamUrl: double.url,
    on: cores.subject,
  });
  return { double, bare, gateway };
}

interface LoadCall {
  readonly mode: Mode;
  readonly target: { readonly url: string; readonly bearer: string; readonly bodyFile: string };
  readonly concurrency: number;
  readonly bounds: RoundBounds;
  readonly on: readonly string[];
}

async function runLoadTool({ mode, target, concurrency, bounds, on }: LoadCall): Promise<LoadResult> {
  const options = {
    mode: mode.stream ? "stream" : "plain",
    url: target.url,
    bearer: target.bearer,
    "body-file": target.bodyFile,
    concurrency,
    requests: bounds.requests,
    seconds: bounds.seconds,
  };
  const args = Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)]);
  return readResult(await runToEnd({ on, args: [fileHere("load.ts"), ...args] }), mode);
}

function fileHere(name: string): string {
  return join(import.meta.dir, name);
}

/** The body that a client sends to the gateway, and the one that the gateway sends upstream for it. */
function writeBodies(folder: string, { stream }: Mode) {
  const client = join(folder, "client.json");
  const upstream = join(folder, "upstream.json");
  writeFileSync(client, chatBody("openai/gpt-5.6-luna", stream ? { stream } : {}));
  const added = stream ? { stream, stream_options: { include_usage: true } } : {};
  writeFileSync(upstream, chatBody("gpt-5.6-luna", added));
  return { client, upstream };
}

function readResult(run: { readonly code: number; readonly output: string }, mode: Mode): LoadResult {
  if (run.output === "") throw new Error(`the load tool ended with code ${run.code} and said nothing`);
  const result = JSON.parse(run.output) as LoadResult;
  if (run.code !== 0)
    throw new Error(`${mode.name}: ${result.errors} errors, the first: ${result.firstError}`);
  if (mode.stream && result.events < result.requests * STREAM_EVENTS) {
    throw new Error(`${mode.name}: ${result.events} events in ${result.requests} streams: some were lost`);
  }
  return result;
}
