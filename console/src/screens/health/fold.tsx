import { useNavigate, useSearch } from "@tanstack/solid-router";
import { type JSX, Show } from "solid-js";
import { Button } from "../../design/button.tsx";
import { useIsNarrow } from "../../design/narrow.ts";
import ui from "../../design/ui.module.css";
import { counted } from "../../format/numbers.ts";
import styles from "./health.module.css";
import type { Fold, HealthSearch } from "./search.ts";

/** Whether a list of the page is folded: on a phone, until the reader asks for all of it. The address keeps that. */
export function useFold(name: Fold) {
  const isNarrow = useIsNarrow();
  const search = useSearch({ from: "/health" });
  const navigate = useNavigate({ from: "/health" });
  return {
    isFolded: (): boolean => isNarrow() && search()[name] !== true,
    unfold: (): void =>
      void navigate({
        search: (before: HealthSearch) => ({ ...before, [name]: true }),
        replace: true,
        resetScroll: false,
      }),
  };
}

/** What a folded list leaves out, and the way to it. */
export function ShowAll(props: {
  readonly shown: number;
  readonly all: number;
  readonly noun: string;
  /** What is true of the rows that are left out. */
  readonly says?: JSX.Element;
  readonly onShow: () => void;
}) {
  return (
    <Show when={props.all > props.shown}>
      <div class={styles.more} data-alone={props.shown === 0 ? "" : undefined}>
        <span class={ui.hint}>{props.says}</span>
        <Button kind="quiet" onClick={() => props.onShow()}>
          Show all {counted(props.all, props.noun)}
        </Button>
      </div>
    </Show>
  );
}
