import { read } from "../../api/client.ts";
import { useQuery } from "../../api/query.ts";
import { whole } from "../../api/whole.ts";
import { queryOptions } from "@tanstack/solid-query";
import { createMemo, Show } from "solid-js";
import { classes } from "../../design/classes.ts";
import { TimeChart } from "../../design/chart.tsx";
import { Button } from "../../design/button.tsx";
import { ExportButton } from "../../design/export-button.tsx";
import { Panel } from "../../design/layout.tsx";
import { Empty, Loaded } from "../../design/states.tsx";
import { type Column, DataTable } from "../../design/table.tsx";
import ui from "../../design/ui.module.css";
import { Time } from "../../design/values.tsx";
import { count } from "../../format/numbers.ts";
import { exactTime } from "../../format/times.ts";
import styles from "../../lists/lists.module.css";
import { useChoices, useNames } from "../../lists/names.ts";
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
import { intervalOf } from "../../shell/range.ts";
import { useRange } from "../../shell/use-range.ts";
import { colouredModels, groupSeries, stepsOf } from "../overview/charts.ts";
import { keepRows } from "../overview/reads.ts";
import { CODE_WORDS, wordsOf } from "../../words/words.ts";
import { TableSkeleton } from "./paid.tsx";
import { REFUSED_FILTERS, refusedPages } from "./reads.ts";
import type { RefusalRow } from "./types.ts";

const CLEARED = Object.fromEntries(REFUSED_FILTERS.map((name) => [name, ""]));

const CODES = Object.entries(CODE_WORDS).map(([value, { name }]) => [value, name] as const);

const STATUSES = [
  ["400", "400 invalid"],
  ["401", "401 no valid key"],
  ["402", "402 no credit"],
  ["429", "429 rate limited"],
] as const;

/** Requests that were refused before anything was held for them, with their number over time. */
export function Refused() {
  const { search, change } = useListSearch<(typeof REQUESTS_SEARCH)[number]>();
  const { named } = useRange();
  const { query, rows, rest, state } = usePages(() => refusedPages(search(), named()));
  // The gateway answers one read after another: names wait for the rows.
  const { models } = useChoices();
  const { nameOf } = useNames();
  const columns = columnsOf(nameOf);
  const set = (): number => REFUSED_FILTERS.filter((name) => search()[name] !== undefined).length;
  return (
    <>
      <Counts />
      <Filters set={set()} onClear={() => change(CLEARED)}>
        <TextFilter
          label="Request id"
          placeholder="req_…"
          value={search().id}
          onChange={(id) => change({ id })}
        />
        <ChoiceFilter
          label="Status"
          among={STATUSES}
          value={search().status}
          onChange={(status) => change({ status })}
        />
        <ChoiceFilter
          label="Reason"
          among={CODES}
          value={search().code}
          onChange={(code) => change({ code })}
        />
        <TextFilter
          label="Model"
          among={models()}
          value={search().model}
          onChange={(model) => change({ model })}
        />
        <OwnerFilters account={search().account_id} accountKey={search().key_id} onChange={change} />
      </Filters>
      <Panel
        title="Refusals"
        flush
        actions={
          <div class={styles.words}>
            <Button kind="quiet" disabled={query.isFetching} onClick={() => void query.refetch()}>
              Refresh
            </Button>
            <ExportButton
              name="refusals"
              columns={columns}
              rows={rows()}
              isBusy={query.isPlaceholderData}
              rest={rest}
            />
          </div>
        }
      >
        <Loaded of={state} skeleton={<TableSkeleton />}>
          {() => (
            <Rows of={query}>
              <DataTable
                label="Refused requests"
                columns={columns}
                rows={rows()}
                empty={
                  <Empty
                    title={set() > 0 ? "No refusal fits these filters" : "Nothing was refused in this time"}
                  >
                    <p>
                      Requests with an invalid field, without a valid key, without credit or above a limit
                      stand here, the last 10,000 of them. They cost nothing.
                    </p>
                  </Empty>
                }
              />
              <Show when={rows().length > 0}>
                <ListEnd noun={["refusal"]} shown={rows().length} of={query} isOrdered={false} />
              </Show>
            </Rows>
          )}
        </Loaded>
      </Panel>
    </>
  );
}

const GROUPS = [
  ["code", "by reason"],
  ["status", "by status"],
  ["model", "by model"],
  ["key", "by key"],
] as const;

/** How many requests were refused, by the hour or the day. */
function Counts() {
  const { search, change } = useListSearch<(typeof REQUESTS_SEARCH)[number]>();
  const { range, zoom } = useRange();
  const { nameOf } = useNames();
  const group = (): (typeof GROUPS)[number][0] =>
    GROUPS.find(([value]) => value === search().group)?.[0] ?? "code";
  const counts = useQuery(() => {
    const query = { ...range(), interval: intervalOf(range()), group_by: group() };
    return queryOptions({
      queryKey: ["refusals", "counts", query],
      queryFn: ({ signal }) => read("/admin/v1/refusals/counts", { query, signal }),
      select: whole,
      placeholderData: keepRows(query),
    });
  });
  const name = (value: string | null): string => {
    if (value === null) return group() === "model" ? "no model" : "no key";
    if (group() === "code") return wordsOf(CODE_WORDS, value).name;
    return group() === "key" ? (nameOf(value) ?? value) : value;
  };
  const times = createMemo(() => stepsOf(range(), intervalOf(range())));
  const drawn = createMemo(() => {
    const points = (counts.data?.data ?? []).map((row) => ({
      time: row.time,
      group: name(row.group),
      value: row.count,
    }));
    const series = groupSeries(points, times());
    return group() === "model" ? colouredModels(series) : series;
  });
  const all = (): number => (counts.data?.data ?? []).reduce((sum, row) => sum + row.count, 0);
  return (
    <Panel
      title={`Refused each ${intervalOf(range())}`}
      actions={
        <div class={styles.words}>
          <Show when={counts.data}>
            <span class={styles.small}>{count(all())} in all</span>
          </Show>
          <select
            class={classes(ui.input, ui.compact)}
            aria-label="Group refusals"
            onChange={(event) => change({ group: event.currentTarget.value })}
          >
            {GROUPS.map(([value, label]) => (
              <option value={value} selected={value === group()}>
                {label}
              </option>
            ))}
          </select>
        </div>
      }
    >
      <Loaded of={counts}>
        {() => (
          <Show when={all() > 0} fallback={<p class={ui.soft}>Nothing was refused in this time.</p>}>
            <TimeChart
              label={`Refused requests each ${intervalOf(range())}`}
              times={times()}
              series={drawn()}
              stacked
              format={wholeCount}
              onZoom={zoom}
            />
          </Show>
        )}
      </Loaded>
    </Panel>
  );
}

/** Half a request is none: lines of the grid between whole numbers have no label. */
function wholeCount(value: number): string {
  return Number.isInteger(value) ? count(value) : "";
}

function columnsOf(nameOf: (id: string) => string | undefined): readonly Column<RefusalRow>[] {
  return [
    { title: "Refused", cell: (row) => <Time at={row.at} />, text: (row) => exactTime(row.at) },
    {
      title: "Request",
      cell: (row) => <IdLink to="/requests/$id" id={row.id} what="request id" />,
      text: ({ id }) => id,
    },
    { title: "Status", isNumber: true, cell: (row) => row.status, text: ({ status }) => status },
    {
      title: "Reason",
      cell: (row) => <WordBadge words={wordsOf(CODE_WORDS, row.code)} />,
      text: ({ code }) => code,
    },
    {
      title: "Field",
      fold: 4,
      cell: (row) => (
        <Show when={row.field} fallback="–">
          {(field) => <code>{field()}</code>}
        </Show>
      ),
      text: ({ field }) => field,
    },
    {
      title: "Model",
      fold: 3,
      cell: (row) => (
        <Show when={row.model} fallback="–">
          {(id) => <ModelId id={id()} />}
        </Show>
      ),
      text: ({ model }) => model,
    },
    {
      title: "Key",
      fold: 2,
      cell: (row) => (
        <Show when={row.key_id} fallback="–">
          {(id) => <OwnerName id={id()} name={nameOf(id())} />}
        </Show>
      ),
      text: ({ key_id }) => key_id,
    },
    {
      title: "Path",
      fold: 1,
      cell: (row) => <code class={ui.line}>{row.path}</code>,
      text: ({ path }) => path,
    },
  ];
}
