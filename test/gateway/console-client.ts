import type { Json, TestGateway } from "./gateway.ts";

/** A browser's session of the console, as far as the server sees one. */
export interface ConsoleClient {
  /** What the sign-in answered. */
  readonly session: Json;
  /** The `Cookie` header. */
  readonly cookie: string;
  /** Calls a path below /console/api as a page of the gateway does. */
  send(method: string, path: string, init?: ConsoleRequest): Promise<Response>;
  /** The status and the parsed body of that. */
  ask(
    method: string,
    path: string,
    body?: unknown,
  ): Promise<{ readonly status: number; readonly json: Json }>;
}

/** How a call differs from that of a page. */
export interface ConsoleRequest {
  readonly body?: unknown;
  /** Headers in place of the page's; one that is undefined is left out. */
  readonly headers?: Readonly<Record<string, string | undefined>>;
  readonly signal?: AbortSignal;
}

/** Posts a credential as the page of the gateway does. */
export function postSession(
  { url }: Pick<TestGateway, "url">,
  credential: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<Response> {
  return fetch(`${url}/console/api/session`, {
    method: "POST",
    headers: { origin: url, "content-type": "application/json", ...headers },
    body: JSON.stringify({ credential }),
  });
}

/** Signs in with the admin token or an API key. */
export async function signIn(gateway: Pick<TestGateway, "url">, credential: string): Promise<ConsoleClient> {
  const response = await postSession(gateway, credential);
  const session: Json = await response.json();
  if (response.status !== 200) throw new Error(`The sign-in was answered with ${JSON.stringify(session)}`);
  return clientOf(gateway.url, cookieOf(response), session);
}

/** The cookie that an answer sets, as a browser sends it back. */
export function cookieOf(response: Response): string {
  return response.headers.get("set-cookie")?.split(";")[0] ?? "";
}

function clientOf(url: string, cookie: string, session: Json): ConsoleClient {
  const send: ConsoleClient["send"] = (method, path, { body, headers = {}, signal } = {}) => {
    const changes = method !== "GET" && method !== "HEAD";
    const given = {
      cookie,
      ...(changes ? { origin: url, "x-csrf-token": session.csrf as string } : {}),
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...headers,
    };
    const sent = Object.entries(given).filter((entry): entry is [string, string] => entry[1] !== undefined);
    return fetch(`${url}/console/api${path}`, {
      method,
      headers: sent,
      ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
      ...(signal === undefined ? {} : { signal }),
    });
  };
  return {
    session,
    cookie,
    send,
    async ask(method, path, body) {
      const response = await send(method, path, body === undefined ? {} : { body });
      return { status: response.status, json: await response.json() };
    },
  };
}
