import { sql } from "kysely";
import type { KeptDatabase } from "../db/kept-tables.ts";
import type { KeptPart } from "./sealing.ts";

/** An answer to be kept; its texts are sealed, as bytes. */
export interface SealedAnswer {
  readonly account: string;
  readonly id: string;
  readonly previous: string | null;
  readonly createdAtMs: number;
  readonly input: Uint8Array;
  readonly output: Uint8Array;
  readonly frame: Uint8Array;
  /** Ids of the items in its output. */
  readonly items: readonly string[];
}

/** An answer among those that one goes on from. */
export interface Link {
  readonly id: string;
  readonly previous: string | null;
  readonly bytes: number;
}

/** The sealed text of one part of an answer. */
export interface SealedText {
  readonly id: string;
  readonly text: string;
}

/** Where answers are kept. Those made at `sinceMs` or before are not seen. Everything passes between threads. */
export interface KeptStore {
  keep(answer: SealedAnswer): Promise<void>;
  /** The answer and those before it, the newest first, `most` at the most. */
  chain(account: string, id: string, sinceMs: number, most: number): Promise<readonly Link[]>;
  /** One part of those of the answers that are there, in any order. */
  texts(
    account: string,
    part: KeptPart,
    ids: readonly string[],
    sinceMs: number,
  ): Promise<readonly SealedText[]>;
  /** The answers that have the items, by the items' ids. */
  owners(
    account: string,
    items: readonly string[],
    sinceMs: number,
  ): Promise<Readonly<Record<string, string>>>;
  /** Whether there was one. */
  remove(account: string, id: string, sinceMs: number): Promise<boolean>;
  /** Deletes the oldest answers of the account, so that `most` bytes stay. */
  trim(account: string, most: number): Promise<void>;
  /** Deletes some that were made at `untilMs` or before; tells whether there may be more. */
  sweep(untilMs: number): Promise<boolean>;
  close(): Promise<void>;
}

/** Answers that are deleted at a time. */
const PART = 200;

/** The store over open tables of either engine. */
export function keptStoreOver(database: KeptDatabase): KeptStore {
  return {
    keep: (answer) => keepIn(database, answer),

    chain: (account, id, sinceMs, most) => chainIn(database, { account, id, sinceMs, most }),

    texts: (account, part, ids, sinceMs) =>
      database
        .selectFrom("kept_responses")
        .select(["id", `${part} as text`])
        .where("account_id", "=", account)
        .where("id", "in", ids)
        .where("created_at_ms", ">", BigInt(sinceMs))
        .execute(),

    async owners(account, items, sinceMs) {
      const rows = await database
        .selectFrom("kept_items")
        .select(["id", "response_id"])
        .where("account_id", "=", account)
        .where("id", "in", items)
        .where("created_at_ms", ">", BigInt(sinceMs))
        .execute();
      return Object.fromEntries(rows.map(({ id, response_id }) => [id, response_id]));
    },

    async remove(account, id, sinceMs) {
      const removed = await database
        .deleteFrom("kept_responses")
        .where("account_id", "=", account)
        .where("id", "=", id)
        .returning("created_at_ms")
        .executeTakeFirst();
      return removed !== undefined && removed.created_at_ms > BigInt(sinceMs);
    },

    async trim(account, most) {
      await sql`
        delete from kept_responses where account_id = ${account} and seq in (
          select seq from (
            select seq, sum(bytes) over (order by seq desc) as upto from kept_responses
              where account_id = ${account}
          ) as counted where upto > ${BigInt(most)}
        )`.execute(database);
    },

    async sweep(untilMs) {
      const until = BigInt(untilMs);
      const { length } = await database
        .deleteFrom("kept_responses")
        .where("seq", "in", (rows) =>
          rows.selectFrom("kept_responses").select("seq").where("created_at_ms", "<=", until).limit(PART),
        )
        .returning("seq")
        .execute();
      await database.deleteFrom("kept_items").where("created_at_ms", "<=", until).execute();
      return length === PART;
    },

    close: () => database.destroy(),
  };
}

/** Two statements, and no transaction: an item of an answer that is not there says nothing. */
async function keepIn(
  database: KeptDatabase,
  { account, id, previous, createdAtMs, input, output, frame, items }: SealedAnswer,
): Promise<void> {
  const row = {
    previous_id: previous,
    created_at_ms: BigInt(createdAtMs),
    bytes: BigInt(input.length + output.length + frame.length),
    input: textOf(input),
    output: textOf(output),
    frame: textOf(frame),
  };
  const named = [...new Set(items)].map((item) => ({
    account_id: account,
    id: item,
    response_id: id,
    created_at_ms: row.created_at_ms,
  }));
  const keepItems = (): Promise<unknown> =>
    database
      .insertInto("kept_items")
      .values(named)
      .onConflict((found) =>
        found.columns(["account_id", "id"]).doUpdateSet((held) => ({
          response_id: held.ref("excluded.response_id"),
          created_at_ms: held.ref("excluded.created_at_ms"),
        })),
      )
      .execute();
  await Promise.all([
    database
      .insertInto("kept_responses")
      .values({ account_id: account, id, ...row })
      .onConflict((found) => found.columns(["account_id", "id"]).doUpdateSet(row))
      .execute(),
    named.length > 0 && keepItems(),
  ]);
}

function textOf({ buffer, byteOffset, length }: Uint8Array): string {
  return Buffer.from(buffer, byteOffset, length).toString("latin1");
}

interface ChainAsked {
  readonly account: string;
  readonly id: string;
  readonly sinceMs: number;
  readonly most: number;
}

async function chainIn(
  database: KeptDatabase,
  { account, id, sinceMs, most }: ChainAsked,
): Promise<readonly Link[]> {
  const since = BigInt(sinceMs);
  const { rows } = await sql<{ id: string; previous_id: string | null; bytes: bigint }>`
    with recursive chain (id, previous_id, bytes, place) as (
      select id, previous_id, bytes, 1 from kept_responses
        where account_id = ${account} and id = ${id} and created_at_ms > ${since}
      union all
      select earlier.id, earlier.previous_id, earlier.bytes, chain.place + 1
        from chain join kept_responses as earlier on earlier.id = chain.previous_id
        where earlier.account_id = ${account} and earlier.created_at_ms > ${since}
          and chain.place < ${sql.lit(most)}
    )
    select id, previous_id, bytes from chain order by place`.execute(database);
  return rows.map(({ id: found, previous_id: previous, bytes }) => ({
    id: found,
    previous,
    bytes: Number(bytes),
  }));
}
