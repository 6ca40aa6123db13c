import { Link } from "@tanstack/solid-router";
import { createMemo, type JSX, Show } from "solid-js";
import { CopyButton } from "../../design/copy.tsx";
import { ExportButton } from "../../design/export-button.tsx";
import { nowSec } from "../../design/now.ts";
import { Panel } from "../../design/layout.tsx";
import { Empty, Loaded, Skeleton } from "../../design/states.tsx";
import { type Column, DataTable } from "../../design/table.tsx";
import ui from "../../design/ui.module.css";
import { Money, Time } from "../../design/values.tsx";
import { compact } from "../../format/numbers.ts";
import { exactTime } from "../../format/times.ts";
import { useNames } from "../../lists/names.ts";
import { inOrder } from "../../lists/order.ts";
import { ListEnd, NamedLink, NoneLikeThat, Rows, WordBadge } from "../../lists/parts.tsx";
import { RowLink } from "../../lists/row-link.tsx";
import { readOnWhile } from "../../lists/use-pages.ts";
import { useRange } from "../../shell/use-range.ts";
import styles from "./accounts.module.css";
import { KEY_WORDS, keyState } from "./keys.ts";
import type { Key } from "./types.ts";
import { useKeys, useSpent } from "./reads.ts";

/** Keys of an account, or of all, with what each may use and has spent. */
export function KeysTable(props: {
  /** The account whose keys are shown; absent: all. */
  readonly account?: string | undefined;
  /** Whether the reader has chosen the account, so that each row names it. */
  readonly isOfAll?: boolean;
  readonly text: string | undefined;
  readonly status: string | undefined;
  readonly sort: string | undefined;
  readonly onSort: (by: string) => void;
  readonly actions?: JSX.Element;
}) {
  const { range } = useRange();
  const { nameOf } = useNames();
  const { query, rows, rest, state } = useKeys(() => props.account);
  readOnWhile(query, () => [props.text, props.status, props.sort].some((given) => given !== undefined));
  // A row that is not read yet may belong before all that are.
  const sort = (): string | undefined => (query.hasNextPage ? undefined : props.sort);
  const spent = useSpent(range, "key", () =>
    props.account === undefined ? {} : { account_id: props.account },
  );
  const columns = createMemo(() =>
    columnsOf(nameOf, spent).filter(({ title }) => title !== "Account" || props.isOfAll === true),
  );
  const filtered = (all: readonly Key[]): readonly Key[] => {
    const text = (props.text ?? "").toLowerCase();
    return all
      .filter(({ name, id, hint }) => `${name} ${id} ${hint}`.toLowerCase().includes(text))
      .filter((key) => props.status === undefined || keyState(key, nowSec()) === props.status);
  };
  const shown = createMemo(() => inOrder(filtered(rows()), columns(), sort()));
  const newKey = (): JSX.Element => (
    <Link to="/keys/new" search={props.account === undefined ? {} : { account_id: props.account }}>
      Create a key
    </Link>
  );
  return (
    <Panel
      flush
      title="Keys"
      actions={
        <div class={ui.actions}>
          {props.actions}
          <ExportButton
            name="keys"
            columns={columns()}
            rows={shown()}
            isBusy={query.isPlaceholderData}
            rest={rest}
            arranged={(all) => inOrder(filtered(all), columns(), props.sort)}
          />
        </div>
      }
    >
      <Loaded of={state} skeleton={<TableSkeleton />}>
        {() => (
          <Rows of={query}>
            <DataTable
              label="Table of keys"
              dense
              columns={columns()}
              rows={shown()}
              ordering={{ by: sort(), change: props.onSort }}
              empty={
                <Show when={rows().length === 0} fallback={<NoneLikeThat noun="key" of={query} />}>
                  <Empty title="There is no key yet">
                    <p>
                      An application calls the gateway with a key, and what it spends is charged to the
                      account.
                    </p>
                    {newKey()}
                  </Empty>
                </Show>
              }
            />
            <Show when={shown().length > 0}>
              <ListEnd
                noun={["key"]}
                shown={shown().length}
                of={query}
                isOrdered={sort() !== undefined}
                given={props.sort === undefined ? "oldest first" : "oldest first until all are read"}
              />
            </Show>
          </Rows>
        )}
      </Loaded>
    </Panel>
  );
}

/** Lines in the shape of a table that is still read. */
export function TableSkeleton() {
  return (
    <div class={ui.panelBody}>
      <Skeleton lines={6} />
    </div>
  );
}

/** Whether a key can be used. */
export function KeyBadge(props: { readonly of: Key }) {
  return <WordBadge words={KEY_WORDS[keyState(props.of, nowSec())]} />;
}

/** What is spent of a budget, as a bar beside its words. */
function Budget(props: { readonly of: Key }) {
  return (
    <Show when={props.of.budget !== null} fallback={<span class={ui.soft}>none</span>}>
      <span class={styles.budget}>
        <Money credits={props.of.budget ?? 0} bare />
        <progress
          value={props.of.spent + props.of.held}
          max={Math.max(props.of.budget ?? 0, 1e-9)}
          aria-label={`Used of the budget of ${props.of.name}`}
        />
      </span>
    </Show>
  );
}

/** The limits of a key in few words. */
export function limitsText({ requests_per_minute, tokens_per_minute, concurrency }: Key["limits"]): string {
  const parts = [
    requests_per_minute === null ? [] : [`${compact(requests_per_minute)} req/min`],
    tokens_per_minute === null ? [] : [`${compact(tokens_per_minute)} tok/min`],
    concurrency === null ? [] : [`${compact(concurrency)} at once`],
  ].flat();
  return parts.join(", ");
}

function columnsOf(
  nameOf: (id: string) => string | undefined,
  spent: (id: string) => number | undefined,
): readonly Column<Key>[] {
  return [
    {
      title: "Key",
      order: "name",
      cell: (key) => (
        <span class={styles.named}>
          <RowLink to="/keys/$id" id={key.id} class={ui.name} title={`${key.name} · ${key.id}`}>
            {key.name}
          </RowLink>
          <code class={ui.soft}>{key.hint}</code>
        </span>
      ),
      text: ({ name }) => name,
    },
    {
      title: "Account",
      fold: 4,
      order: "account",
      cell: (key) => <NamedLink to="/accounts/$id" id={key.account_id} name={nameOf(key.account_id)} />,
      text: ({ account_id }) => nameOf(account_id) ?? account_id,
    },
    {
      title: "State",
      order: "state",
      cell: (key) => <KeyBadge of={key} />,
      text: (key) => keyState(key, nowSec()),
    },
    {
      title: "In this range, cr · USD",
      order: "range",
      isNumber: true,
      isMoney: true,
      cell: (key) => <Amount of={spent(key.id)} />,
      text: ({ id }) => spent(id) ?? null,
    },
    {
      title: "Spent in all, cr · USD",
      fold: 5,
      order: "spent",
      isNumber: true,
      isMoney: true,
      cell: (key) => <Money credits={key.spent} bare />,
      text: ({ spent: inAll }) => inAll,
    },
    {
      title: "Budget, cr · USD",
      order: "budget",
      isNumber: true,
      isMoney: true,
      cell: (key) => <Budget of={key} />,
      text: ({ budget }) => budget,
    },
    {
      title: "Limits",
      fold: 3,
      cell: (key) => limitsText(key.limits) || <span class={ui.soft}>none</span>,
      text: ({ limits }) => limitsText(limits),
    },
    {
      title: "Expires",
      fold: 2,
      order: "expires",
      cell: (key) => (
        <Show when={key.expires_at} fallback={<span class={ui.soft}>never</span>}>
          {(at) => <Time at={at()} />}
        </Show>
      ),
      text: ({ expires_at }) => (expires_at === null ? null : exactTime(expires_at)),
      rank: ({ expires_at }) => expires_at,
    },
    {
      title: "Id",
      fold: 1,
      cell: (key) => <CopyButton text={key.id} what="key id" />,
      text: ({ id }) => id,
    },
  ];
}

/** Credits, or a dash until they are known. */
export function Amount(props: { readonly of: number | undefined }) {
  return (
    <Show when={props.of !== undefined} fallback={<span class={ui.soft}>–</span>}>
      <Money credits={props.of ?? 0} bare />
    </Show>
  );
}
