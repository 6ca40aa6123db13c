import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { isJsonObject, type JsonObject } from "../../src/core/json/json-value.ts";
import { LANGCHAIN_SIGNATURE } from "../../src/providers/sandbox/seal.ts";

/** The interface that a path belongs to, by its last word. */
export type ClientEndpoint =
  | "chat-completions"
  | "messages"
  | "messages-count_tokens"
  | "generateContent"
  | "streamGenerateContent"
  | "responses";

/** A request as an agent or a library sends it, but for its key. */
export interface ClientRequest {
  readonly name: string;
  readonly client: string;
  readonly endpoint: ClientEndpoint;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: JsonObject;
}

/** What models have signed, in place of what stands in a request as its length alone. */
export interface Signed {
  readonly thinking: { readonly thinking: string; readonly signature: string };
  readonly thoughtSignature: string;
}

/** Requests that were recorded from real clients, texts as their lengths; they stand beside the repository and may be absent. */
const RECORDED = resolve(import.meta.dir, "../../../shared/clients");

/** The recorded requests by name; none where they are not here. */
export function recordedClientRequests(): readonly ClientRequest[] {
  if (!existsSync(RECORDED)) return [];
  return readdirSync(RECORDED)
    .filter((file) => file.endsWith(".json"))
    .sort()
    .map((file) => {
      const [client = "", endpoint] = file.split("--");
      const { path, headers, body } = JSON.parse(readFileSync(join(RECORDED, file), "utf8")) as ClientRequest;
      return { name: file, client, endpoint: endpoint as ClientEndpoint, path, headers, body };
    });
}

const LENGTH = /^… (\d+) characters$/;

/** The body with words of ours where texts stand as their lengths, and with what the server at hand has signed. */
export function filledBody(body: JsonObject, signed: Signed): JsonObject {
  return filled(body, "", signed) as JsonObject;
}

function filled(value: unknown, name: string, signed: Signed): unknown {
  if (Array.isArray(value)) return value.map((item) => filled(item, name, signed));
  if (isJsonObject(value)) {
    const thinks = value.type === "thinking" && LENGTH.test(String(value.signature));
    const whole = thinks ? { ...value, ...signed.thinking } : value;
    return Object.fromEntries(
      Object.entries(whole).map(([key, member]) => [key, filled(member, key, signed)]),
    );
  }
  const length = typeof value === "string" ? LENGTH.exec(value)?.[1] : undefined;
  return length === undefined ? value : textOf(name, Number(length), signed);
}

function textOf(name: string, length: number, { thoughtSignature }: Signed): string {
  if (name === "thoughtSignature")
    return length === LANGCHAIN_SIGNATURE.length ? LANGCHAIN_SIGNATURE : thoughtSignature;
  // A call's arguments are JSON.
  if (name === "arguments") return JSON.stringify({ said: words(length - 11) });
  return name === "url" ? `data:image/png;base64,${PIXEL}` : words(length);
}

const PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

function words(length: number): string {
  return "Over the hills the evening wind goes on its way to the sea. "
    .repeat(length / 60 + 1)
    .slice(0, length);
}
