import { Tabs as Primitive } from "@kobalte/core/tabs";
import { For, type JSX } from "solid-js";
import styles from "./ui.module.css";

/** One of several views of a page. */
export interface Tab {
  readonly value: string;
  readonly name: JSX.Element;
}

/** Views of a page of which one is shown: `children` is the content of the chosen one. */
export function Tabs(props: {
  readonly label: string;
  readonly tabs: readonly Tab[];
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly children: JSX.Element;
}) {
  return (
    <Primitive value={props.value} onChange={props.onChange} activationMode="manual">
      <Primitive.List class={styles.tabList} aria-label={props.label}>
        <For each={props.tabs}>
          {({ value, name }) => (
            <Primitive.Trigger class={styles.tab} value={value}>
              {name}
            </Primitive.Trigger>
          )}
        </For>
      </Primitive.List>
      <Primitive.Content class={styles.tabContent} value={props.value}>
        {props.children}
      </Primitive.Content>
    </Primitive>
  );
}
