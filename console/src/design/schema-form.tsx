import { createSignal, For, type JSX, Match, Show, Switch } from "solid-js";
import { Field, SelectField, TextArea, TextField } from "./field.tsx";
import { type FieldKind, inputOf, readField, type SchemaField, shown, withBounds } from "./schema-fields.ts";
import styles from "./schema-form.module.css";
import { WithCode } from "./with-code.tsx";

/** Values of a form, by the names of their fields. What is not set is absent. */
export type FormValues = Readonly<Record<string, unknown>>;

/** A form for the members of an object, made from its schema. A value that does not fit is shown as wrong, and not set. */
export function SchemaForm(props: {
  readonly fields: readonly SchemaField[];
  readonly values: FormValues;
  readonly onChange: (values: FormValues) => void;
}) {
  const set = (name: string, value: unknown): void => {
    const { [name]: _, ...others } = props.values;
    props.onChange(value === undefined ? others : { ...others, [name]: value });
  };
  return (
    <div class={styles.form}>
      <For each={props.fields}>
        {(field) => (
          <Show
            when={groupOf(field)}
            fallback={
              <Control
                field={field}
                value={props.values[field.name]}
                onChange={(value) => set(field.name, value)}
              />
            }
          >
            {(fields) => (
              <fieldset class={styles.group}>
                <legend>{field.name}</legend>
                <Show when={field.hint}>
                  {(hint) => (
                    <p class={styles.hint}>
                      <WithCode text={hint()} />
                    </p>
                  )}
                </Show>
                <SchemaForm
                  fields={fields()}
                  values={(props.values[field.name] ?? {}) as FormValues}
                  onChange={(values) =>
                    set(field.name, Object.keys(values).length === 0 ? undefined : values)
                  }
                />
              </fieldset>
            )}
          </Show>
        )}
      </For>
    </div>
  );
}

function groupOf({ control }: SchemaField): readonly SchemaField[] | undefined {
  return control.kind === "group" ? control.fields : undefined;
}

/** The control of a field. It keeps what was typed while that does not fit. */
function Control(props: {
  readonly field: SchemaField;
  readonly value: unknown;
  readonly onChange: (value: unknown) => void;
}) {
  const [draft, setDraft] = createSignal<string>();
  const input = (): string => draft() ?? inputOf(props.field, props.value);
  const fault = (): string | undefined => {
    const read = readField(props.field, input());
    return read !== undefined && "fault" in read ? `${read.fault} It is not set.` : undefined;
  };
  const type = (next: string): void => {
    setDraft(next);
    const read = readField(props.field, next);
    props.onChange(read !== undefined && "value" in read ? read.value : undefined);
  };
  // What was set elsewhere is shown; what is typed stays as it is typed.
  const leave = (): void => void (fault() === undefined && setDraft());
  const shared = {
    get label() {
      return props.field.isRequired ? `${props.field.name} (required)` : props.field.name;
    },
    get hint() {
      return props.field.hint;
    },
    get fault() {
      return fault();
    },
    get value() {
      return input();
    },
    get placeholder() {
      return props.field.placeholder;
    },
    onInput: (event: { currentTarget: { value: string } }) => type(event.currentTarget.value),
    onBlur: leave,
  };
  return (
    <Switch fallback={<TextField {...shared} />}>
      <Match when={choicesOf(props.field.control)}>
        {(choices) => (
          <SelectField {...shared}>
            <option value="">{unsetName(props.field)}</option>
            <For each={choices()}>{(choice) => <option value={shown(choice)}>{shown(choice)}</option>}</For>
          </SelectField>
        )}
      </Match>
      <Match when={numberOf(props.field.control)}>
        {(bounds) => (
          <Field label={shared.label} hint={withBounds(props.field.hint, bounds())} fault={fault()}>
            {(attributes): JSX.Element => (
              <input
                {...attributes}
                inputmode="decimal"
                autocomplete="off"
                placeholder={props.field.placeholder ?? "not set"}
                value={input()}
                onInput={shared.onInput}
                onBlur={leave}
              />
            )}
          </Field>
        )}
      </Match>
      <Match when={isLong(props.field.control)}>
        <TextArea {...shared} rows={props.field.control.kind === "texts" ? 2 : 4} spellcheck={false} />
      </Match>
    </Switch>
  );
}

function choicesOf(control: FieldKind): readonly unknown[] | undefined {
  if (control.kind === "boolean") return [true, false];
  return control.kind === "choice" ? control.among : undefined;
}

function unsetName({ placeholder }: SchemaField): string {
  return placeholder === undefined ? "not set" : `not set (${placeholder})`;
}

function numberOf(control: FieldKind): Extract<FieldKind, { kind: "number" }> | undefined {
  return control.kind === "number" ? control : undefined;
}

function isLong(control: FieldKind): boolean {
  return control.kind === "json" || control.kind === "texts" || (control.kind === "text" && control.isLong);
}
