import type { Books } from "./books.ts";

/** The model that every chat asks for, and the one that serves where its provider refuses. */
export const MODEL = "openai/gpt-5.6-luna";
export const FALLBACK = "openai/gpt-5.6-sol";

/** Micro-credits for one token of input and of output: what clients pay, and what the operator does. */
export const RATES: Readonly<Record<string, { readonly price: Rate; readonly cost: Rate }>> = {
  [MODEL]: { price: [2_000n, 12_000n], cost: [1_000n, 7_000n] },
  [FALLBACK]: { price: [20_000n, 100_000n], cost: [15_000n, 80_000n] },
};
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

/** Compares what clients were told with the books; one sentence for each thing that is not so. */
export function faultsOfTold(books: Books, told: readonly Told[]): string[] {
  const chats = told.filter((entry) => entry.kind === "chat");
  const grants = told.filter((entry) => entry.kind === "grant");
  const keys = told.filter((entry) => entry.kind === "key");
  return [
    ...chats.flatMap((chat) => faultsOfChat(books, chat)),
    ...strangers(books, chats),
    ...books.requests.flatMap(faultsOfRow),
    ...grants.flatMap((grant) => faultsOfGrant(books, grant)),
    ...keys.flatMap((key) => faultsOfKey(books, key)),
  ];
}

function faultsOfChat(books: Books, chat: ToldChat): string[] {
  const { requestId, credit, whole, expected, status } = chat;
  const faults: string[] = [];
  if (whole && credit === undefined) faults.push(`the whole answer of ${requestId} has no credit`);
  if (requestId === undefined) return faults;
  const rows = books.requests.filter((row) => row.id === requestId);
  const price = RATES[rows[0]?.model ?? ""]?.price;
  if (whole && expected !== undefined && (price === undefined || credit !== rated(price, expected)))
    faults.push(`${requestId} was told ${credit} for ${JSON.stringify(expected)} of ${rows[0]?.model}`);
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

/** A row is charged, and has cost the operator, what its usage comes to by the rates of its model. */
function faultsOfRow({ id, model, usage, charge, cost }: Books["requests"][number]): string[] {
  const rates = RATES[model];
  if (rates === undefined) return [`${id} was served by ${model}`];
  if (usage === null) return [];
  const counts = JSON.parse(usage) as { readonly input?: number; readonly output?: number };
  return charge === rated(rates.price, counts) && cost === rated(rates.cost, counts)
    ? []
    : [`${id} of ${model} was charged ${charge} and cost ${cost} for ${usage}`];
}

/** Requests that no client knows the id of are those whose answer never began. */
function strangers(books: Books, chats: readonly ToldChat[]): string[] {
  const known = new Set(chats.map((chat) => chat.requestId));
  const unknown = books.requests.filter((row) => !known.has(row.id)).length;
  const nameless = chats.filter((chat) => chat.requestId === undefined).length;
  return unknown > nameless ? [`${unknown} requests stand in the books for ${nameless} without answer`] : [];
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
