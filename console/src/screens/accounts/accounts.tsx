import { Link } from "@tanstack/solid-router";
import { createMemo, createSignal, Show } from "solid-js";
import { Badge } from "../../design/badge.tsx";
import { Button, buttonClass } from "../../design/button.tsx";
import { ExportButton } from "../../design/export-button.tsx";
import { Page, Panel } from "../../design/layout.tsx";
import { nowSec } from "../../design/now.ts";
import { Empty, Loaded } from "../../design/states.tsx";
import { type Column, DataTable } from "../../design/table.tsx";
import { Tabs } from "../../design/tabs.tsx";
import ui from "../../design/ui.module.css";
import { Money, Time } from "../../design/values.tsx";
import { count } from "../../format/numbers.ts";
import { exactTime } from "../../format/times.ts";
import { useNames } from "../../lists/names.ts";
import { inOrder } from "../../lists/order.ts";
import { ChoiceFilter, Filters, ListEnd, NoneLikeThat, ShortId, TextFilter } from "../../lists/parts.tsx";
import { RowLink } from "../../lists/row-link.tsx";
import { readOnWhile } from "../../lists/use-pages.ts";
import { useListSearch } from "../../lists/use-search.ts";
import { useRange } from "../../shell/use-range.ts";
import styles from "./accounts.module.css";
import { NewAccountDialog } from "./dialogs.tsx";
import { KEY_WORDS, keyState } from "./keys.ts";
import { Amount, KeysTable, TableSkeleton } from "./keys-table.tsx";
import type { Account } from "./types.ts";
import { useAccounts, useSpent } from "./reads.ts";
import type { ACCOUNTS_SEARCH } from "./search.ts";

const TABS = [
  { value: "accounts", name: "Accounts" },
  { value: "keys", name: "Keys" },
] as const;
const STATUSES = [
  ["active", "Active"],
  ["closed", "Closed"],
] as const;
const KEY_STATES = Object.entries(KEY_WORDS).map(([state, { name }]) => [state, name] as const);
const CLEARED = { text: "", status: "", account_id: "" };

/** Who may spend how much? */
export function Accounts() {
  const { search, change } = useListSearch<(typeof ACCOUNTS_SEARCH)[number]>();
  const [isCreating, setCreating] = createSignal(false);
  const tab = (): string => (search().tab === "keys" ? "keys" : "accounts");
  const set = (): number =>
    [search().text, search().status, search().account_id].filter((value) => value !== undefined).length;
  return (
    <Page
      title="Accounts & keys"
      actions={
        <>
          <Button onClick={() => setCreating(true)}>Create an account</Button>
          <Link to="/keys/new" class={buttonClass("primary")}>
            Create a key
          </Link>
        </>
      }
    >
      <Tabs
        label="Accounts or keys"
        tabs={TABS}
        value={tab()}
        onChange={(next) => change({ ...CLEARED, sort: "", tab: next === "accounts" ? "" : next })}
      >
        <Filters set={set()} onClear={() => change(CLEARED)}>
          <TextFilter
            label="Name or id"
            placeholder="any"
            value={search().text}
            onChange={(text) => change({ text })}
          />
          <ChoiceFilter
            label="State"
            value={search().status}
            among={tab() === "keys" ? KEY_STATES : STATUSES}
            onChange={(status) => change({ status })}
          />
          <Show when={tab() === "keys"}>
            <AccountFilter value={search().account_id} onChange={(account_id) => change({ account_id })} />
          </Show>
        </Filters>
        <Show when={tab() === "keys"} fallback={<AccountsTable onCreate={() => setCreating(true)} />}>
          <KeysTable
            isOfAll
            account={search().account_id}
            text={search().text}
            status={search().status}
            sort={search().sort}
            onSort={(sort) => change({ sort })}
          />
        </Show>
      </Tabs>
      <NewAccountDialog open={isCreating()} onClose={() => setCreating(false)} />
    </Page>
  );
}

function AccountFilter(props: {
  readonly value: string | undefined;
  readonly onChange: (id: string) => void;
}) {
  const { accounts } = useNames();
  return (
    <ChoiceFilter
      label="Account"
      value={props.value}
      among={accounts().map(({ id, name }) => [id, name])}
      onChange={(id) => props.onChange(id)}
    />
  );
}

function AccountsTable(props: { readonly onCreate: () => void }) {
  const { search, change } = useListSearch<(typeof ACCOUNTS_SEARCH)[number]>();
  const { range } = useRange();
  const { query, rows, rest, state } = useAccounts();
  readOnWhile(query, () =>
    [search().text, search().status, search().sort].some((given) => given !== undefined),
  );
  // A row that is not read yet may belong before all that are.
  const sort = (): string | undefined => (query.hasNextPage ? undefined : search().sort);
  const spent = useSpent(range, "account");
  // The gateway answers one read after another: names wait for the rows.
  const { keys } = useNames();
  const keyCounts = createMemo(() => {
    const counts = new Map<string, number>();
    for (const key of keys())
      if (keyState(key, nowSec()) === "live")
        counts.set(key.account_id, (counts.get(key.account_id) ?? 0) + 1);
    return counts;
  });
  const columns = columnsOf(spent, (id) => keyCounts().get(id) ?? 0);
  const filtered = (all: readonly Account[]): readonly Account[] => {
    const { text = "", status } = search();
    return all
      .filter(({ name, id }) => `${name} ${id}`.toLowerCase().includes(text.toLowerCase()))
      .filter((account) => status === undefined || account.status === status);
  };
  const shown = createMemo(() => inOrder(filtered(rows()), columns, sort()));
  return (
    <Panel
      flush
      title="Accounts"
      actions={
        <div class={ui.actions}>
          <ExportButton
            name="accounts"
            columns={columns}
            rows={shown()}
            rest={rest}
            arranged={(all) => inOrder(filtered(all), columns, search().sort)}
          />
        </div>
      }
    >
      <Loaded of={state} skeleton={<TableSkeleton />}>
        {() => (
          <>
            <DataTable
              label="Table of accounts"
              columns={columns}
              rows={shown()}
              ordering={{ by: sort(), change: (by) => change({ sort: by }) }}
              empty={
                <Show when={rows().length === 0} fallback={<NoneLikeThat noun="account" of={query} />}>
                  <Empty title="There is no account yet">
                    <p>An account has credit, which its keys spend.</p>
                    <Button kind="primary" onClick={() => props.onCreate()}>
                      Create an account
                    </Button>
                  </Empty>
                </Show>
              }
            />
            <Show when={shown().length > 0}>
              <ListEnd
                noun={["account"]}
                shown={shown().length}
                of={query}
                isOrdered={sort() !== undefined}
                given={search().sort === undefined ? "oldest first" : "oldest first until all are read"}
              />
            </Show>
          </>
        )}
      </Loaded>
    </Panel>
  );
}

function columnsOf(
  spent: (id: string) => number | undefined,
  keys: (id: string) => number,
): readonly Column<Account>[] {
  return [
    {
      title: "Account",
      order: "name",
      cell: (account) => (
        <span class={styles.named}>
          <RowLink
            to="/accounts/$id"
            id={account.id}
            class={ui.name}
            title={`${account.name} · ${account.id}`}
          >
            {account.name}
          </RowLink>
          <Show when={account.status === "closed"}>
            <Badge>Closed</Badge>
          </Show>
        </span>
      ),
      text: ({ name }) => name,
    },
    {
      title: "Balance, cr · USD",
      order: "balance",
      isNumber: true,
      isMoney: true,
      cell: (account) => <Money credits={account.balance} bare />,
      text: ({ balance }) => balance,
    },
    {
      title: "Held, cr · USD",
      fold: 3,
      order: "held",
      isNumber: true,
      isMoney: true,
      cell: (account) => <Money credits={account.held} bare />,
      text: ({ held }) => held,
    },
    {
      title: "In this range, cr · USD",
      order: "range",
      isNumber: true,
      isMoney: true,
      cell: (account) => <Amount of={spent(account.id)} />,
      text: ({ id }) => spent(id) ?? null,
    },
    {
      title: "Live keys",
      fold: 4,
      order: "keys",
      isNumber: true,
      cell: (account) => (
        <RowLink to="/accounts" search={{ tab: "keys", account_id: account.id, status: "live" }}>
          {count(keys(account.id))}
        </RowLink>
      ),
      text: ({ id }) => keys(id),
    },
    {
      title: "Since",
      fold: 1,
      order: "since",
      cell: (account) => <Time at={account.created_at} />,
      text: ({ created_at }) => exactTime(created_at),
      rank: ({ created_at }) => created_at,
    },
    {
      title: "Id",
      fold: 2,
      cell: (account) => <ShortId id={account.id} what="account id" />,
      text: ({ id }) => id,
    },
  ];
}
