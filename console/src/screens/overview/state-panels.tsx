import { Link } from "@tanstack/solid-router";
import { For, Show } from "solid-js";
import type { Entry } from "../../api/client.ts";
import { useQuery } from "../../api/query.ts";
import { Panel } from "../../design/layout.tsx";
import { Loaded } from "../../design/states.tsx";
import { Time } from "../../design/values.tsx";
import ui from "../../design/ui.module.css";
import { count } from "../../format/numbers.ts";
import { WordBadge } from "../../lists/parts.tsx";
import { RowLink } from "../../lists/row-link.tsx";
import type { TimeRange } from "../../shell/range.ts";
import { ROUTE_WORDS, STATE_WORDS, type Words } from "../../words/words.ts";
import styles from "./overview.module.css";
import { routesQuery, tasksQuery } from "./reads.ts";

const TASK_STATES = Object.keys(STATE_WORDS) as (keyof typeof STATE_WORDS)[];

/** Tasks of a range by the state that they are in. */
export function TasksPanel(props: { readonly range: TimeRange }) {
  const tasks = useQuery(() => tasksQuery(props.range));
  return (
    <Panel title="Tasks by state" actions={<Link to="/tasks">All tasks</Link>}>
      <Loaded of={tasks}>
        {(read) => (
          <ul class={styles.states}>
            <For each={TASK_STATES}>
              {(state) => (
                <Counted
                  words={STATE_WORDS[state]}
                  count={read().data.find(({ status }) => status === state)?.count ?? 0}
                  search={{ status: state }}
                />
              )}
            </For>
          </ul>
        )}
      </Loaded>
    </Panel>
  );
}

type Search = Readonly<Record<string, string>>;

/** How many are in a state. A state that none is in has no colour. */
function Counted(props: { readonly words: Words; readonly count: number; readonly search?: Search }) {
  const words = (): Words => (props.count === 0 ? { ...props.words, tone: "none" } : props.words);
  return (
    <li>
      <span class={styles.stateCount} data-none={props.count === 0 ? "" : undefined}>
        <Show when={props.search} fallback={count(props.count)}>
          {(search) => (
            <RowLink to="/tasks" search={search()}>
              {count(props.count)}
            </RowLink>
          )}
        </Show>
      </span>
      <WordBadge words={words()} />
    </li>
  );
}

type Route = Entry<"/admin/v1/routes">;
const ROUTE_STATES = Object.keys(ROUTE_WORDS) as Route["state"][];
const MOST_TROUBLES = 5;

/** How many routes fare well, and those that do not. */
export function RoutesPanel() {
  const routes = useQuery(() => routesQuery);
  return (
    <Panel title="Routes" actions={<Link to="/health">Health</Link>}>
      <Loaded of={routes}>
        {(read) => {
          const troubles = () => read().data.filter(({ state }) => state !== "healthy");
          return (
            <>
              <ul class={styles.states}>
                <For each={ROUTE_STATES}>
                  {(state) => (
                    <Counted
                      words={ROUTE_WORDS[state]}
                      count={read().data.filter((route) => route.state === state).length}
                    />
                  )}
                </For>
              </ul>
              <Show when={troubles().length > 0}>
                <ul class={styles.troubles}>
                  <For each={troubles().slice(0, MOST_TROUBLES)}>{(route) => <Trouble route={route} />}</For>
                </ul>
              </Show>
            </>
          );
        }}
      </Loaded>
    </Panel>
  );
}

function Trouble(props: { readonly route: Route }) {
  return (
    <li>
      <WordBadge words={ROUTE_WORDS[props.route.state]} />
      <span class={styles.troubleName}>
        {props.route.model} <span class={ui.soft}>at {props.route.provider}</span>
      </span>
      <Show when={props.route.last_failure}>
        {(failure) => (
          <span class={styles.troubleNote}>
            {failure().reason} {failure().status ?? ""} <Time at={failure().at} />
          </span>
        )}
      </Show>
    </li>
  );
}
