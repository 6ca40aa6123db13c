import { useQueryClient } from "@tanstack/solid-query";
import { Link } from "@tanstack/solid-router";
import { createSignal, For, onMount, Show } from "solid-js";
import { ApiError, change, type Entry, read } from "../../api/client.ts";
import { useQuery } from "../../api/query.ts";
import { Button } from "../../design/button.tsx";
import { CopyButton } from "../../design/copy.tsx";
import { SelectField, TextField } from "../../design/field.tsx";
import { readFrom } from "../../design/focus.ts";
import { Empty, Loaded } from "../../design/states.tsx";
import ui from "../../design/ui.module.css";
import { Code } from "./code.tsx";
import { chosenOf, openAccountsQuery } from "../../lists/open-accounts.ts";
import { AccountOptions } from "../../lists/parts.tsx";
import { exportLine } from "./snippets.ts";
import styles from "./welcome.module.css";

/** The most keys that are named. */
const MOST_NAMED = 3;

/** The keys that there are, and a form that makes one. Its text is shown this once. */
export function NewKey() {
  const queries = useQueryClient();
  const [made, setMade] = createSignal<string>();
  const accounts = useQuery(() => openAccountsQuery);
  const keys = useQuery(() => ({
    queryKey: ["welcome", "keys"],
    async queryFn({ signal }: { signal: AbortSignal }) {
      const { data } = await read("/admin/v1/keys", { signal });
      return data.filter(({ revoked_at }) => revoked_at === null);
    },
  }));
  const keep = (key: string): void => {
    setMade(key);
    void queries.invalidateQueries({ queryKey: ["keys"] });
  };
  return (
    <Show
      when={made()}
      fallback={
        <Loaded of={accounts}>
          {(open) => (
            <Loaded of={keys}>{(live) => <KeyForm accounts={open()} keys={live()} onMade={keep} />}</Loaded>
          )}
        </Loaded>
      }
    >
      {(key) => <MadeKey text={key()} />}
    </Show>
  );
}

/** A key that was just made: the only time that its text can be copied. */
export function MadeKey(props: { readonly text: string }) {
  let box: HTMLDivElement | undefined;
  // The form that had the focus is gone.
  onMount(() => readFrom(box));
  return (
    <div ref={(made) => (box = made)} class={styles.part} role="status" tabindex="-1">
      <div class={styles.key}>
        <code>{props.text}</code>
        <CopyButton text={props.text} what="key" />
      </div>
      <p>This is the only time that its text is shown. The calls below read it from the environment:</p>
      <Code text={exportLine(props.text)} what="line for a shell" />
    </div>
  );
}

function KeyForm(props: {
  readonly accounts: readonly Entry<"/admin/v1/accounts">[];
  readonly keys: readonly Entry<"/admin/v1/keys">[];
  readonly onMade: (key: string) => void;
}) {
  const [name, setName] = createSignal("first call");
  const [picked, setPicked] = createSignal<string>();
  const account = (): string => chosenOf(props.accounts, picked()) ?? "";
  const [budget, setBudget] = createSignal("");
  const [fault, setFault] = createSignal<{ readonly field: string | undefined; readonly text: string }>();
  const [isBusy, setBusy] = createSignal(false);
  const faultOf = (field: string): string | undefined =>
    fault()?.field === field ? fault()?.text : undefined;
  const submit = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    setBusy(true);
    setFault(undefined);
    try {
      const bound = budget().trim() === "" ? null : Number(budget());
      const body = { account_id: account(), name: name().trim(), budget: bound };
      props.onMade((await change("post", "/admin/v1/keys", { body })).key);
    } catch (error) {
      const field = error instanceof ApiError ? error.field : undefined;
      setFault({
        field: field === "budget" || field === "name" ? field : undefined,
        text: error instanceof Error ? error.message : String(error),
      });
    } finally {
      setBusy(false);
    }
  };
  return (
    <Show
      when={props.accounts.length > 0}
      fallback={
        <Empty title="There is no open account">
          <p>A key belongs to an account that has credit.</p>
          <Link to="/accounts">Create an account</Link>
        </Empty>
      }
    >
      <div class={styles.part}>
        <Show when={props.keys.length > 0}>
          <p class={styles.known}>
            <span>There are keys already. The text of each was shown once, when it was made:</span>
            <For each={props.keys.slice(0, MOST_NAMED)}>
              {({ id, name, hint }) => (
                <span>
                  <Link to="/keys/$id" params={{ id }}>
                    {name}
                  </Link>{" "}
                  <code>{hint}</code>
                </span>
              )}
            </For>
            <Show when={props.keys.length > MOST_NAMED}>
              <Link to="/accounts" search={{ tab: "keys" }}>
                and more
              </Link>
            </Show>
          </p>
        </Show>
        <form class={styles.part} onSubmit={(event) => void submit(event)}>
          <div class={styles.row}>
            <TextField
              label="Name of the key"
              required
              maxlength={200}
              value={name()}
              onInput={(event) => setName(event.currentTarget.value)}
              fault={faultOf("name")}
            />
            <Show when={props.accounts.length > 1}>
              <SelectField label="Account" onChange={(event) => setPicked(event.currentTarget.value)}>
                <AccountOptions among={props.accounts} chosen={account()} />
              </SelectField>
            </Show>
            <TextField
              label="Budget in credits, if it is to have one"
              type="number"
              min="0"
              step="any"
              placeholder="none"
              value={budget()}
              onInput={(event) => setBudget(event.currentTarget.value)}
              fault={faultOf("budget")}
            />
          </div>
          <div class={ui.actions}>
            <Button
              {...(props.keys.length === 0 ? { kind: "primary" as const } : {})}
              type="submit"
              disabled={isBusy()}
            >
              Create a key
            </Button>
            <Show when={fault()?.field === undefined && fault()}>
              {(shown) => (
                <span class={ui.fault} role="alert">
                  {shown().text}
                </span>
              )}
            </Show>
          </div>
        </form>
      </div>
    </Show>
  );
}
