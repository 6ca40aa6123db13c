import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Cores } from "./cores.ts";
import type { Format, FormatRequest } from "./formats.ts";
import { GRANT, startGateway } from "./gateway.ts";
import type { LoadResult } from "./load-client.ts";
import { runLoadTool } from "./load-tool.ts";
import { startServer } from "./processes.ts";
import type { RoundBounds, Subject } from "./rounds.ts";

/** What the upstream does, and what is asked of the proxies in front of it. */
export interface Mode {
  readonly name: ModeName;
  readonly stream: boolean;
  /** Arguments of the upstream double. */
  readonly upstream: readonly string[];
}

export type ModeName = "plain" | "stream" | "burst";

/** A mode in one format. */
export interface Scene {
  readonly format: Format;
  readonly mode: Mode;
}

/** What all scenes have in common. */
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

const CONTENT_EVENTS = 300;
const PLAIN_BYTES = 1_024;

/** The modes; a stream's events come 10 ms apart or, in a burst, back to back. */
const MODES: readonly Mode[] = [
  {
    name: "plain",
    stream: false,
    upstream: ["--mode", "plain", "--body-bytes", String(PLAIN_BYTES)],
  },
  {
    name: "stream",
    stream: true,
    upstream: ["--mode", "stream", "--chunks", String(CONTENT_EVENTS), "--interval-ms", "10"],
  },
  {
    name: "burst",
    stream: true,
    upstream: ["--mode", "stream", "--chunks", String(CONTENT_EVENTS), "--interval-ms", "0"],
  },
];

/** The modes of these names, all for none. Throws for a name that is none. */
export function modesNamed(names: readonly string[]): Mode[] {
  const unknown = names.find((name) => !MODES.some((mode) => mode.name === name));
  if (unknown !== undefined) throw new Error(`--mode must be plain, stream or burst, got ${unknown}`);
  return MODES.filter(({ name }) => names.length === 0 || names.includes(name));
}

/** What a scene is called in the tables. */
export function sceneName({ format, mode }: Scene): string {
  return `${format.name} ${mode.name}`;
}

/** The events that the upstream writes for one stream of a format: 300 of content, and what stands around them. */
export function streamEvents({ eventsAround }: Format): number {
  return CONTENT_EVENTS + eventsAround;
}

/** Starts everything that a scene needs. */
export async function openStage(scene: Scene, form: StageForm): Promise<Stage> {
  const folder = join(form.folder, `${scene.format.name}-${scene.mode.name}`);
  mkdirSync(folder, { recursive: true });
  const request = scene.format.request(scene.mode.stream);
  const { double, bare, gateway } = await startProxies(scene, request, { ...form, folder });
  const bodies = writeBodies(folder, request);
  const bareTarget = {
    url: bare.url,
    bearer: "sk-bench",
    bodyFile: bodies.upstream,
  };
  const ourTarget = {
    url: `${gateway.url}${request.clientPath}`,
    bearer: gateway.key,
    bodyFile: bodies.client,
  };
  const on = form.cores.others;
  let answered = 0;

  return {
    bare: (concurrency) => ({
      pid: bare.pid,
      load: (bounds) => load({ scene, target: bareTarget, concurrency, bounds, on }),
    }),
    ours: (concurrency) => ({
      pid: gateway.pid,
      load: async (bounds) => {
        const result = await load({ scene, target: ourTarget, concurrency, bounds, on });
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

async function startProxies({ format, mode }: Scene, { upstreamPath }: FormatRequest, form: StageForm) {
  const { cores, folder } = form;
  const answers = ["--format", format.name, "--path", upstreamPath, ...mode.upstream];
  const double = await startServer({
    on: cores.others,
    args: [fileHere("../test/upstream/double-server.ts"), ...answers],
  });
  const bare = await startServer({
    on: cores.subject,
    args: [fileHere("bare-proxy.ts"), `${double.url}${upstreamPath}`],
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
  readonly scene: Scene;
  readonly target: { readonly url: string; readonly bearer: string; readonly bodyFile: string };
  readonly concurrency: number;
  readonly bounds: RoundBounds;
  readonly on: readonly string[];
}

async function load({ scene, target, concurrency, bounds, on }: LoadCall): Promise<LoadResult> {
  const { stream } = scene.mode;
  const name = sceneName(scene);
  const options = {
    mode: stream ? "stream" : "plain",
    "end-mark": scene.format.request(stream).endMark,
    url: target.url,
    bearer: target.bearer,
    "body-file": target.bodyFile,
    concurrency,
    requests: bounds.requests,
    seconds: bounds.seconds,
  };
  const result = await runLoadTool({ name, options, on });
  if (stream && result.events < result.requests * streamEvents(scene.format)) {
    throw new Error(`${name}: ${result.events} events in ${result.requests} streams: some were lost`);
  }
  return result;
}

function fileHere(name: string): string {
  return join(import.meta.dir, name);
}

/** The body that a client sends to the gateway, and the one that the gateway sends upstream for it. */
function writeBodies(folder: string, { clientBody, upstreamBody }: FormatRequest) {
  const client = join(folder, "client.json");
  const upstream = join(folder, "upstream.json");
  writeFileSync(client, clientBody);
  writeFileSync(upstream, upstreamBody);
  return { client, upstream };
}
