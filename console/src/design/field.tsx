import { createUniqueId, type JSX, Show, splitProps, type ComponentProps } from "solid-js";
import styles from "./ui.module.css";
import { WithCode } from "./with-code.tsx";

interface FieldProps {
  readonly label: string;
  readonly hint?: string | undefined;
  readonly fault?: string | undefined;
}

/** A labelled control with its hint and what is wrong with its value. `children` makes the control from its attributes. */
export function Field(
  props: FieldProps & { readonly children: (attributes: ControlAttributes) => JSX.Element },
) {
  const id = createUniqueId();
  const noteId = `${id}-note`;
  return (
    <div class={styles.field}>
      <label class={styles.label} for={id}>
        {props.label}
      </label>
      {props.children({
        id,
        class: styles.input,
        get "aria-invalid"() {
          return props.fault === undefined ? undefined : true;
        },
        get "aria-describedby"() {
          return (props.fault ?? props.hint) ? noteId : undefined;
        },
      })}
      <Show when={props.fault ?? props.hint}>
        {(note) => (
          <span id={noteId} class={props.fault === undefined ? styles.hint : styles.fault}>
            <WithCode text={note()} />
          </span>
        )}
      </Show>
    </div>
  );
}

/** What a control of a field has to carry. */
export interface ControlAttributes {
  readonly id: string;
  readonly class: string | undefined;
  readonly "aria-invalid": true | undefined;
  readonly "aria-describedby": string | undefined;
}

/** A field of one line. */
export function TextField(props: FieldProps & ComponentProps<"input">) {
  const [own, rest] = splitProps(props, ["label", "hint", "fault"]);
  return <Field {...own}>{(attributes) => <input {...rest} {...attributes} />}</Field>;
}

/** A field of several lines. */
export function TextArea(props: FieldProps & ComponentProps<"textarea">) {
  const [own, rest] = splitProps(props, ["label", "hint", "fault"]);
  return <Field {...own}>{(attributes) => <textarea {...rest} {...attributes} />}</Field>;
}

/** A choice among a few. */
export function SelectField(props: FieldProps & ComponentProps<"select">) {
  const [own, rest] = splitProps(props, ["label", "hint", "fault"]);
  return <Field {...own}>{(attributes) => <select {...rest} {...attributes} />}</Field>;
}
