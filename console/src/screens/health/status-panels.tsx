import type { UseQueryResult } from "@tanstack/solid-query";
import { createSignal, Show } from "solid-js";
import { Badge } from "../../design/badge.tsx";
import { ExportButton } from "../../design/export-button.tsx";
import { TextField } from "../../design/field.tsx";
import { Fact, Facts, Panel } from "../../design/layout.tsx";
import { Empty, Loaded } from "../../design/states.tsx";
import { type Column, DataTable } from "../../design/table.tsx";
import ui from "../../design/ui.module.css";
import { Time } from "../../design/values.tsx";
import { count } from "../../format/numbers.ts";
import styles from "./health.module.css";
import type { Status } from "./types.ts";
import { ShowAll, useFold } from "./fold.tsx";
import { flatten, type Setting } from "./settings.ts";

interface StatusProps {
  readonly status: UseQueryResult<Status>;
}

/** The version, the store, and what waits. */
export function GatewayPanel(props: StatusProps) {
  return (
    <Panel title="Gateway">
      <Loaded of={props.status}>
        {(read) => (
          <Facts>
            <Fact name="Version">{read().version}</Fact>
            <Fact name="Started">
              <Time at={read().started_at} />
            </Fact>
            <Fact name="Processes">{count(read().processes)}</Fact>
            <Fact name="Tasks waiting">{count(read().queue.pending)}</Fact>
            <Fact name="Tasks running">{count(read().queue.running)}</Fact>
            <Fact name="Open holds">{count(read().open_holds)}</Fact>
            <Fact name="Store">{read().store.engine}</Fact>
            <Fact name="Books are in">{read().store.place}</Fact>
            <Fact name="Result files are in">{read().store.files}</Fact>
          </Facts>
        )}
      </Loaded>
    </Panel>
  );
}

type Provider = Status["providers"][number];

const PROVIDER_COLUMNS: readonly Column<Provider>[] = [
  { title: "Provider", cell: ({ id }) => id, text: ({ id }) => id },
  {
    title: "State",
    cell: (provider) => (
      <span>
        <Badge tone={provider.live ? "ok" : "none"}>{provider.live ? "Live" : "No credential"}</Badge>{" "}
        {provider.sandbox && <Badge tone="warn">Sandbox</Badge>}
      </span>
    ),
    text: ({ live }) => (live ? "live" : "no credential"),
  },
  {
    title: "Credentials",
    isNumber: true,
    cell: ({ credentials }) => count(credentials),
    text: ({ credentials }) => credentials,
  },
];

/** Which providers can be called. */
export function ProvidersPanel(props: StatusProps) {
  const { isFolded, unfold } = useFold("providers");
  return (
    <Panel flush title="Providers">
      <div class={styles.tall}>
        <Loaded of={props.status}>
          {(read) => {
            const shown = (): readonly Provider[] =>
              read()
                .providers.filter(({ live }) => !isFolded() || live)
                .toSorted((a, b) => Number(b.live) - Number(a.live));
            return (
              <>
                <DataTable
                  label="Providers"
                  columns={PROVIDER_COLUMNS}
                  rows={shown()}
                  empty={
                    <Show when={read().providers.length === 0}>
                      <Empty title="No provider is known" />
                    </Show>
                  }
                />
                <ShowAll
                  shown={shown().length}
                  all={read().providers.length}
                  noun="provider"
                  says={shown().length === 0 ? "None has a credential." : "The others have no credential."}
                  onShow={unfold}
                />
              </>
            );
          }}
        </Loaded>
      </div>
    </Panel>
  );
}

const SETTING_COLUMNS: readonly Column<Setting>[] = [
  { title: "Setting", cell: ({ path }) => <code>{path}</code>, text: ({ path }) => path },
  {
    title: "Value",
    cell: ({ value }) => <code class={styles.detail}>{value}</code>,
    text: ({ value }) => value,
  },
];

/** The configuration in force, without secrets. */
export function SettingsPanel(props: StatusProps) {
  const [text, setText] = createSignal("");
  const rows = (): readonly Setting[] =>
    flatten(props.status.data?.settings ?? {}).filter(({ path }) => path.includes(text().toLowerCase()));
  const { isFolded, unfold } = useFold("settings");
  /** On a phone none, until the reader looks for some. */
  const shown = (): readonly Setting[] => (isFolded() && text() === "" ? [] : rows());
  return (
    <Panel
      flush
      title="Configuration in force"
      actions={
        <div class={ui.actions}>
          <span class={ui.hint}>without secrets</span>
          <ExportButton name="configuration" columns={SETTING_COLUMNS} rows={rows()} />
        </div>
      }
    >
      <div class={styles.filters}>
        <TextField
          label="Setting"
          type="search"
          placeholder="any"
          value={text()}
          onInput={(event) => setText(event.currentTarget.value)}
        />
      </div>
      <Loaded of={props.status}>
        {() => (
          <DataTable
            label="Configuration in force"
            columns={SETTING_COLUMNS}
            rows={shown()}
            empty={
              <Show when={rows().length === 0}>
                <Empty title="No setting has that in its name" />
              </Show>
            }
          />
        )}
      </Loaded>
      <ShowAll shown={shown().length} all={rows().length} noun="setting" onShow={unfold} />
    </Panel>
  );
}
