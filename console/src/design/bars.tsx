import { For, type JSX } from "solid-js";
import styles from "./ui.module.css";

/** A ranked thing. */
export interface Ranked {
  readonly name: string;
  readonly value: number;
  readonly shown: JSX.Element;
  readonly link?: JSX.Element;
}

/** A ranking, the largest first, as horizontal bars. */
export function Bars(props: { readonly rows: readonly Ranked[] }) {
  const most = (): number => Math.max(...props.rows.map(({ value }) => value), 1e-9);
  return (
    <ul class={styles.bars}>
      <For each={props.rows}>
        {(row) => (
          <li class={styles.bar}>
            <span class={styles.barName}>{row.link ?? row.name}</span>
            <span class={styles.number}>{row.shown}</span>
            <progress value={row.value} max={most()} aria-label={row.name} />
          </li>
        )}
      </For>
    </ul>
  );
}
