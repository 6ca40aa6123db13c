import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { ROUTES } from "../../src/http/routes.ts";
import { ADMIN_TOKEN, type Json, type TestGateway } from "../gateway/gateway.ts";
import { toText } from "../upstream/bytes.ts";
import { openRawClient } from "../upstream/raw-client.ts";
import { FLASH, GPT, HAIKU, startSandbox } from "./sandbox-answers.ts";

// Every endpoint of the interface for callers, by every address that clients are set to, on a real socket. The endpoints
// are those of the route table, so that one that is added is looked at too.

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startSandbox();
});
afterAll(() => gateway.close());

const contents = [{ role: "user", parts: [{ text: "Say hello." }] }];
const messages = [{ role: "user", content: "Say hello." }];
const taken = { prompt: "A red fox", async: true };

/** A request that each endpoint serves; the others are refused, which must be the same at every address too. */
const GOOD: Readonly<Record<string, Json>> = {
  "/api/v1/chat/completions": { model: GPT, messages },
  "/api/v1/messages": { model: HAIKU, max_tokens: 100, messages },
  "/api/v1/messages/count_tokens": { model: HAIKU, messages },
  "/api/v1/models/:model{.+}:countTokens": { contents },
  "/api/v1/models/:model{.+}:generateContent": { contents },
  "/api/v1/models/:model{.+}:streamGenerateContent": { contents },
  "/api/v1/images/generations": { model: "alibaba/qwen-image-2.0", ...taken },
  "/api/v1/videos": { model: "alibaba/wan-2.6", ...taken, async: undefined },
};

const BASES = [
  "",
  "/v1",
  "/v1beta",
  "/api",
  "/api/v1",
  "/api/v1beta",
  "/api/v1/v1",
  "/api/v1/v1beta",
  "/v1/v1",
];
const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
const endpoints = [...new Set(ROUTES.filter(({ access }) => access === "key").map(({ path }) => path))];

/** How a base address and an endpoint are put together. */
const SPELLINGS: readonly ((base: string, endpoint: string) => string)[] = [
  (base, endpoint) => `${base}${endpoint}`,
  (base, endpoint) => `${base}/${endpoint}`,
  (base, endpoint) => `${base}${endpoint}/`,
  (base, endpoint) => `/${base}${endpoint}`.replaceAll("/", "//"),
];

/** The endpoint with an id in it, without the documented base address. */
function sampleOf(path: string): string {
  const model = path.includes(":model{.+}:") ? FLASH : GPT;
  return path.slice("/api/v1".length).replace(":model{.+}", model).replace(":id", "none");
}

interface Answer {
  readonly status: number;
  readonly headers: string;
  readonly allow: string | undefined;
  readonly said: string;
}

/** Asks with a target that is sent as it stands: other clients resolve slashes and dots themselves. */
async function ask(method: string, target: string, body: Json = {}, key = gateway.key): Promise<Answer> {
  const sent = method === "POST" ? JSON.stringify(body) : "";
  const client = await openRawClient(gateway.url);
  client.send(
    `${method} ${target} HTTP/1.1\r\nHost: gateway\r\nConnection: close\r\nAuthorization: Bearer ${key}\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${sent.length}\r\n\r\n${sent}`,
  );
  await client.ended();
  const text = toText(client.received());
  client.close();
  const end = text.indexOf("\r\n\r\n");
  const headers = text.slice(0, end).toLowerCase();
  const content = text.slice(end + 4);
  return {
    status: Number(headers.split(" ")[1]),
    headers,
    allow: /^allow: (.*)$/m.exec(headers)?.[1],
    said: headers.includes("transfer-encoding: chunked") ? joined(content) : content,
  };
}

/** What came in chunks. */
function joined(chunked: string): string {
  const [, size = "0"] = /^([0-9a-f]+)\r\n/.exec(chunked) ?? [];
  const [start, length] = [size.length + 2, Number.parseInt(size, 16)];
  if (length === 0) return "";
  return chunked.slice(start, start + length) + joined(chunked.slice(start + length + 2));
}

/** What is the same in every answer to one request: ids, times and dates are not. */
function gist({ status, headers, allow, said }: Answer): Json {
  const type = /^content-type: (.*)$/m.exec(headers)?.[1];
  const settled = said
    .replaceAll(/(?<=[a-z]+[_-])[0-9a-zA-Z]{16,}/g, "ID")
    .replaceAll(/(?<="(?:created|created_at|responseId|createTime)":\s*)("[^"]*"|\d+)/g, "0");
  return { status, type, allow, said: settled };
}

describe("every endpoint answers at every address as at the documented one:", () => {
  const table = new Map<string, string[]>();
  for (const path of endpoints) {
    for (const method of METHODS) {
      test(`${method} ${path}`, async () => {
        const endpoint = sampleOf(path);
        const targets = BASES.flatMap((base) => SPELLINGS.map((spelling) => spelling(base, endpoint)));
        const good = method === "POST" ? GOOD[path] : undefined;
        const statuses = new Set<number>();
        for (const body of good === undefined ? [{ model: 5 }] : [good, { model: 5 }]) {
          const documented = gist(await ask(method, `/api/v1${endpoint}`, body));
          if (body === good) expect(documented.status).toBeLessThan(300);
          const answers = await Promise.all(targets.map((target) => ask(method, target, body)));
          for (const [i, answer] of answers.entries())
            expect([targets[i], gist(answer)]).toEqual([targets[i], documented]);
          statuses.add(documented.status);
        }
        table.set(path, [...(table.get(path) ?? []), [...statuses].join("/")]);
      });
    }
  }

  afterAll(() => {
    const line = (cells: readonly string[]): string => cells.map((cell) => cell.padEnd(9)).join("");
    console.log(
      [
        `Statuses, the same at ${BASES.length * SPELLINGS.length} addresses: ${BASES.map((base) => base || "none").join(", ")};`,
        "each with one slash, two, one at the end, all doubled. 200/400: a good request, a refused one.",
        `${" ".repeat(50)}${line(METHODS)}`,
        ...[...table].map(([path, cells]) => `${path.padEnd(50)}${line(cells)}`),
      ].join("\n"),
    );
  });
});

describe("no other address leads to what asks for no API key:", () => {
  const others = [...new Set(ROUTES.filter(({ access }) => access !== "key").map(({ path }) => path))];
  const encoded = (path: string): string =>
    path.replace(/[a-z]/, (letter) => `%${letter.charCodeAt(0).toString(16)}`);
  for (const path of [...others, "/admin", "/assets", "/docs"]) {
    test(path, async () => {
      const sample = path.replaceAll(/:\w+(\{[^}]*\})?/g, "x");
      const targets = BASES.slice(1).flatMap((base) => [
        `${base}${sample}`,
        `${base}/${sample}`,
        `/${base}${sample}`,
        `${base}${encoded(sample)}`,
        `${base}/%2f${sample.slice(1)}`,
        `${base}%2f${sample.slice(1)}`,
        `${base}/models/..%2f..${sample}`,
      ]);
      targets.push(
        `/${sample}`,
        `//${sample}`,
        encoded(sample),
        `/%2f${sample.slice(1)}`,
        `/.%2f${sample.slice(1)}`,
      );
      targets.push(`/%5c${sample.slice(1)}`, `/%252f${sample.slice(1)}`);
      const asked = targets.flatMap((target) => [gateway.key, ADMIN_TOKEN].map((key) => ({ target, key })));
      const answers = await Promise.all(asked.map(({ target, key }) => ask("GET", target, {}, key)));
      for (const [i, { status }] of answers.entries()) {
        const { target = "", key } = asked[i] ?? {};
        // What is below `models` is a model of that name, which asks for an API key as well.
        const expected = target.includes("/models/") && key === ADMIN_TOKEN ? 401 : 404;
        expect([target, status]).toEqual([target, expected]);
      }
    });
  }
});

describe("a path that is none of ours is a 404 in its format that names an address:", () => {
  const shapes = [
    ["/chat/completion", ["error"], "/api/v1/chat/completions"],
    ["/v1/batches", ["error"], "batches is not served here"],
    ["/v1/message", ["type", "error", "request_id"], "/api/v1/messages"],
    ["/v1/messages/batches", ["type", "error", "request_id"], "messages/batches is not served here"],
    ["/v1beta/cachedContents", ["error"], "cachedContents is not served here"],
    [`/v1beta/models/${FLASH}:batchGenerateContent`, ["error"], '"batchGenerateContent" is not served here'],
    ["/v1beta/google/gemini:predict", ["error"], ":predict is not served here"],
  ] as const;
  for (const [path, members, named] of shapes) {
    test(path, async () => {
      const { status, said } = await ask("POST", path, {}, "sk-nobody");
      const body = JSON.parse(said);
      expect([status, Object.keys(body)]).toEqual([404, members as Json]);
      expect(body.error.message).toContain(named);
      const google = path.startsWith("/v1beta");
      expect([body.error.code, body.error.status]).toEqual(
        google ? [404, "NOT_FOUND"] : [members.length === 3 ? undefined : "not_found_error", undefined],
      );
    });
  }
});
