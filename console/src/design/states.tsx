import { createMemo, For, type JSX, Match, Switch } from "solid-js";
import { ApiError, Offline } from "../api/client.ts";
import { Button } from "./button.tsx";
import { CopyableId } from "./copy.tsx";
import styles from "./ui.module.css";

/** What will be here, and the one action that fills it. */
export function Empty(props: { readonly title: string; readonly children?: JSX.Element }) {
  return (
    <div class={styles.state}>
      <strong>{props.title}</strong>
      {props.children}
    </div>
  );
}

/** What happened, by which id the operator finds it, and a way to try again. */
export function Failure(props: { readonly error: Error; readonly retry?: () => void }) {
  const title = (): string =>
    props.error instanceof Offline ? "The gateway cannot be reached" : "This could not be read";
  /** What the title does not say already. */
  const more = (): string =>
    props.error.message === `${title()}.`
      ? "It may have stopped, or this device is offline."
      : props.error.message;
  return (
    <div class={styles.state} role="alert">
      <strong>{title()}</strong>
      <p>{more()}</p>
      {props.error instanceof ApiError && props.error.requestId !== undefined && (
        <CopyableId id={props.error.requestId} what="request id" />
      )}
      {props.retry !== undefined && <Button onClick={props.retry}>Try again</Button>}
    </div>
  );
}

/** Lines in the place of text that is still read. */
export function Skeleton(props: { readonly lines?: number }) {
  return (
    <div class={styles.page} aria-hidden="true">
      <For each={Array.from({ length: props.lines ?? 3 })}>{() => <span class={styles.skeleton} />}</For>
    </div>
  );
}

/** What is read of the gateway, as a query of the cache has it. */
interface Read<Data> {
  readonly data: Data | undefined;
  readonly error: Error | null;
  refetch(): Promise<unknown>;
}

/**
 * Why there is nothing to show of a query. It stays while the query is read again: a live page would else change between
 * it and a skeleton.
 */
export function createFailure(query: () => Read<unknown>): () => Error | undefined {
  return createMemo<Error | undefined>((before) =>
    query().data === undefined ? (query().error ?? before) : undefined,
  );
}

/** Draws what a query has read; until then its shape, and what went wrong where there is nothing to show. */
export function Loaded<Data>(props: {
  readonly of: Read<Data>;
  readonly skeleton?: JSX.Element;
  readonly children: (data: () => Data) => JSX.Element;
}) {
  const read = createMemo(() => {
    const data = props.of.data;
    return data === undefined ? undefined : { data };
  });
  const failure = createFailure(() => props.of);
  return (
    <Switch fallback={props.skeleton ?? <Skeleton />}>
      <Match when={read()}>{(present) => props.children(() => present().data)}</Match>
      <Match when={failure()}>
        {(error) => <Failure error={error()} retry={() => void props.of.refetch()} />}
      </Match>
    </Switch>
  );
}
