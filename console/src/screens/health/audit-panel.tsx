import { useQueryClient, type UseQueryResult } from "@tanstack/solid-query";
import { createSignal, Show } from "solid-js";
import { type Answer, read } from "../../api/client.ts";
import { useQuery } from "../../api/query.ts";
import { Badge } from "../../design/badge.tsx";
import { Button } from "../../design/button.tsx";
import { ExportButton } from "../../design/export-button.tsx";
import { Panel } from "../../design/layout.tsx";
import { nowSec } from "../../design/now.ts";
import { Loaded } from "../../design/states.tsx";
import { type Column, DataTable } from "../../design/table.tsx";
import ui from "../../design/ui.module.css";
import { Time } from "../../design/values.tsx";
import styles from "./health.module.css";
import type { Status } from "./types.ts";
import { ShowAll, useFold } from "./fold.tsx";
import { auditQuery } from "./reads.ts";

type Check = Answer<"/admin/v1/audit">["checks"][number];

const COLUMNS: readonly Column<Check>[] = [
  { title: "Invariant", cell: ({ id }) => <code>{id}</code>, text: ({ id }) => id },
  {
    title: "State",
    cell: ({ ok }) => <Badge tone={ok ? "ok" : "bad"}>{ok ? "Holds" : "Broken"}</Badge>,
    text: ({ ok }) => (ok ? "holds" : "broken"),
  },
  {
    title: "What was looked at, or what is wrong",
    cell: ({ detail }) => <span class={styles.detail}>{detail}</span>,
    text: ({ detail }) => detail,
  },
];

/** The invariants of the books, when they were checked, and a button that checks them now. */
export function AuditPanel(props: { readonly status: UseQueryResult<Status> }) {
  const queries = useQueryClient();
  const audit = useQuery(() => auditQuery);
  const { isFolded, unfold } = useFold("invariants");
  const [isFull, setFull] = createSignal(false);
  const lastRun = (): number =>
    Math.min(nowSec(), Math.max(props.status.data?.audit.last_run_at ?? 0, audit.dataUpdatedAt / 1_000));
  const runFull = async (): Promise<void> => {
    setFull(true);
    try {
      await queries.fetchQuery({
        ...auditQuery,
        staleTime: 0,
        queryFn: ({ signal }) => read("/admin/v1/audit", { query: { full: true }, signal }),
      });
    } catch {
      // The query has the error, and the panel shows it.
    } finally {
      setFull(false);
    }
  };
  return (
    <Panel
      flush
      title="Invariants"
      actions={
        <div class={ui.actions}>
          <span class={ui.hint} role="status">
            <Show when={!audit.isFetching} fallback="Checking…">
              Last run <Time at={lastRun()} />
            </Show>
          </span>
          <ExportButton name="invariants" columns={COLUMNS} rows={audit.data?.checks ?? []} />
          <Button
            kind="quiet"
            title="Every entry, and not only what is new since the last run"
            disabled={audit.isFetching}
            onClick={() => void runFull()}
          >
            {isFull() ? "Checking all…" : "Check everything"}
          </Button>
          <Button disabled={audit.isFetching} onClick={() => void audit.refetch()}>
            Run now
          </Button>
        </div>
      }
    >
      <Show when={audit.isRefetchError}>
        <p class={styles.pad} role="alert">
          The last try could not be read: {audit.error?.message}
        </p>
      </Show>
      <Loaded of={audit}>
        {(read) => {
          const shown = (): readonly Check[] =>
            read()
              .checks.filter(({ ok }) => !isFolded() || !ok)
              .toSorted((a, b) => Number(a.ok) - Number(b.ok));
          return (
            <>
              <DataTable label="Invariants" columns={COLUMNS} rows={shown()} />
              <ShowAll
                shown={shown().length}
                all={read().checks.length}
                noun="invariant"
                says={shown().length === 0 ? "All hold." : "The others hold."}
                onShow={unfold}
              />
            </>
          );
        }}
      </Loaded>
    </Panel>
  );
}
