import { createEffect, type JSX, onCleanup, onMount, Show } from "solid-js";
import { classes } from "./classes.ts";
import { isFocusLost, readFrom } from "./focus.ts";
import styles from "./ui.module.css";

let shownTitle = "";
let coverTitle: string | undefined;

/** Names the browser's tab, and the entry of its history. */
export function titleTab(title: string): void {
  shownTitle = title;
  document.title = `${coverTitle ?? title} · Switchyard`;
}

/** Names the tab so until the owner goes, whatever the page is called: its name may be an account's. */
export function coverTab(title: string): void {
  coverTitle = title;
  titleTab(shownTitle);
  onCleanup(() => {
    coverTitle = undefined;
    titleTab(shownTitle);
  });
}

/** Whether a page was shown before. */
let hasPage = false;

/** A page: its heading, its actions, and what it shows. */
export function Page(props: {
  readonly title: string;
  readonly aside?: JSX.Element;
  readonly actions?: JSX.Element;
  readonly children: JSX.Element;
}) {
  createEffect(() => titleTab(props.title));
  let heading: HTMLHeadingElement | undefined;
  onMount(() => {
    // The page before had the focus, and is gone. The first page of a visit leaves it to the link that skips the rail.
    if (hasPage && isFocusLost()) readFrom(heading);
    hasPage = true;
  });
  return (
    <div class={styles.page}>
      <header class={styles.pageHead}>
        <h1 ref={(made) => (heading = made)} tabindex="-1">
          {props.title}
        </h1>
        {props.aside}
        <Show when={props.actions}>
          <div class={styles.actions}>{props.actions}</div>
        </Show>
      </header>
      {props.children}
    </div>
  );
}

/** A part of a page, with a heading of its own. */
export function Panel(props: {
  readonly title: string;
  readonly actions?: JSX.Element;
  /** Without a distance to its border: tables. */
  readonly flush?: boolean;
  readonly children: JSX.Element;
}) {
  return (
    <section class={styles.panel} aria-label={props.title}>
      <header class={styles.panelHead}>
        <h2>{props.title}</h2>
        {props.actions}
      </header>
      <div class={classes(styles.panelBody, props.flush && styles.flush)}>{props.children}</div>
    </section>
  );
}

/** A figure with its name, and what it is compared with. */
export function Figure(props: {
  readonly name: string;
  readonly value: JSX.Element;
  readonly note?: JSX.Element;
}) {
  return (
    <div class={styles.figure} role="group" aria-label={props.name}>
      <span class={styles.label}>{props.name}</span>
      <span class={styles.figureValue}>{props.value}</span>
      <span class={styles.hint}>{props.note}</span>
    </div>
  );
}

/** Names with their values. */
export function Facts(props: { readonly children: JSX.Element }) {
  return <dl class={styles.facts}>{props.children}</dl>;
}

/** One name with its value. */
export function Fact(props: { readonly name: string; readonly children: JSX.Element }) {
  return (
    <div>
      <dt>{props.name}</dt>
      <dd>{props.children}</dd>
    </div>
  );
}

/** Figures side by side. */
export function Figures(props: { readonly children: JSX.Element }) {
  return <div class={styles.figures}>{props.children}</div>;
}

/** Panels side by side, as far as there is room. */
export function Columns(props: { readonly children: JSX.Element }) {
  return <div class={styles.columns}>{props.children}</div>;
}
