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
/** Also the settings where they chart the usage of the session's own key. */
const TIMED_WITH_KEY = /\/settings$/;

/** Chooses the page's range of time, where it has one. */
export function RangePicker(props: {
  /** Whether the session is that of an API key. */
  readonly hasKey: boolean;
}) {
  const location = useLocation();
  const isTimed = (path: string): boolean => TIMED.test(path) || (props.hasKey && TIMED_WITH_KEY.test(path));
  return (
    <Show when={isTimed(location().pathname)}>
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
