import { createContext, Show, useContext } from "solid-js";
import { cents, credits, dollars, exactCredits } from "../format/money.ts";
import { exactTime, relativeTime } from "../format/times.ts";
import { classes } from "./classes.ts";
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

/** The widest dollars of a column, whose room all of them have: the credits beside them stand in one line. */
export const WidestUsd = createContext<() => string>(() => "");

/** An amount in credits and in dollars. */
export function Money(props: {
  readonly credits: number;
  /** In a column, whose heading names the units. */
  readonly bare?: boolean;
}) {
  const widest = useContext(WidestUsd);
  return (
    <span
      class={classes(styles.number, props.bare !== true && styles.amount)}
      title={`${exactCredits(props.credits)} credits`}
    >
      {credits(props.credits)}
      {props.bare === true ? "" : " cr"}{" "}
      <span class={styles.dollars}>
        ·{" "}
        <Show when={props.bare === true} fallback={dollars(props.credits)}>
          <span class={styles.usd} data-widest={widest()}>
            {cents(props.credits)}
          </span>
        </Show>
      </span>
    </span>
  );
}
