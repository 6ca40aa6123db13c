import { GatewayError } from "../core/errors.ts";
import { generateContent } from "../protocols/generate-content/index.ts";
import { messages } from "../protocols/messages/index.ts";
import type { RelayProtocol } from "../protocols/protocol.ts";
import { responses } from "../protocols/responses/index.ts";
import { BASE } from "./addresses.ts";
import type { Route } from "./route.ts";

/** Endpoints of the vendors' interfaces that are not served here; `*` stands for an id, `:` for a model. */
const NOT_SERVED = [
  "messages/batches",
  "images/edits",
  "images/variations",
  "videos/*/content",
  "videos/*/remix",
  "completions",
  "complete",
  "batches",
  "files",
  "uploads",
  "upload",
  "audio",
  "moderations",
  "fine_tuning",
  "conversations",
  "assistants",
  "threads",
  "vector_stores",
  "containers",
  "evals",
  "skills",
  "realtime",
  "organization",
  "organizations",
  "cachedContents",
  "fileSearchStores",
  "tunedModels",
  "corpora",
  "interactions",
  "live",
  ":batchGenerateContent",
  ":embedContent",
  ":batchEmbedContents",
  ":asyncBatchEmbedContent",
  ":predict",
  ":predictLongRunning",
].map((name) => ({ name, pattern: patternOf(name) }));

function patternOf(name: string): RegExp {
  if (name.startsWith(":")) return new RegExp(`(?::|%3a)${name.slice(1)}$`, "i");
  // Google's verbs may stand right behind.
  return new RegExp(`^${BASE}/${name.replace("*", "[^/]+")}(?:[/:]|$)`);
}

/** Characters of a path that are compared. */
const MAX_READ = 512;

/** The format whose clients make such a path; `undefined` for chat completions, and where the path does not tell. */
export function formatOf(path: string): RelayProtocol | undefined {
  const read = path.slice(0, MAX_READ);
  if (/(?::|%3a)\w*$/i.test(read)) return generateContent;
  if (/\/messages?(?:\/|$)/.test(read)) return messages;
  if (/\/responses?(?:\/|$)/.test(read)) return responses;
  return read.includes("/v1beta/") ? generateContent : undefined;
}

/**
 * The sentence for a path that leads nowhere, as `Addresses` turned it. It says that the endpoint is not served here,
 * or which one was probably meant, or which there are. It repeats nothing of the path.
 */
export function createNotFound(routes: readonly Route[]): (path: string) => GatewayError {
  const endpoints = routes
    .filter(({ path, access }) => access === "key" && !path.includes("/:id"))
    .map(endpointOf);
  const all = `What there is below ${BASE}: ${endpoints.map(({ name }) => name).join(", ")}. See /llms.txt`;
  return (path) => {
    const read = path.slice(0, MAX_READ);
    const missing = NOT_SERVED.find(({ pattern }) => pattern.test(read));
    if (missing !== undefined) return nothing(`The endpoint ${missing.name} is not served here. ${all}`);
    const meant = nearest(wordsOf(read), endpoints);
    return nothing(
      `There is nothing at this path. ${meant === undefined ? all : `Perhaps ${meant} is meant. See /llms.txt`}`,
    );
  };
}

function nothing(message: string): GatewayError {
  return new GatewayError("not_found_error", message);
}

interface Endpoint {
  /** Method and path below the base. */
  readonly name: string;
  readonly address: string;
  readonly words: readonly string[];
}

function endpointOf({ method, path }: Route): Endpoint {
  const shown = path.replaceAll(/:(\w+)\{[^}]*\}/g, "{$1}");
  return {
    name: `${method.toUpperCase()} ${shown.slice(BASE.length + 1)}`,
    address: `${method.toUpperCase()} ${shown}`,
    words: wordsOf(shown.replaceAll(/\{\w+\}/g, "")),
  };
}

/** The words of a path in lower case; those before an endpoint (`api`, `v1`) are too short to count. */
function wordsOf(path: string): string[] {
  return path
    .toLowerCase()
    .split(/[^a-z]+/)
    .filter((word) => word.length >= 4);
}

/** The address of the first endpoint with the most of these words; `undefined` where none has any. */
function nearest(words: readonly string[], endpoints: readonly Endpoint[]): string | undefined {
  const likeness = endpoints.map(
    (endpoint) =>
      endpoint.words.filter((word) => words.some((other) => isAlike(word, other))).length /
      (endpoint.words.length + words.length),
  );
  const most = Math.max(...likeness);
  return most > 0 ? endpoints[likeness.indexOf(most)]?.address : undefined;
}

/** Whether two words begin alike: `message` and `messages`, `complete` and `completions`. */
function isAlike(a: string, b: string): boolean {
  const shorter = Math.min(a.length, b.length);
  const begins = Math.max(4, Math.ceil(shorter * 0.75));
  return a.slice(0, begins) === b.slice(0, begins);
}
