import { useLocation } from "@tanstack/solid-router";
import { For, Show } from "solid-js";
import styles from "../design/ui.module.css";
import { axisTime } from "../format/times.ts";
import { RANGES, type RangeName } from "./range.ts";
import shell from "./shell.module.css";
import { useRange } from "./use-range.ts";
import { classes } from "../design/classes.ts";

/** Pages that show a time; on others there is nothing to choose. */
const TIMED = /\/(?:overview|requests|tasks)$|\/accounts(?:$|\/)|\/keys\/(?!new)/;

/** Chooses the page's range of time, where it has one. */
export function RangePicker() {
  const location = useLocation();
  return (
    <Show when={TIMED.test(location().pathname)}>
      <Picker />
    </Show>
  );
}

function Picker() {
  const { range, named, choose } = useRange();
  const value = (): string => (named().from === undefined ? (named().range ?? "24h") : "own");
  return (
    <select
      class={classes(styles.input, shell.range)}
      aria-label="Range of time"
      value={value()}
      onChange={(event) => choose(event.currentTarget.value as RangeName)}
    >
      <Show when={value() === "own"}>
        <option value="own">
          {axisTime(range().from, range().to - range().from)} –{" "}
          {axisTime(range().to, range().to - range().from)}
        </option>
      </Show>
      <For each={Object.entries(RANGES)}>{([name, { label }]) => <option value={name}>{label}</option>}</For>
    </select>
  );
}
