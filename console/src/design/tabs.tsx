import { Tabs as Primitive } from "@kobalte/core/tabs";
import { createUniqueId, For, type JSX } from "solid-js";
import styles from "./ui.module.css";

/** One of several views of a page. */
export interface Tab {
  readonly value: string;
  readonly name: JSX.Element;
}

/**
 * Views of a page of which one is shown: `children` is the content of the chosen one, and has something that takes the
 * focus. The library's own panel looks for that after each change of what is in it, and lays a whole table out for it.
 */
export function Tabs(props: {
  readonly label: string;
  readonly tabs: readonly Tab[];
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly children: JSX.Element;
}) {
  const id = createUniqueId();
  const idOf = (value: string): string => `${id}-${value}`;
  return (
    <Primitive value={props.value} onChange={props.onChange} activationMode="manual">
      <Primitive.List class={styles.tabList} aria-label={props.label}>
        <For each={props.tabs}>
          {({ value, name }) => (
            <Primitive.Trigger
              class={styles.tab}
              id={idOf(value)}
              aria-controls={value === props.value ? id : undefined}
              value={value}
            >
              {name}
            </Primitive.Trigger>
          )}
        </For>
      </Primitive.List>
      <div class={styles.tabContent} role="tabpanel" id={id} aria-labelledby={idOf(props.value)}>
        {props.children}
      </div>
    </Primitive>
  );
}
