import { useMutation } from "@tanstack/solid-query";
import { Link, useParams } from "@tanstack/solid-router";
import { createSignal, For, Show } from "solid-js";
import { change, read } from "../../api/client.ts";
import { useQuery } from "../../api/query.ts";
import { Button } from "../../design/button.tsx";
import { CopyableId } from "../../design/copy.tsx";
import { Dialog, DialogActions } from "../../design/dialog.tsx";
import { Columns, Fact, Facts, Figures, Page, Panel } from "../../design/layout.tsx";
import { Empty, Loaded, Skeleton } from "../../design/states.tsx";
import { type Column, DataTable } from "../../design/table.tsx";
import ui from "../../design/ui.module.css";
import { Money, Time } from "../../design/values.tsx";
import { count, counted, seconds, share } from "../../format/numbers.ts";
import { IdLink, ModelId, NotCurrent, OwnerLink, WordBadge } from "../../lists/parts.tsx";
import { intervalOf } from "../../shell/range.ts";
import { useRange } from "../../shell/use-range.ts";
import { OUTCOME_WORDS, wordsOf } from "../../words/words.ts";
import { RequestsChart, SpendChart } from "../overview/chart-panels.tsx";
import { AmountFigure } from "./account.tsx";
import styles from "./accounts.module.css";
import { RevokeDialog, useReadAnew } from "./dialogs.tsx";
import { KeyFields } from "./key-fields.tsx";
import { changesOf, faultsOf, type KeyValues, valuesOf } from "./key-form.ts";
import { KeyBadge, TableSkeleton } from "./keys-table.tsx";
import { faultAt, FaultElsewhere, focusFault } from "./new-key.tsx";
import type { Key, KeyDetail } from "./types.ts";
import { keyQuery, useSpent } from "./reads.ts";

/** One key: what it may do, what it has spent, and its last requests. */
export function KeyPage() {
  const params = useParams({ from: "/keys/$id" });
  const key = useQuery(() => keyQuery(params().id));
  return (
    <Show when={params().id} keyed>
      {(id) => (
        <Show
          when={key.data}
          fallback={
            <Page
              title="Key"
              aside={<CopyableId id={id} what="key id" />}
              actions={
                <Link to="/accounts" search={{ tab: "keys" }} class={ui.soft}>
                  All keys
                </Link>
              }
            >
              <Loaded of={key} skeleton={<Skeleton lines={8} />}>
                {() => null}
              </Loaded>
            </Page>
          }
        >
          {(present) => <Present of={present()} read={key} />}
        </Show>
      )}
    </Show>
  );
}

function Present(props: { readonly of: KeyDetail; readonly read: { readonly isRefetchError: boolean } }) {
  const { range, zoom } = useRange();
  const [open, setOpen] = createSignal<"edit" | "revoke">();
  const step = () => intervalOf(range());
  const whose = () => ({ key_id: props.of.id });
  const spent = useSpent(range, "key", whose);
  return (
    <Page
      title={props.of.name}
      aside={
        <>
          <KeyBadge of={props.of} />
          <code>{props.of.hint}</code>
          <CopyableId id={props.of.id} what="key id" />
          <NotCurrent of={props.read} />
        </>
      }
      actions={
        <Show when={props.of.revoked_at === null}>
          <Button kind="danger" onClick={() => setOpen("revoke")}>
            Revoke…
          </Button>
          <Button kind="primary" onClick={() => setOpen("edit")}>
            Change…
          </Button>
        </Show>
      }
    >
      <Figures>
        <AmountFigure name="Spent in all" amount={props.of.spent} note="since it was made" />
        <AmountFigure name="Held" amount={props.of.held} note="for requests under way" />
        <Show when={props.of.budget !== null}>
          <AmountFigure
            name="Left of the budget"
            amount={(props.of.budget ?? 0) - props.of.spent - props.of.held}
            note={`of ${counted(props.of.budget ?? 0, "credit")}`}
          />
        </Show>
        <AmountFigure name="Spent in this range" amount={spent(props.of.id)} note="as it was charged" />
      </Figures>
      <Panel title="What it may do">
        <div class={styles.form}>
          <BudgetMeter of={props.of} />
          <Rights of={props.of} />
        </div>
      </Panel>
      <Columns>
        <SpendChart range={range()} step={step()} zoom={zoom} whose={whose()} />
        <RequestsChart range={range()} step={step()} zoom={zoom} whose={whose()} />
      </Columns>
      <LastRequests of={props.of.id} />
      <EditDialog of={props.of} open={open() === "edit"} onClose={() => setOpen(undefined)} />
      <RevokeDialog present={props.of} open={open() === "revoke"} onClose={() => setOpen(undefined)} />
    </Page>
  );
}

function BudgetMeter(props: { readonly of: Key }) {
  return (
    <Show when={props.of.budget !== null && props.of.budget > 0}>
      <div class={styles.meter}>
        <span>
          <Money credits={props.of.spent} /> spent and <Money credits={props.of.held} /> held of a budget of{" "}
          <Money credits={props.of.budget ?? 0} />:{" "}
          {share(props.of.spent + props.of.held, props.of.budget ?? 1)}
        </span>
        <progress
          value={props.of.spent + props.of.held}
          max={props.of.budget ?? 1}
          aria-label="Used of the budget"
        />
      </div>
    </Show>
  );
}

function Rights(props: { readonly of: KeyDetail }) {
  return (
    <Facts>
      <Fact name="Account">
        <OwnerLink to="/accounts/$id" id={props.of.account_id} />
      </Fact>
      <Fact name="Budget">
        <Show when={props.of.budget !== null} fallback="none of its own">
          <Money credits={props.of.budget ?? 0} />
        </Show>
      </Fact>
      <Fact name="Requests a minute">{used(props.of, "requests_per_minute")}</Fact>
      <Fact name="Tokens a minute">{used(props.of, "tokens_per_minute")}</Fact>
      <Fact name="Requests at once">{used(props.of, "concurrency")}</Fact>
      <Fact name="May ask for a route">{props.of.routes ? "yes" : "no"}</Fact>
      <Fact name="Expires">
        <Show when={props.of.expires_at} fallback="never">
          {(at) => <Time at={at()} />}
        </Show>
      </Fact>
      <Fact name="Made">
        <Time at={props.of.created_at} />
      </Fact>
      <Show when={props.of.revoked_at}>
        {(at) => (
          <Fact name="Revoked">
            <Time at={at()} />
          </Fact>
        )}
      </Show>
      <Fact name="Models">
        <Show when={props.of.models} fallback="all">
          {(models) => (
            <span class={styles.chips}>
              <For each={models()} fallback="none">
                {(id) => (
                  <Link to="/models/$id" params={{ id }}>
                    {id}
                  </Link>
                )}
              </For>
            </span>
          )}
        </Show>
      </Fact>
    </Facts>
  );
}

/** What is used of a limit, as far as the process that answered knows. */
function used({ limits, limits_used: now }: KeyDetail, name: keyof KeyDetail["limits"]) {
  const limit = limits[name];
  if (limit === null) return "no limit";
  return (
    <span title="Counted by the process that answered; others count for themselves">
      {count(now[name] ?? 0)} of {count(limit)} used
    </span>
  );
}

function EditDialog(props: { readonly of: Key; readonly open: boolean; readonly onClose: () => void }) {
  return (
    <Dialog title={`Change ${props.of.name}`} open={props.open} onClose={() => props.onClose()}>
      <EditForm of={props.of} onClose={() => props.onClose()} />
    </Dialog>
  );
}

function EditForm(props: { readonly of: Key; readonly onClose: () => void }) {
  const readAnew = useReadAnew();
  // What the reader began with: the key may be read anew while the form is open.
  const before = props.of;
  const [values, setValues] = createSignal<KeyValues>(valuesOf(before));
  const changes = () => changesOf(before, values());
  const [isChecked, setChecked] = createSignal(false);
  const faults = () => (isChecked() ? faultsOf(values(), Date.now() / 1_000, valuesOf(before)) : {});
  const saving = useMutation(() => ({
    mutationFn: () => change("patch", "/admin/v1/keys/{id}", { path: { id: before.id }, body: changes() }),
    onSuccess() {
      void readAnew();
      props.onClose();
    },
  }));
  return (
    <form
      class={styles.form}
      onSubmit={(event) => {
        event.preventDefault();
        setChecked(true);
        if (!focusFault(event.currentTarget, faults())) saving.mutate();
      }}
    >
      <KeyFields
        values={values()}
        change={(part) => setValues({ ...values(), ...part })}
        faultOf={(control) => faults()[control] ?? faultAt(saving.error, control)}
      />
      <FaultElsewhere of={saving.error} />
      <DialogActions>
        <Button onClick={() => props.onClose()}>Cancel</Button>
        <Button
          kind="primary"
          type="submit"
          disabled={saving.isPending || Object.keys(changes()).length === 0}
        >
          Save
        </Button>
      </DialogActions>
    </form>
  );
}

type Row = Awaited<ReturnType<typeof lastRequests>>["data"][number];

function lastRequests(key_id: string, signal: AbortSignal) {
  return read("/admin/v1/requests", { query: { key_id, limit: 10 }, signal });
}

const COLUMNS: readonly Column<Row>[] = [
  { title: "Ended", cell: (row) => <Time at={row.ended_at} /> },
  { title: "Request", cell: (row) => <IdLink to="/requests/$id" id={row.id} what="request id" /> },
  { title: "Model", cell: (row) => <ModelId id={row.model} /> },
  { title: "Outcome", cell: (row) => <WordBadge words={wordsOf(OUTCOME_WORDS, row.outcome)} /> },
  {
    title: "Took, s",
    fold: 1,
    isNumber: true,
    cell: (row) => seconds((row.ended_at - row.admitted_at) * 1_000),
  },
  {
    title: "Charged, cr · USD",
    isNumber: true,
    isMoney: true,
    cell: (row) => <Money credits={row.credit} bare />,
    text: ({ credit }) => credit,
  },
];

function LastRequests(props: { readonly of: string }) {
  const last = useQuery(() => ({
    queryKey: ["requests", "last", props.of],
    queryFn: ({ signal }: { signal: AbortSignal }) => lastRequests(props.of, signal),
    refetchInterval: 10_000,
    reconcile: "id",
  }));
  return (
    <Panel
      flush
      title="Last requests"
      actions={
        <Link to="/requests" search={{ key_id: props.of } as object}>
          All of them
        </Link>
      }
    >
      <Loaded of={last} skeleton={<TableSkeleton />}>
        {(page) => (
          <DataTable
            label="Table of the last requests"
            columns={COLUMNS}
            rows={page().data}
            empty={
              <Empty title="The key has not been used yet">
                <p>Its requests stand here once they have ended.</p>
              </Empty>
            }
          />
        )}
      </Loaded>
    </Panel>
  );
}
