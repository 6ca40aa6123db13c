import { Show } from "solid-js";
import { cents, credits, dollars, exactCredits } from "../format/money.ts";
import { exactTime, relativeTime } from "../format/times.ts";
import { nowSec } from "./now.ts";
import styles from "./ui.module.css";

/** A moment: how long ago, and exactly when as its tooltip. */
export function Time(props: { readonly at: number | null | undefined }) {
  return (
    <Show when={props.at} fallback={<span class={styles.soft}>–</span>}>
      {(at) => (
        <time datetime={new Date(at() * 1_000).toISOString()} title={exactTime(at())}>
          {relativeTime(at(), nowSec())}
        </time>
      )}
    </Show>
  );
}

/** An amount in credits and in dollars. */
export function Money(props: {
  readonly credits: number;
  /** In a column, whose heading names the units. */
  readonly bare?: boolean;
}) {
  return (
    <span class={styles.number} title={`${exactCredits(props.credits)} credits`}>
      {credits(props.credits)}
      {props.bare === true ? "" : " cr"} <span class={styles.soft}>·</span>{" "}
      <Show when={props.bare === true} fallback={<span class={styles.soft}>{dollars(props.credits)}</span>}>
        <span class={styles.usd}>{cents(props.credits)}</span>
      </Show>
    </span>
  );
}
