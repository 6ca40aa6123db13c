import { useMutation, useQueryClient } from "@tanstack/solid-query";
import { Link } from "@tanstack/solid-router";
import { createSignal, Show } from "solid-js";
import { ApiError, type Entry, read } from "../../api/client.ts";
import { useQuery } from "../../api/query.ts";
import { Button } from "../../design/button.tsx";
import { SelectField, TextField } from "../../design/field.tsx";
import { Panel } from "../../design/layout.tsx";
import { Empty, Loaded } from "../../design/states.tsx";
import ui from "../../design/ui.module.css";
import { dollars } from "../../format/money.ts";
import { chosenOf, openAccountsQuery } from "../../lists/open-accounts.ts";
import { AccountOptions } from "../../lists/parts.tsx";
import { Spent } from "./own-key.tsx";
import { type Playground, putPlayground } from "./types.ts";
import styles from "./settings.module.css";

const PLAYGROUND = ["playground"] as const;
const CHOSEN = ["settings", "playground"] as const;

/** The budget that is offered first, in credits: it covers a first video of any model in the sandbox. */
const FIRST_BUDGET = "10000";

/** The account that calls of the playground are charged to, and what they may spend in all. */
export function PlaygroundPanel(props: { readonly title?: string }) {
  const accounts = useQuery(() => openAccountsQuery);
  const chosen = useQuery(() => ({
    queryKey: CHOSEN,
    queryFn: ({ signal }: { signal: AbortSignal }) => read("/console/api/playground", { signal }),
  }));
  return (
    <Panel title={props.title ?? "Playground"}>
      <Loaded of={accounts}>
        {(open) => (
          <Show
            when={open().length > 0}
            fallback={
              <Empty title="There is no open account">
                <p>Calls of the playground are charged to an account.</p>
                <Link to="/accounts">Create an account</Link>
              </Empty>
            }
          >
            <Loaded of={chosen}>
              {(present) => <PlaygroundForm chosen={present()} accounts={open()} />}
            </Loaded>
          </Show>
        )}
      </Loaded>
    </Panel>
  );
}

function PlaygroundForm(props: {
  readonly chosen: Playground | null;
  readonly accounts: readonly Entry<"/admin/v1/accounts">[];
}) {
  const queries = useQueryClient();
  const [picked, setPicked] = createSignal<string>();
  const account = (): string => chosenOf(props.accounts, picked() ?? props.chosen?.account_id) ?? "";
  const [budget, setBudget] = createSignal(
    props.chosen === null ? FIRST_BUDGET : (props.chosen.budget?.toString() ?? ""),
  );
  const saving = useMutation(() => ({
    mutationFn: () =>
      putPlayground({ account_id: account(), budget: budget().trim() === "" ? null : Number(budget()) }),
    onSuccess(chosen: Playground) {
      queries.setQueryData(CHOSEN, chosen);
      void queries.invalidateQueries({ queryKey: PLAYGROUND });
    },
  }));
  const inDollars = (): string => (budget().trim() === "" ? "" : ` (${dollars(Number(budget()))})`);
  const faultOf = (field: string): string | undefined =>
    saving.error instanceof ApiError && saving.error.field === field ? saving.error.message : undefined;
  const isElsewhere = (): boolean =>
    saving.error !== null && faultOf("account_id") === undefined && faultOf("budget") === undefined;
  return (
    <form
      class={styles.part}
      onSubmit={(event) => {
        event.preventDefault();
        saving.mutate();
      }}
    >
      <p class={ui.soft}>
        Calls that an operator makes in the playground are real ones. They go through a key named{" "}
        <code>playground</code> of this account, which is made on the first use.
      </p>
      <div class={styles.row}>
        <SelectField
          label="Account"
          onChange={(event) => setPicked(event.currentTarget.value)}
          fault={faultOf("account_id")}
        >
          <AccountOptions among={props.accounts} chosen={account()} />
        </SelectField>
        <TextField
          label="Budget, credits"
          type="number"
          min="0"
          step="any"
          placeholder="none"
          hint={`What its calls may spend in all${inDollars()}; empty for no bound of its own.`}
          value={budget()}
          onInput={(event) => setBudget(event.currentTarget.value)}
          fault={faultOf("budget")}
        />
      </div>
      <Show when={props.chosen} fallback={<p class={ui.hint}>Nothing is chosen yet.</p>}>
        {(chosen) => <Spent spent={chosen().spent} budget={chosen().budget} />}
      </Show>
      <div class={ui.actions}>
        <Button kind="primary" type="submit" disabled={saving.isPending}>
          Save
        </Button>
        <Show when={props.chosen}>
          {(chosen) => (
            <Link to="/keys/$id" params={{ id: chosen().key_id }}>
              The key
            </Link>
          )}
        </Show>
        <span role="status" class={styles.said}>
          <Show when={saving.isSuccess}>Saved</Show>
        </span>
        <Show when={isElsewhere()}>
          <span role="alert" class={ui.fault}>
            {saving.error?.message}
          </span>
        </Show>
      </div>
    </form>
  );
}
