import { createMemo, createSignal, For, Show } from "solid-js";
import { modelsQuery } from "../../api/models.ts";
import { useQuery } from "../../api/query.ts";
import { SelectField, TextField } from "../../design/field.tsx";
import ui from "../../design/ui.module.css";
import { count } from "../../format/numbers.ts";
import styles from "./accounts.module.css";
import type { KeyValues } from "./key-form.ts";

/** The controls of a key: what it may use, spend and ask for. */
export function KeyFields(props: {
  readonly values: KeyValues;
  readonly change: (part: Partial<KeyValues>) => void;
  /** What is wrong with a control. */
  readonly faultOf: (control: keyof KeyValues) => string | undefined;
}) {
  const bound = (name: "budget" | "requests_per_minute" | "tokens_per_minute" | "concurrency") => ({
    type: "number",
    get value() {
      return props.values[name];
    },
    onInput: (event: InputEvent & { currentTarget: HTMLInputElement }) =>
      props.change({ [name]: event.currentTarget.value }),
    get fault() {
      return props.faultOf(name);
    },
  });
  return (
    <>
      <div class={styles.pair}>
        <TextField
          label="Name"
          required
          maxlength={200}
          hint="Where the key is used."
          value={props.values.name}
          onInput={(event) => props.change({ name: event.currentTarget.value })}
          fault={props.faultOf("name")}
        />
        <TextField
          {...bound("budget")}
          label="Budget, credits"
          min="0"
          step="any"
          placeholder="none of its own"
          hint="What it may spend in all. 10,000 credits are 1 USD."
        />
      </div>
      <div class={styles.pair}>
        <TextField
          {...bound("requests_per_minute")}
          label="Requests a minute"
          min="1"
          step="1"
          placeholder="no limit"
        />
        <TextField
          {...bound("tokens_per_minute")}
          label="Tokens a minute"
          min="1"
          step="1"
          placeholder="no limit"
        />
        <TextField
          {...bound("concurrency")}
          label="Requests at once"
          min="1"
          step="1"
          placeholder="no limit"
        />
      </div>
      <div class={styles.pair}>
        <TextField
          label="Expires"
          type="datetime-local"
          hint="In your time zone; empty for never."
          value={props.values.expires_at}
          onInput={(event) => props.change({ expires_at: event.currentTarget.value })}
          fault={props.faultOf("expires_at")}
        />
        <SelectField
          label="Models"
          onChange={(event) => props.change({ models: event.currentTarget.value === "all" ? null : [] })}
          fault={props.faultOf("models")}
        >
          <option value="all" selected={props.values.models === null}>
            All, those that are added later, too
          </option>
          <option value="some" selected={props.values.models !== null}>
            Only those chosen
          </option>
        </SelectField>
      </div>
      <Show when={props.values.models}>
        {(chosen) => <ModelChoice chosen={chosen()} onChange={(models) => props.change({ models })} />}
      </Show>
      <label class={styles.check}>
        <input
          type="checkbox"
          checked={props.values.routes}
          onChange={(event) => props.change({ routes: event.currentTarget.checked })}
        />
        Its requests may ask for a route (which provider serves them)
      </label>
    </>
  );
}

function ModelChoice(props: {
  readonly chosen: readonly string[];
  readonly onChange: (chosen: readonly string[]) => void;
}) {
  const [text, setText] = createSignal("");
  const models = useQuery(() => modelsQuery);
  // A chosen model that is no longer served can still be taken out.
  const all = createMemo(() =>
    [...new Set([...props.chosen, ...(models.data?.data ?? []).map(({ id }) => id)])].toSorted(),
  );
  const shown = createMemo(() => all().filter((id) => id.includes(text().toLowerCase())));
  const toggle = (id: string, isChosen: boolean): void =>
    props.onChange(isChosen ? [...props.chosen, id] : props.chosen.filter((other) => other !== id));
  return (
    <fieldset class={styles.set}>
      <legend class={ui.label}>Chosen models: {count(props.chosen.length)}</legend>
      <TextField
        label="Find a model"
        type="search"
        value={text()}
        onInput={(event) => setText(event.currentTarget.value.trim())}
      />
      <div class={styles.models}>
        <For each={shown()} fallback={<span class={ui.hint}>No model is named like that.</span>}>
          {(id) => (
            <label class={styles.check}>
              <input
                type="checkbox"
                checked={props.chosen.includes(id)}
                onChange={(event) => toggle(id, event.currentTarget.checked)}
              />
              {id}
            </label>
          )}
        </For>
      </div>
      <Show when={props.chosen.length === 0}>
        <span class={ui.fault}>With none chosen the key can call no model.</span>
      </Show>
    </fieldset>
  );
}
