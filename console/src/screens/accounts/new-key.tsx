import { useMutation } from "@tanstack/solid-query";
import { Link } from "@tanstack/solid-router";
import { createSignal, Show } from "solid-js";
import { ApiError, change, type Entry } from "../../api/client.ts";
import { useQuery } from "../../api/query.ts";
import { sessionQuery } from "../../api/session.ts";
import { Button } from "../../design/button.tsx";
import { SelectField } from "../../design/field.tsx";
import { Page, Panel } from "../../design/layout.tsx";
import { Empty, Loaded } from "../../design/states.tsx";
import ui from "../../design/ui.module.css";
import { chosenOf, openAccountsQuery } from "../../lists/open-accounts.ts";
import { AccountOptions } from "../../lists/parts.tsx";
import { useListSearch } from "../../lists/use-search.ts";
import { FirstCall } from "../welcome/first-call.tsx";
import { MadeKey } from "../welcome/new-key.tsx";
import styles from "./accounts.module.css";
import { useReadAnew } from "./dialogs.tsx";
import { KeyFields } from "./key-fields.tsx";
import { bodyOf, controlOf, faultsOf, type KeyValues, NEW_KEY } from "./key-form.ts";
import type { NEW_KEY_SEARCH } from "./search.ts";

interface Made {
  readonly id: string;
  readonly name: string;
  readonly key: string;
  readonly models: readonly string[] | null;
}

/** Makes a key. Its text is shown once, beside a call that uses it. */
export function NewKeyPage() {
  const [made, setMade] = createSignal<Made>();
  let page: HTMLDivElement | undefined;
  const again = (): void => {
    setMade();
    page?.querySelector<HTMLElement>("form select")?.focus();
  };
  const session = useQuery(() => sessionQuery);
  const accounts = useQuery(() => openAccountsQuery);
  return (
    <Page title={made() === undefined ? "Create a key" : `The key ${made()?.name ?? ""}`}>
      <Show
        when={made()}
        fallback={
          <div class={styles.narrow} ref={(made) => (page = made)}>
            <Panel title="What it may do">
              <Loaded of={accounts}>
                {(open) => (
                  <Show
                    when={open().length > 0}
                    fallback={
                      <Empty title="There is no open account">
                        <p>A key belongs to an account that has credit.</p>
                        <Link to="/accounts">Create an account</Link>
                      </Empty>
                    }
                  >
                    <NewKeyForm accounts={open()} onMade={setMade} />
                  </Show>
                )}
              </Loaded>
            </Panel>
          </div>
        }
      >
        {(key) => (
          <>
            <Panel title="Its text">
              <MadeKey text={key().key} />
            </Panel>
            <Show when={session.data}>
              {(present) => (
                <Panel title="A call with it">
                  <FirstCall
                    url={present().public_url}
                    example={present().example_model}
                    allowed={key().models}
                  />
                </Panel>
              )}
            </Show>
            <div class={ui.actions}>
              <Link to="/keys/$id" params={{ id: key().id }}>
                To the page of the key
              </Link>
              <Button onClick={again}>Create another</Button>
            </div>
          </>
        )}
      </Show>
    </Page>
  );
}

function NewKeyForm(props: {
  readonly accounts: readonly Entry<"/admin/v1/accounts">[];
  readonly onMade: (made: Made) => void;
}) {
  const { search, change: choose } = useListSearch<(typeof NEW_KEY_SEARCH)[number]>();
  const readAnew = useReadAnew();
  const [values, setValues] = createSignal<KeyValues>(NEW_KEY);
  const account = (): string => chosenOf(props.accounts, search().account_id) ?? "";
  const [isChecked, setChecked] = createSignal(false);
  const faults = () => (isChecked() ? faultsOf(values(), Date.now() / 1_000) : {});
  const making = useMutation(() => ({
    mutationFn() {
      const { models, ...rest } = bodyOf(values());
      const body = { account_id: account(), ...rest, models: models === null ? null : [...models] };
      return change("post", "/admin/v1/keys", { body });
    },
    onSuccess(made: Made) {
      props.onMade(made);
      void readAnew();
    },
  }));
  return (
    <form
      class={styles.form}
      onSubmit={(event) => {
        event.preventDefault();
        setChecked(true);
        if (!focusFault(event.currentTarget, faults())) making.mutate();
      }}
    >
      <SelectField
        label="Account"
        hint="What the key spends is charged to it."
        onChange={(event) => choose({ account_id: event.currentTarget.value })}
        fault={faultAt(making.error, "account_id")}
      >
        <AccountOptions among={props.accounts} chosen={account()} />
      </SelectField>
      <KeyFields
        values={values()}
        change={(part) => setValues({ ...values(), ...part })}
        faultOf={(control) => faults()[control] ?? faultAt(making.error, control)}
      />
      <div class={ui.actions}>
        <Button kind="primary" type="submit" disabled={making.isPending}>
          Create the key
        </Button>
        <FaultElsewhere of={making.error} />
      </div>
    </form>
  );
}

/** Leads to the first control that has a fault; whether there is one. */
export function focusFault(form: HTMLElement, faults: ReturnType<typeof faultsOf>): boolean {
  if (Object.keys(faults).length === 0) return false;
  form.querySelector<HTMLElement>("[aria-invalid]")?.focus();
  return true;
}

/** What an error says of a control. */
export function faultAt(error: Error | null, control: string): string | undefined {
  return error instanceof ApiError && controlOf(error.field) === control ? error.message : undefined;
}

/** What an error says that no control of the form shows. */
export function FaultElsewhere(props: { readonly of: Error | null }) {
  const isElsewhere = (): boolean => {
    const control = props.of instanceof ApiError ? controlOf(props.of.field) : undefined;
    return props.of !== null && !(control !== undefined && (control === "account_id" || control in NEW_KEY));
  };
  return (
    <Show when={isElsewhere()}>
      <span class={ui.fault} role="alert">
        {props.of?.message}
      </span>
    </Show>
  );
}
