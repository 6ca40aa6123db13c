import { watchAttention } from "./attention.ts";
import { gatherReads, MOST_READS, type Refusal } from "./gathered-reads.ts";
import type { paths } from "./schema";

/** An answer that is no success: what happened, and by which id the operator finds it. */
export class ApiError extends Error {
  readonly status: number;
  readonly type: string;
  readonly field: string | undefined;
  readonly requestId: string | undefined;
  readonly retryAfterSec: number | undefined;
  /** The body of the answer, as it came. */
  readonly body: string;

  constructor({ status, requestId, retryAfter }: Refusal, body: string) {
    const told = errorIn(body);
    super(told?.message ?? `The gateway answered ${status}.`);
    this.body = body;
    this.status = status;
    this.type = told?.type ?? "unknown";
    this.field = told?.param ?? undefined;
    this.requestId = requestId ?? undefined;
    const after = Number(retryAfter);
    this.retryAfterSec = after > 0 ? after : undefined;
  }
}

/** What the headers of an answer say of a refusal. */
export function refusalOf({ status, headers }: Response): Refusal {
  return { status, requestId: headers.get("x-request-id"), retryAfter: headers.get("retry-after") };
}

/** The gateway could not be reached. */
export class Offline extends Error {}

interface ErrorBody {
  readonly message: string;
  readonly type: string;
  readonly param?: string | null;
}

type Method = "get" | "post" | "put" | "patch" | "delete";
type Operation<Path extends keyof paths, M extends Method> = Exclude<paths[Path][M], undefined>;
type PathsWith<M extends Method> = {
  [Path in keyof paths]: [Operation<Path, M>] extends [never] ? never : Path;
}[keyof paths];

type ParametersOf<Op> = Op extends { parameters: infer P } ? P : never;
type PathOf<Op> = ParametersOf<Op> extends { path: infer P } ? P : undefined;
type QueryOf<Op> =
  ParametersOf<Op> extends { query?: infer Q }
    ? { readonly [Name in keyof Q]?: Given<Q[Name]> | undefined }
    : undefined;
type Given<Value> = Value extends readonly (infer Member)[] ? readonly Member[] : Value;
type BodyOf<Op> = Op extends { requestBody?: { content: { "application/json": infer B } } } ? B : undefined;
type JsonOf<Answer> = Answer extends { content: { "application/json": infer B } } ? B : undefined;
type SuccessOf<Op> = Op extends { responses: infer R } ? JsonOf<R[Extract<keyof R, 200 | 201 | 202>]> : never;

/** What a call of the gateway's API is given. */
export interface CallOptions<Op> {
  readonly path?: PathOf<Op>;
  readonly query?: QueryOf<Op>;
  readonly body?: BodyOf<Op>;
  readonly signal?: AbortSignal;
}

/** What a path of the API answers to GET. */
export type Answer<Path extends PathsWith<"get">> = SuccessOf<Operation<Path, "get">>;

/** One entry of a list of the API. */
export type Entry<Path extends PathsWith<"get">> =
  Answer<Path> extends { data: readonly (infer Item)[] } ? Item : never;

let csrf = "";

/** Tests have no page. */
const attention =
  typeof document === "undefined" ? undefined : watchAttention(document, () => performance.now());

/** What state-changing calls of this session have to show. */
export function useCsrf(token: string): void {
  csrf = token;
}

let refused: (why: ApiError) => void = () => undefined;

/** Sets what happens where the gateway knows the session no more, whichever call it was. */
export function onSessionEnd(react: (why: ApiError) => void): void {
  refused = react;
}

/** Reads a path of the API. Rejects with an `ApiError`, or with `Offline`. */
export function read<Path extends PathsWith<"get">>(
  path: Path,
  options: CallOptions<Operation<Path, "get">> = {},
): Promise<Answer<Path>> {
  return call("get", path, options);
}

/** Changes something by the API. Rejects as `read` does. */
export function change<M extends Exclude<Method, "get">, Path extends PathsWith<M>>(
  method: M,
  path: Path,
  options: CallOptions<Operation<Path, M>> = {},
): Promise<SuccessOf<Operation<Path, M>>> {
  return call(method, path, options);
}

async function call(
  method: Method,
  path: string,
  { path: params, query, body, signal }: CallOptions<unknown>,
): Promise<never> {
  const address = consolePath(path, params, query);
  if (method === "get") return (await gathered.read(address, signal)) as never;
  const response = await send(method, address, { body, signal });
  const text = await response.text();
  const value: unknown = text === "" ? undefined : JSON.parse(text);
  return value as never;
}

const gathered = gatherReads({
  // Without the session's token no call that has a body is taken.
  most: () => (csrf === "" ? 1 : MOST_READS),
  later: (flush) => setTimeout(flush),
  one: async (address, signal) => (await send("get", address, { signal })).json(),
  several: (reads, signal) => send("post", "/console/api/reads", { body: { reads }, signal }),
  refused: refuse,
  cut: away,
});

/** Sends the reads that have begun; without it they go once the present task is over. */
export function sendReads(): void {
  gathered.flush();
}

/** Sends a request and gives its answer once that is a success; the playground reads streams by it. */
export async function send(
  method: Method,
  path: string,
  { body, signal }: { readonly body?: unknown; readonly signal?: AbortSignal | undefined } = {},
): Promise<Response> {
  const headers: Record<string, string> = {};
  if (method !== "get") headers["x-csrf-token"] = csrf;
  if (attention?.isAway() === true) headers["x-unattended"] = "1";
  if (body !== undefined) headers["content-type"] = "application/json";
  let response: Response;
  try {
    response = await fetch(path, {
      method: method.toUpperCase(),
      headers,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(signal === undefined ? {} : { signal }),
    });
  } catch (error) {
    if (signal?.aborted === true) throw error;
    throw away(error);
  }
  if (response.ok) return response;
  throw refuse(refusalOf(response), await response.text().catch(() => ""));
}

function away(cause: unknown): Offline {
  return new Offline("The gateway cannot be reached.", { cause });
}

/** The error that a refusal is thrown as. */
function refuse(refusal: Refusal, body: string): ApiError {
  const error = new ApiError(refusal, body);
  if (error.status === 401) refused(error);
  return error;
}

function errorIn(body: string): ErrorBody | undefined {
  try {
    const { error } = JSON.parse(body) as { error?: ErrorBody };
    return error;
  } catch {
    return undefined;
  }
}

/** The address below `/console/api/` that stands for a path of the description. */
function consolePath(path: string, params: unknown, query: unknown): string {
  let address = path.replace(/^\/(admin\/v1|api\/v1|console\/api)\//, "/console/api/");
  for (const [name, value] of entriesOf(params))
    address = address.replace(`{${name}}`, encodeURIComponent(value));
  const search = new URLSearchParams(entriesOf(query));
  return search.size === 0 ? address : `${address}?${search.toString()}`;
}

function entriesOf(record: unknown): [string, string][] {
  return Object.entries(record ?? {})
    .filter(([, value]) => value !== undefined && value !== "")
    .map(([name, value]) => [name, String(value)]);
}
