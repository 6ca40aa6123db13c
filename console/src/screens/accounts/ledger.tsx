import { read } from "../../api/client.ts";
import { createMemo, Show } from "solid-js";
import { classes } from "../../design/classes.ts";
import { ExportButton } from "../../design/export-button.tsx";
import { Panel } from "../../design/layout.tsx";
import { Empty, Loaded } from "../../design/states.tsx";
import { type Column, DataTable } from "../../design/table.tsx";
import ui from "../../design/ui.module.css";
import { Money, Time } from "../../design/values.tsx";
import { exactTime } from "../../format/times.ts";
import { shortId } from "../../lists/ids.ts";
import { inOrder } from "../../lists/order.ts";
import { ChoiceFilter, Filters, ListEnd, Rows, TextFilter, WordBadge } from "../../lists/parts.tsx";
import { RowLink } from "../../lists/row-link.tsx";
import { timedPages } from "../../lists/timed-pages.ts";
import { MOST_PER_READ } from "../../lists/read-whole.ts";
import { type PagesOptions, usePages } from "../../lists/use-pages.ts";
import { useListSearch } from "../../lists/use-search.ts";
import type { RangeSearch } from "../../shell/range.ts";
import { useRange } from "../../shell/use-range.ts";
import { ENTRY_WORDS, entryWords, OUTCOME_WORDS, wordsOf } from "../../words/words.ts";
import styles from "./accounts.module.css";
import { Amount, TableSkeleton } from "./keys-table.tsx";
import type { LedgerEntry } from "./types.ts";
import type { ACCOUNT_SEARCH } from "./search.ts";

const KINDS = [
  ["grant", "Grant or taken back"],
  ["settle", ENTRY_WORDS.settle.name],
] as const;

const COLUMNS: readonly Column<LedgerEntry>[] = [
  {
    title: "Written",
    order: "time",
    cell: (entry) => <Time at={entry.created_at} />,
    text: ({ created_at }) => exactTime(created_at),
  },
  {
    title: "What",
    fold: 1,
    cell: (entry) => <WordBadge words={entryWords(entry)} />,
    text: ({ kind }) => kind,
  },
  {
    title: "Reason",
    cell: (entry) => (
      <span class={styles.reason}>
        {entry.kind === "settle" ? wordsOf(OUTCOME_WORDS, entry.reason ?? "").name : entry.reason}
      </span>
    ),
    text: ({ reason }) => reason,
  },
  {
    title: "Request",
    cell: (entry) => (
      <Show when={entry.request_id?.startsWith("req_") === true} fallback={<span class={ui.soft}>–</span>}>
        <RowLink
          to="/requests/$id"
          id={entry.request_id ?? ""}
          class={ui.mono}
          title={entry.request_id ?? ""}
        >
          {shortId(entry.request_id ?? "")}
        </RowLink>
      </Show>
    ),
    text: ({ request_id }) => request_id,
  },
  {
    title: "Amount, cr · USD",
    order: "amount",
    isNumber: true,
    isMoney: true,
    cell: (entry) => (
      <span class={classes(entry.amount > 0 && styles.given)}>
        {entry.amount > 0 ? "+" : ""}
        <Money credits={entry.amount} bare />
      </span>
    ),
    text: ({ amount }) => amount,
  },
  {
    title: "Balance, cr · USD",
    isNumber: true,
    isMoney: true,
    // An operator's alone: a key's session sees no balance, and not this page.
    cell: (entry) => <Amount of={entry.balance_after ?? undefined} />,
    text: ({ balance_after }) => balance_after,
  },
];

function ledgerPages(id: string, time: RangeSearch, order: "asc" | "desc"): PagesOptions<LedgerEntry> {
  return timedPages(["ledger", id, order], {}, time, (query, signal) =>
    read("/admin/v1/accounts/{id}/ledger", {
      path: { id },
      query: { ...query, limit: MOST_PER_READ, order },
      signal,
    }),
  );
}

/** Movements of an account's credit in the page's range, the newest first. */
export function Ledger(props: { readonly account: string }) {
  const { search, change } = useListSearch<(typeof ACCOUNT_SEARCH)[number]>();
  const { named } = useRange();
  /** By which time the gateway puts them in order: entries of one second stay as they were booked. */
  const order = () => (search().sort === "time" ? "asc" : "desc");
  const isByTime = (): boolean => [undefined, "time", "-time"].includes(search().sort);
  const { query, rows, rest, state } = usePages(() => ledgerPages(props.account, named(), order()));
  const arranged = (all: readonly LedgerEntry[]): readonly LedgerEntry[] => {
    const { kind, text = "", sort } = search();
    const found = all
      .filter((entry) => kind === undefined || entry.kind === kind)
      .filter(({ reason, request_id }) =>
        `${reason ?? ""} ${request_id ?? ""}`.toLowerCase().includes(text.toLowerCase()),
      );
    return isByTime() ? found : inOrder(found, COLUMNS, sort);
  };
  const shown = createMemo(() => arranged(rows()));
  const set = (): number => [search().kind, search().text].filter((value) => value !== undefined).length;
  return (
    <Panel
      flush
      title="Ledger"
      actions={
        <div class={ui.actions}>
          <ExportButton
            name={`ledger-${props.account}`}
            columns={COLUMNS}
            rows={shown()}
            isBusy={query.isPlaceholderData}
            rest={rest}
            arranged={arranged}
          />
        </div>
      }
    >
      <div class={ui.panelBody}>
        <Filters set={set()} onClear={() => change({ kind: "", text: "" })}>
          <ChoiceFilter
            label="What"
            value={search().kind}
            among={KINDS}
            onChange={(kind) => change({ kind })}
          />
          <TextFilter
            label="Reason or request id"
            placeholder="any"
            value={search().text}
            onChange={(text) => change({ text })}
          />
        </Filters>
      </div>
      <Loaded of={state} skeleton={<TableSkeleton />}>
        {() => (
          <Rows of={query}>
            <DataTable
              label="Table of the ledger"
              dense
              columns={COLUMNS}
              rows={shown()}
              ordering={{ by: search().sort ?? "-time", change: (sort) => change({ sort }) }}
              empty={
                <Empty
                  title={
                    rows().length === 0
                      ? "Nothing was booked in this time"
                      : `No entry${query.hasNextPage ? " of those read so far" : ""} fits these filters`
                  }
                >
                  <p>A longer range is in the bar above.</p>
                </Empty>
              }
            />
            <Show when={rows().length > 0}>
              <ListEnd
                noun={["entry", "entries"]}
                shown={shown().length}
                of={query}
                isOrdered={!isByTime()}
                given={order() === "asc" ? "oldest first" : "newest first"}
              />
            </Show>
          </Rows>
        )}
      </Loaded>
    </Panel>
  );
}
