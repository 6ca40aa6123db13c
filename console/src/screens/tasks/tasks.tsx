import { Link } from "@tanstack/solid-router";
import { createMemo, Show } from "solid-js";
import { Badge } from "../../design/badge.tsx";
import { buttonClass } from "../../design/button.tsx";
import { ExportButton } from "../../design/export-button.tsx";
import { Page, Panel } from "../../design/layout.tsx";
import { Empty, Loaded } from "../../design/states.tsx";
import { type Column, DataTable } from "../../design/table.tsx";
import { Tabs } from "../../design/tabs.tsx";
import { Money, Time } from "../../design/values.tsx";
import { nowSec } from "../../design/now.ts";
import { seconds } from "../../format/numbers.ts";
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
import type { TASKS_SEARCH } from "../../lists/search.ts";
import { usePages } from "../../lists/use-pages.ts";
import { useListSearch } from "../../lists/use-search.ts";
import { useRange } from "../../shell/use-range.ts";
import { OUTCOME_WORDS, STATE_WORDS, wordsOf } from "../../words/words.ts";
import { TableSkeleton } from "../requests/paid.tsx";
import { TASK_FILTERS, taskPages } from "./reads.ts";
import type { TaskRow } from "./types.ts";

const CLEARED = Object.fromEntries(TASK_FILTERS.map((name) => [name, ""]));

const STATES = [
  { value: "all", name: "All" },
  ...Object.entries(STATE_WORDS).map(([value, { name }]) => ({ value, name })),
];

/** What is running, stuck, refunded? */
export function Tasks() {
  const { search, change } = useListSearch<(typeof TASKS_SEARCH)[number]>();
  const { named } = useRange();
  const isOperator = useIsOperator();
  const { query, rows, rest, state } = usePages(() => taskPages(search(), named()));
  // The gateway answers one read after another: names wait for the rows.
  const { models, providers } = useChoices();
  const { nameOf } = useNames();
  const columns = columnsOf(nameOf);
  const arranged = (all: readonly TaskRow[]): readonly TaskRow[] => inOrder(all, columns, search().sort);
  const shown = createMemo(() => arranged(rows()));
  const set = (): number => TASK_FILTERS.filter((name) => search()[name] !== undefined).length;
  return (
    <Page title="Tasks" aside={<Badge tone="run">Live</Badge>}>
      <Tabs
        label="States"
        tabs={STATES}
        value={search().status ?? "all"}
        onChange={(next) => change({ status: next === "all" ? "" : next })}
      >
        <Filters set={set()} onClear={() => change(CLEARED)}>
          <TextFilter
            label="Task id"
            placeholder="img_… or vid_…"
            value={search().id}
            onChange={(id) => change({ id })}
          />
          <ChoiceFilter
            label="Kind"
            among={[
              ["image", "Image"],
              ["video", "Video"],
            ]}
            value={search().kind}
            onChange={(kind) => change({ kind })}
          />
          <TextFilter
            label="Model"
            among={models()}
            value={search().model}
            onChange={(model) => change({ model })}
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
          title="Images and videos"
          flush
          actions={
            <ExportButton
              name="tasks"
              columns={columns}
              rows={shown()}
              isBusy={query.isPlaceholderData}
              rest={rest}
              arranged={arranged}
            />
          }
        >
          <Loaded of={state} skeleton={<TableSkeleton />}>
            {() => (
              <Rows of={query}>
                <DataTable
                  label="Tasks"
                  dense
                  columns={columns}
                  rows={shown()}
                  ordering={{ by: search().sort, change: (sort) => change({ sort }) }}
                  empty={<NoTasks isFiltered={set() > 0 || search().status !== undefined} />}
                />
                <Show when={rows().length > 0}>
                  <ListEnd
                    noun={["task"]}
                    shown={rows().length}
                    of={query}
                    isOrdered={search().sort !== undefined}
                  />
                </Show>
              </Rows>
            )}
          </Loaded>
        </Panel>
      </Tabs>
    </Page>
  );
}

function NoTasks(props: { readonly isFiltered: boolean }) {
  return (
    <Show
      when={props.isFiltered}
      fallback={
        <Empty title="No task began in this time">
          <p>Images and videos that are made stand here from their first moment.</p>
          <Link to="/playground/images" class={buttonClass()}>
            Make an image in the playground
          </Link>
        </Empty>
      }
    >
      <Empty title="No task fits this state and these filters">
        <p>The list stays live: a task that fits appears by itself.</p>
      </Empty>
    </Show>
  );
}

/** How long a task has run, or ran; `null` before it began. */
function ranMs(row: TaskRow): number | null {
  return row.started_at === null ? null : Math.max(0, ((row.ended_at ?? nowSec()) - row.started_at) * 1_000);
}

function columnsOf(nameOf: (id: string) => string | undefined): readonly Column<TaskRow>[] {
  return [
    {
      title: "Created",
      cell: (row) => <Time at={row.created_at} />,
      text: (row) => exactTime(row.created_at),
    },
    {
      title: "Task",
      cell: (row) => <IdLink to="/tasks/$id" id={row.id} what="task id" />,
      text: ({ id }) => id,
    },
    {
      title: "State",
      cell: (row) => (
        <span class={styles.words}>
          <WordBadge words={wordsOf(STATE_WORDS, row.status)} />
          <Show when={row.error}>
            {(error) => <span class={styles.small}>{wordsOf(OUTCOME_WORDS, error().type).name}</span>}
          </Show>
        </span>
      ),
      text: ({ status }) => status,
    },
    {
      title: "Kind",
      fold: 1,
      cell: (row) => (row.kind === "image" ? "Image" : "Video"),
      text: ({ kind }) => kind,
    },
    { title: "Model", cell: (row) => <ModelId id={row.model} />, text: ({ model }) => model },
    { title: "Provider", fold: 3, cell: (row) => row.provider ?? "–", text: ({ provider }) => provider },
    {
      title: "Key",
      fold: 4,
      cell: ({ key_id }) => <OwnerName id={key_id} name={nameOf(key_id)} />,
      text: ({ key_id }) => key_id,
    },
    {
      title: "Attempts",
      fold: 2,
      isNumber: true,
      order: "attempts",
      cell: (row) => row.attempts,
      text: ({ attempts }) => attempts,
    },
    {
      title: "Ran for, s",
      fold: 5,
      isNumber: true,
      order: "time",
      cell: (row) => {
        const ms = ranMs(row);
        return ms === null ? "–" : seconds(ms);
      },
      text: ranMs,
    },
    {
      title: "Charged, cr · USD",
      isNumber: true,
      isMoney: true,
      order: "credit",
      cell: (row) => (
        <Show when={row.credit} fallback="–">
          {(credit) => <Money credits={credit()} bare />}
        </Show>
      ),
      text: ({ credit }) => credit,
    },
  ];
}
