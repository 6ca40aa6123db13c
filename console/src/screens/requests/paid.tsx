import { Link } from "@tanstack/solid-router";
import Flag from "lucide-solid/icons/flag";
import { createMemo, Show } from "solid-js";
import { Button, buttonClass } from "../../design/button.tsx";
import { ExportButton } from "../../design/export-button.tsx";
import { Panel } from "../../design/layout.tsx";
import { Empty, Loaded, Skeleton } from "../../design/states.tsx";
import { type Column, DataTable } from "../../design/table.tsx";
import ui from "../../design/ui.module.css";
import { Money, Time } from "../../design/values.tsx";
import { count, seconds } from "../../format/numbers.ts";
import { exactTime } from "../../format/times.ts";
import styles from "../../lists/lists.module.css";
import { useChoices, useIsOperator, useNames } from "../../lists/names.ts";
import { inOrder } from "../../lists/order.ts";
import {
  ChoiceFilter,
  Filters,
  IdLink,
  ListEnd,
  ModelId,
  OwnerFilters,
  Rows,
  TextFilter,
  WordBadge,
  OwnerName,
} from "../../lists/parts.tsx";
import type { REQUESTS_SEARCH } from "../../lists/search.ts";
import { usePages } from "../../lists/use-pages.ts";
import { useListSearch } from "../../lists/use-search.ts";
import { useRange } from "../../shell/use-range.ts";
import { FLAG_WORDS, OUTCOME_WORDS, wordsOf } from "../../words/words.ts";
import { PAID_FILTERS, paidPages } from "./reads.ts";
import type { RequestRow } from "./types.ts";
import { pieces, tokensIn, tokensOut } from "./usage.ts";

const CLEARED = Object.fromEntries(PAID_FILTERS.map((name) => [name, ""]));

const OUTCOMES = Object.entries(OUTCOME_WORDS).map(([value, { name }]) => [value, name] as const);

/** Paid requests that have ended, newest first. */
export function Paid() {
  const { search, change } = useListSearch<(typeof REQUESTS_SEARCH)[number]>();
  const { named } = useRange();
  const isOperator = useIsOperator();
  const { query, rows, rest, state } = usePages(() => paidPages(search(), named()));
  // The gateway answers one read after another: names wait for the rows.
  const { models, providers } = useChoices();
  const { nameOf } = useNames();
  const columns = columnsOf(nameOf);
  const arranged = (all: readonly RequestRow[]): readonly RequestRow[] =>
    inOrder(all, columns, search().sort);
  const shown = createMemo(() => arranged(rows()));
  const isFiltered = (): number => PAID_FILTERS.filter((name) => search()[name] !== undefined).length;
  return (
    <>
      <Filters set={isFiltered()} onClear={() => change(CLEARED)}>
        <TextFilter
          label="Request id"
          placeholder="req_…"
          value={search().id}
          onChange={(id) => change({ id })}
        />
        <TextFilter
          label="Model"
          among={models()}
          value={search().model}
          onChange={(model) => change({ model })}
        />
        <ChoiceFilter
          label="Outcome"
          among={OUTCOMES}
          value={search().outcome}
          onChange={(outcome) => change({ outcome })}
        />
        <Show when={isOperator()}>
          <TextFilter
            label="Provider"
            among={providers()}
            value={search().provider}
            onChange={(provider) => change({ provider })}
          />
          <OwnerFilters account={search().account_id} accountKey={search().key_id} onChange={change} />
        </Show>
      </Filters>
      <Panel
        title="Requests that ended"
        flush
        actions={
          <div class={styles.words}>
            <Button kind="quiet" disabled={query.isFetching} onClick={() => void query.refetch()}>
              Refresh
            </Button>
            <ExportButton
              name="requests"
              columns={columns}
              rows={shown()}
              isBusy={query.isPlaceholderData}
              rest={rest}
              arranged={arranged}
            />
          </div>
        }
      >
        <Loaded of={state} skeleton={<TableSkeleton />}>
          {() => (
            <Rows of={query}>
              <DataTable
                label="Table of requests"
                dense
                columns={columns}
                rows={shown()}
                ordering={{ by: search().sort, change: (sort) => change({ sort }) }}
                empty={<NoRequests isFiltered={isFiltered() > 0} />}
              />
              <Show when={rows().length > 0}>
                <ListEnd
                  noun={["request"]}
                  shown={rows().length}
                  of={query}
                  isOrdered={search().sort !== undefined}
                />
              </Show>
            </Rows>
          )}
        </Loaded>
      </Panel>
    </>
  );
}

/** Lines in the shape of a list that is still read. */
export function TableSkeleton() {
  return (
    <div class={ui.panelBody}>
      <Skeleton lines={12} />
    </div>
  );
}

function NoRequests(props: { readonly isFiltered: boolean }) {
  return (
    <Show
      when={props.isFiltered}
      fallback={
        <Empty title="No request ended in this time">
          <p>
            Each request that holds credit stands here once it has ended. A longer range is in the bar above.
          </p>
          <Link to="/playground" class={buttonClass()}>
            Make one in the playground
          </Link>
        </Empty>
      }
    >
      <Empty title="No request fits these filters">
        <p>
          Take a filter away or choose a longer range. Requests that were refused at once are under Refused.
        </p>
      </Empty>
    </Show>
  );
}

const lasted = (row: RequestRow): number => (row.ended_at - row.admitted_at) * 1_000;
const toFirstByte = (row: RequestRow): number | null =>
  row.first_byte_at === null ? null : (row.first_byte_at - row.admitted_at) * 1_000;

/** That the usage of a request was special, and how. */
function Flags(props: { readonly flags: readonly string[] }) {
  const names = (): string => props.flags.map((flag) => wordsOf(FLAG_WORDS, flag).name).join(", ");
  return (
    <span class={styles.flag} title={names()}>
      <Flag size={12} aria-label={`Flags: ${names()}`} />
      {props.flags.length}
    </span>
  );
}

function columnsOf(nameOf: (id: string) => string | undefined): readonly Column<RequestRow>[] {
  return [
    { title: "Ended", cell: (row) => <Time at={row.ended_at} />, text: (row) => exactTime(row.ended_at) },
    {
      title: "Request",
      cell: (row) => <IdLink to="/requests/$id" id={row.id} what="request id" />,
      text: ({ id }) => id,
    },
    { title: "Model", cell: (row) => <ModelId id={row.model} />, text: ({ model }) => model },
    { title: "Provider", fold: 1, cell: (row) => row.provider ?? "–", text: ({ provider }) => provider },
    {
      title: "Key",
      fold: 3,
      cell: ({ key_id }) => <OwnerName id={key_id} name={nameOf(key_id)} />,
      text: ({ key_id }) => key_id,
    },
    {
      title: "Outcome",
      cell: (row) => (
        <span class={styles.words}>
          <WordBadge words={wordsOf(OUTCOME_WORDS, row.outcome)} />
          <Show when={row.flags.length > 0}>
            <Flags flags={row.flags} />
          </Show>
        </span>
      ),
      text: ({ outcome }) => outcome,
    },
    {
      title: "Tokens in",
      fold: 4,
      isNumber: true,
      order: "in",
      cell: (row) => count(tokensIn(row.usage)),
      text: ({ usage }) => tokensIn(usage),
    },
    {
      title: "Tokens out",
      fold: 5,
      isNumber: true,
      order: "out",
      cell: (row) => {
        const made = pieces(row.usage);
        return made.length > 0 ? made.join(", ").replace(" of video", "") : count(tokensOut(row.usage));
      },
      text: ({ usage }) => tokensOut(usage),
    },
    {
      title: "First byte, s",
      fold: 2,
      isNumber: true,
      order: "first_byte",
      cell: (row) => {
        const ms = toFirstByte(row);
        return ms === null ? "–" : seconds(ms);
      },
      text: toFirstByte,
    },
    {
      title: "Time, s",
      fold: 6,
      isNumber: true,
      order: "time",
      cell: (row) => seconds(lasted(row)),
      text: lasted,
    },
    {
      title: "Charged, cr · USD",
      isNumber: true,
      isMoney: true,
      order: "credit",
      cell: (row) => <Money credits={row.credit} bare />,
      text: ({ credit }) => credit,
    },
  ];
}
