import { type AgentRequest, sessionRequests } from "./figures/agent-requests.ts";
import { createRequestReader } from "./figures/ways.ts";
import { type Format, FORMATS } from "./formats.ts";

/** One question to the gateway, and what the upstream does with it. */
export interface Scene {
  readonly name: string;
  /** The client's format, and the one that the upstream speaks. */
  readonly asked: Format;
  readonly spoken: Format;
  /** An agent's session; absent: a conversation of 1 KB without tools. */
  readonly agent?: AgentSession;
  readonly mode: Mode;
  readonly loads: readonly SceneLoad[];
}

/** Requests of a session of an agent. */
export interface AgentSession {
  readonly kilobytes: AgentRequest["kilobytes"];
  /** Each request is the first of its kind; else each has what the one before had, and a step more. */
  readonly isNew: boolean;
}

/** What the upstream sends. */
export interface Mode {
  readonly name: string;
  readonly stream: boolean;
  /** Arguments of the upstream double. */
  readonly upstream: readonly string[];
}

/** How many ask. */
export interface SceneLoad {
  /** Connections, each with one request open, and the next one after its answer … */
  readonly atOnce: number;
  /** … or so many requests are begun in a second, whatever becomes of those before. */
  readonly perSecond?: number;
  readonly goal: Goal;
}

/** What ours may cost at most. */
export interface Goal {
  /** Its CPU time, as a multiple of the bare proxy's and of the tap's. */
  readonly bare?: number;
  readonly tap?: number;
  /** Milliseconds that it may add to the bare proxy's p99 beside one sync of the disk. */
  readonly addedMs?: number;
}

/** A scene's requests, one after the other: as the client sends them, and as the gateway sends them upstream for it. */
export interface SceneRequest {
  readonly clientPath: string;
  readonly upstreamPath: string;
  readonly clientBodies: readonly Uint8Array[];
  readonly upstreamBodies: readonly Uint8Array[];
}

/** Events of content in every stream. */
const CONTENT_EVENTS = 300;
const LARGE_WRITE_EVENTS = 50;

const PLAIN: Mode = { name: "plain", stream: false, upstream: ["--mode", "plain", "--body-bytes", "1024"] };
/** An event each 10 ms. */
const STREAM = streamMode("stream", ["--interval-ms", "10"]);
/** Events back to back: each written alone, or many in one write. */
const BURST = streamMode("burst", ["--interval-ms", "0"]);
const LARGE = streamMode("burst in large writes", [
  "--interval-ms",
  "0",
  "--events-per-write",
  String(LARGE_WRITE_EVENTS),
]);

function streamMode(name: string, more: readonly string[]): Mode {
  return { name, stream: true, upstream: ["--mode", "stream", "--chunks", String(CONTENT_EVENTS), ...more] };
}

const { chat, messages, generate } = FORMATS;
const NO_GOAL: Goal = {};
const PLAIN_LOADS: readonly SceneLoad[] = [
  { atOnce: 1, goal: { bare: 3.3 } },
  { atOnce: 8, goal: { bare: 3.3 } },
  { atOnce: 64, goal: { bare: 3 } },
];
const PACED_LOADS: readonly SceneLoad[] = [
  { atOnce: 64, perSecond: 200, goal: { bare: 3 } },
  { atOnce: 64, perSecond: 500, goal: { addedMs: 1.5 } },
];
const AGENT_SESSIONS: readonly AgentSession[] = [
  { kilobytes: 1, isNew: false },
  { kilobytes: 13, isNew: false },
  { kilobytes: 125, isNew: false },
  { kilobytes: 125, isNew: true },
];

/** All scenes: what most clients send first. */
const SCENES: readonly Scene[] = [
  relay(chat, PLAIN, [...PLAIN_LOADS, ...PACED_LOADS]),
  relay(messages, PLAIN, PLAIN_LOADS),
  relay(generate, PLAIN, PLAIN_LOADS),
  ...AGENT_SESSIONS.flatMap((session) => [
    agent(chat, chat, session, 4),
    agent(messages, messages, session, 4),
    agent(chat, messages, session, 9),
  ]),
  ...[chat, messages, generate].flatMap((format) => [
    relay(format, STREAM, streams({ tap: 1.35, bare: 1.8 })),
    relay(format, BURST, streams(NO_GOAL)),
    relay(format, LARGE, streams({ bare: 4 })),
  ]),
  { ...relay(chat, STREAM, streams({ tap: 1.8 })), spoken: messages, name: "chat → messages stream" },
];

function relay(format: Format, mode: Mode, loads: readonly SceneLoad[]): Scene {
  return { name: `${format.name} ${mode.name}`, asked: format, spoken: format, mode, loads };
}

function streams(goal: Goal): readonly SceneLoad[] {
  return [{ atOnce: 100, goal }];
}

/** The goal is that of the largest request. */
function agent(asked: Format, spoken: Format, session: AgentSession, bare: number): Scene {
  const formats = asked === spoken ? asked.name : `${asked.name} → ${spoken.name}`;
  return {
    name: `${formats} agent ${session.kilobytes} KB${session.isNew ? ", each new" : ""}`,
    asked,
    spoken,
    agent: session,
    mode: PLAIN,
    loads: [{ atOnce: 8, goal: session.kilobytes === 125 ? { bare } : NO_GOAL }],
  };
}

/** The scenes whose names contain one of the texts, all for none. Throws for a text that no name contains. */
export function scenesNamed(texts: readonly string[]): readonly Scene[] {
  const unknown = texts.find((text) => !SCENES.some(({ name }) => name.includes(text)));
  if (unknown !== undefined)
    throw new Error(
      `--scene ${unknown} is in no scene's name; there are: ${SCENES.map(({ name }) => name).join(", ")}`,
    );
  return SCENES.filter(({ name }) => texts.length === 0 || texts.some((text) => name.includes(text)));
}

/** The events that the upstream writes for one stream. */
export function streamEvents({ spoken }: Scene): number {
  return CONTENT_EVENTS + spoken.eventsAround;
}

/** The requests of a scene; what goes upstream is made by the protocols themselves. */
export function requestOf({ asked, spoken, agent: session, mode: { stream } }: Scene): SceneRequest {
  const { modelId } = spoken;
  const clientBodies =
    session === undefined
      ? [new TextEncoder().encode(JSON.stringify(asked.conversation(modelId, stream)))]
      : sessionRequests(asked.protocol, modelId, session);
  const toUpstream = createRequestReader({ asked: asked.protocol, spoken: spoken.protocol, modelId });
  const headers = new Headers({ "content-type": "application/json" });
  return {
    clientPath: asked.clientPath(modelId, stream),
    upstreamPath: spoken.upstreamPath(stream),
    clientBodies,
    upstreamBodies: clientBodies.map((body) => toUpstream({ body, headers })),
  };
}
