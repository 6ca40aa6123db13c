import type { JSX } from "solid-js";
import styles from "./ui.module.css";

/** What a badge's colour says. */
export type Tone = "ok" | "warn" | "bad" | "run" | "accent" | "none";

/** A word of state. */
export function Badge(props: { readonly tone?: Tone; readonly children: JSX.Element }) {
  return (
    <span class={styles.badge} data-tone={props.tone ?? "none"}>
      {props.children}
    </span>
  );
}
