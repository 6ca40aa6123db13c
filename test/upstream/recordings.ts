import { existsSync, readFileSync, readdirSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { skipUnless } from "../required.ts";
import type { Answer, HeaderPairs } from "./answer.ts";

/** A recorded body: JSON, text as on the wire, or bytes in base64. */
export type RecordedBody = unknown;

/** One recorded interaction with a provider; see the README of the recordings. */
export interface Recording {
  /** The path of the file below the folder of the recordings. */
  readonly path: string;
  /** The name of the file without its ending. */
  readonly name: string;
  readonly provider: string;
  readonly protocol: string;
  readonly model: string;
  readonly fidelity: string;
  readonly features: readonly string[];
  readonly note?: string;
  readonly request: {
    readonly method: string;
    readonly url: string;
    readonly headers: Readonly<Record<string, string>>;
    readonly body: RecordedBody;
  };
  readonly response: {
    readonly status: number;
    readonly headers: Readonly<Record<string, string>>;
    readonly body: RecordedBody;
  };
}

// Written anew for every answer, because the double frames and encodes by itself.
const NOT_RELAYED = new Set(["content-length", "transfer-encoding", "content-encoding", "connection"]);

const loaded = new Map<string, readonly Recording[]>();

/** The folder of the recordings: `SWITCHYARD_RECORDINGS`, else `../shared/recordings` beside the repository. */
export function recordingsFolder(): string {
  return process.env["SWITCHYARD_RECORDINGS"] ?? resolve(import.meta.dir, "../../../shared/recordings");
}

/** Whether there are recordings on this machine. */
export function recordingsAvailable(): boolean {
  return existsSync(recordingsFolder());
}

/** The same; without them it says that `tests` are skipped, and throws where everything must run. */
export function recordingsFor(tests: string): boolean {
  const isThere = recordingsAvailable();
  skipUnless(isThere, `there are no recordings at ${recordingsFolder()}`, tests);
  return isThere;
}

/** The path of a golden stream that clients were tried with; it stands beside the recordings and may be absent. */
export function goldenStream(name: string): string {
  return resolve(recordingsFolder(), "../protocols/golden", name);
}

/** All recordings below a folder such as `chat-completions` or `errors/openai`, by path; read once. */
export function loadRecordings(folder: string): readonly Recording[] {
  const root = recordingsFolder();
  const key = join(root, folder);
  const known = loaded.get(key);
  if (known !== undefined) return known;
  const files = readdirSync(key, { recursive: true, encoding: "utf8" }).filter((file) =>
    file.endsWith(".json"),
  );
  const recordings = files.sort().map((file) => readRecording(root, join(folder, file)));
  loaded.set(key, recordings);
  return recordings;
}

function readRecording(root: string, path: string): Recording {
  const content = JSON.parse(readFileSync(join(root, path), "utf8")) as Omit<Recording, "path" | "name">;
  // Calls of Responses were collected as another format before they had a folder of their own.
  const isResponses = content.protocol === "other" && /\/responses(\?|$)/.test(content.request.url);
  const protocol = isResponses ? "responses" : content.protocol;
  return { ...content, protocol, path, name: basename(path, ".json") };
}

/** The recorded response as an answer: SSE chunked and cut at its events, all else in one write. */
export function answerFrom(recording: Recording, options: Partial<Answer> = {}): Answer {
  const { status, body } = recording.response;
  const isStream = recordedType(recording).includes("event-stream");
  return {
    status,
    body: recordedBytes(body),
    ...(isStream ? { framing: "chunked", cut: "events" } : {}),
    ...options,
    headers: [...relayedHeaders(recording), ...(options.headers ?? [])],
  };
}

/** The exact bytes of a recorded body; JSON is written compactly, since recordings do not keep its spaces. */
export function recordedBytes(body: RecordedBody): string | Uint8Array {
  if (body === null || body === undefined) return "";
  if (typeof body === "string") return body;
  if (typeof body === "object" && "base64" in body && typeof body.base64 === "string") {
    return Buffer.from(body.base64, "base64");
  }
  return JSON.stringify(body);
}

function recordedType(recording: Recording): string {
  const entry = Object.entries(recording.response.headers).find(
    ([name]) => name.toLowerCase() === "content-type",
  );
  return entry?.[1] ?? "";
}

function relayedHeaders(recording: Recording): HeaderPairs {
  const pairs = Object.entries(recording.response.headers).filter(
    ([name]) => !NOT_RELAYED.has(name.toLowerCase()),
  );
  const hasType = pairs.some(([name]) => name.toLowerCase() === "content-type");
  const isJson = typeof recording.response.body === "object" && recording.response.body !== null;
  return hasType || !isJson ? pairs : [...pairs, ["content-type", "application/json"]];
}
