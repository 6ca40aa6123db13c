import type { Books } from "./books.ts";

/** The model that every chat asks for, and the one that serves where its providers refuse. */
export const MODEL = "openai/gpt-5.6-luna";
export const FALLBACK = "openai/gpt-5.6-sol";

/** Ways of a chat: the model's two routes, then the other model. */
export type Way = "first" | "second" | "fallback";

/** The provider of the second route, and where the double is it. */
export const SECOND = "second";
export const SECOND_PATH = "/second/v1";

/** By way who serves, and micro-credits for one token of input and of output: what clients pay, and the operator. */
export const WAYS: Readonly<
  Record<
    Way,
    { readonly model: string; readonly provider: string; readonly price: Rate; readonly cost: Rate }
  >
> = {
  first: { model: MODEL, provider: "openai", price: [2_000n, 12_000n], cost: [1_000n, 7_000n] },
  second: { model: MODEL, provider: SECOND, price: [2_000n, 12_000n], cost: [1_500n, 9_000n] },
  fallback: { model: FALLBACK, provider: "openai", price: [20_000n, 100_000n], cost: [15_000n, 80_000n] },
};
/** The way that a row was served by; `undefined` where that is none. */
export function wayOfRow({ model, provider }: Pick<Books["requests"][number], "model" | "provider">) {
  const ways = Object.keys(WAYS) as Way[];
  return ways.find((way) => WAYS[way].model === model && WAYS[way].provider === provider);
}

type Rate = readonly [input: bigint, output: bigint];

/** What tokens come to. */
export function rated(
  [input, output]: Rate,
  usage: { readonly input?: number; readonly output?: number },
): bigint {
  return BigInt(usage.input ?? 0) * input + BigInt(usage.output ?? 0) * output;
}

/** An account and a key of it. */
export interface Tenant {
  readonly account: string;
  readonly key: string;
}

/** What one client did and was told. */
export type Told = ToldChat | ToldGrant | ToldKey;

export interface ToldChat {
  readonly kind: "chat";
  readonly label: string;
  /** The ways that it is to go, as far as it comes, */
  readonly ways: readonly Way[];
  /** and those that it was sent. */
  readonly calls: Way[];
  readonly account: string;
  requestId: string | undefined;
  status: number | undefined;
  /** The charge that the client has read, in micro-credits. */
  credit: bigint | undefined;
  /** Whether the client has read its answer to the end, and was told of no error in it. */
  whole: boolean;
  /** The tokens of a whole answer; undefined where that depends on when somebody broke off. */
  readonly expected: { readonly input: number; readonly output: number } | undefined;
}

export interface ToldGrant {
  readonly kind: "grant";
  readonly account: string;
  readonly key: string;
  readonly amount: bigint;
  acknowledged: boolean;
}

export interface ToldKey {
  readonly kind: "key";
  readonly name: string;
  id: string | undefined;
  text: string | undefined;
  revoked: "no" | "asked" | "acknowledged";
}

/**
 * Compares what clients were told with the books; one sentence for each thing that is not so. A process that `leases`
 * its place among others is taken for dead where it cannot renew that in time. Then the answers that it still gives are
 * free.
 */
export function faultsOfTold(books: Books, told: readonly Told[], leases = false): string[] {
  const chats = told.filter((entry) => entry.kind === "chat");
  const grants = told.filter((entry) => entry.kind === "grant");
  const keys = told.filter((entry) => entry.kind === "key");
  return [
    ...chats.flatMap((chat) => faultsOfChat(books, chat, leases)),
    ...strangers(books, chats),
    ...books.requests.flatMap(faultsOfRow),
    ...grants.flatMap((grant) => faultsOfGrant(books, grant)),
    ...keys.flatMap((key) => faultsOfKey(books, key)),
  ];
}

function faultsOfChat(books: Books, chat: ToldChat, leases: boolean): string[] {
  const { requestId, credit, whole, status } = chat;
  const faults = faultsOfCalls(chat);
  if (whole && credit === undefined) faults.push(`the whole answer of ${requestId} has no credit`);
  if (requestId === undefined) return faults;
  if (chat.calls.length > 0 && !books.holds.some((hold) => hold.request_id === requestId))
    faults.push(`${requestId} was sent to ${chat.calls.join(", ")} without a hold`);
  const rows = books.requests.filter((row) => row.id === requestId);
  const isFree = leases && rows[0]?.outcome === "process_died" && credit === 0n;
  if (whole && !isFree) faults.push(...faultsOfServed(chat, rows[0]));
  if (rows.length > 1) faults.push(`${requestId} has ${rows.length} rows`);
  const charged = rows[0]?.charge ?? 0n;
  if (credit !== undefined && (rows.length === 0 || charged !== credit))
    faults.push(`${requestId} was told ${credit} and was charged ${charged} (${rows[0]?.outcome})`);
  // A 503 may come after the provider's work, when its charge could not be written; it is written as soon as it can be.
  if (status !== undefined && ![200, 503].includes(status) && charged !== 0n)
    faults.push(`${requestId} was refused with ${status} and charged ${charged}`);
  const charges = books.ledger.filter((row) => row.kind === "settle" && row.request_id === requestId);
  if (charges.length > 1) faults.push(`${requestId} was charged ${charges.length} times`);
  return faults;
}

/** It goes on where it was refused, and nowhere else; no way is taken twice. */
function faultsOfCalls({ label, ways, calls, whole }: ToldChat): string[] {
  const isOnItsWay = calls.every((way, i) => way === ways[i]);
  return isOnItsWay && (!whole || calls.length === ways.length)
    ? []
    : [`the chat ${label} was sent to ${calls.join(", ")} instead of ${ways.join(", ")}`];
}

/** A whole answer is that of the last way: by its provider, at its model's price. */
function faultsOfServed(
  { requestId, ways, credit, expected }: ToldChat,
  row: Books["requests"][number] | undefined,
): string[] {
  const { model, provider, price } = WAYS[ways.at(-1) as Way];
  const faults: string[] = [];
  if (row?.model !== model || row.provider !== provider)
    faults.push(`${requestId} was served by ${row?.model} at ${row?.provider}`);
  const { length } = JSON.parse(row?.attempts ?? "[]") as readonly unknown[];
  if (length !== ways.length) faults.push(`${requestId} has ${length} attempts instead of ${ways.length}`);
  if (expected !== undefined && credit !== rated(price, expected))
    faults.push(`${requestId} was told ${credit} for ${JSON.stringify(expected)} of ${model}`);
  return faults;
}

/** A row is charged, and has cost the operator, what its usage comes to by the rates of who served. */
function faultsOfRow({ id, model, provider, usage, charge, cost }: Books["requests"][number]): string[] {
  // Of one that came to nothing the row need not say where.
  if (usage === null) return [];
  const way = wayOfRow({ model, provider });
  if (way === undefined) return [`${id} was served by ${model} at ${provider}`];
  const counts = JSON.parse(usage) as { readonly input?: number; readonly output?: number };
  return charge === rated(WAYS[way].price, counts) && cost === rated(WAYS[way].cost, counts)
    ? []
    : [`${id} of ${model} at ${provider} was charged ${charge} and cost ${cost} for ${usage}`];
}

/** Requests that no client knows the id of are those whose answer never began. Each that was sent has a hold. */
function strangers(books: Books, chats: readonly ToldChat[]): string[] {
  const known = new Set(chats.map((chat) => chat.requestId));
  const nameless = chats.filter((chat) => chat.requestId === undefined);
  const rows = books.requests.filter((row) => !known.has(row.id)).length;
  const holds = books.holds.filter((hold) => !known.has(hold.request_id)).length;
  const sent = nameless.filter(({ calls }) => calls.length > 0).length;
  const faults: string[] = [];
  if (rows > nameless.length)
    faults.push(`${rows} requests stand in the books for ${nameless.length} without answer`);
  if (sent > holds) faults.push(`${sent} requests without answer were sent, and ${holds} have a hold`);
  return faults;
}

function faultsOfGrant(books: Books, { account, key, amount, acknowledged }: ToldGrant): string[] {
  const cause = `grant:${account}:${key}:grant`;
  const rows = books.ledger.filter((row) => row.cause === cause);
  const faults = rows
    .filter((row) => row.amount !== amount || row.account_id !== account)
    .map((row) => `${cause} stands with ${row.amount} instead of ${amount}`);
  if (rows.length > 1) faults.push(`${cause} stands ${rows.length} times`);
  if (acknowledged && rows.length === 0) faults.push(`${cause} was acknowledged and is lost`);
  return faults;
}

function faultsOfKey(books: Books, { name, id, revoked }: ToldKey): string[] {
  const rows = books.keys.filter((row) => (id === undefined ? row.name === name : row.id === id));
  if (rows.length > 1) return [`the key ${name} stands ${rows.length} times`];
  if (id === undefined) return [];
  if (rows.length === 0) return [`the key ${id} was given out and is lost`];
  const isRevoked = rows[0]?.revoked_at_ms !== null;
  if (revoked === "acknowledged" && !isRevoked) return [`the key ${id} was revoked and is not`];
  if (revoked === "no" && isRevoked) return [`the key ${id} is revoked and nobody asked for it`];
  return [];
}
