import { createSignal, For, type JSX, Show } from "solid-js";
import { Badge } from "../design/badge.tsx";
import { Button } from "../design/button.tsx";
import { CopyButton } from "../design/copy.tsx";
import { SelectField, TextField } from "../design/field.tsx";
import { Empty } from "../design/states.tsx";
import ui from "../design/ui.module.css";
import { counted } from "../format/numbers.ts";
import type { Words } from "../words/words.ts";
import { shortId } from "./ids.ts";
import styles from "./lists.module.css";
import { useNames } from "./names.ts";
import { RowLink } from "./row-link.tsx";

/** The filters of a list. On a phone they are folded, and the button says how many are set. */
export function Filters(props: {
  readonly set: number;
  readonly onClear: () => void;
  readonly children: JSX.Element;
}) {
  const [isClosed, setClosed] = createSignal(true);
  return (
    <>
      <div class={styles.toggle}>
        <Button aria-expanded={!isClosed()} onClick={() => setClosed(!isClosed())}>
          Filters{props.set > 0 ? ` (${props.set})` : ""}
        </Button>
      </div>
      <div class={styles.filters} data-closed={isClosed()} role="search" aria-label="Filters">
        {props.children}
        <Show when={props.set > 0}>
          <Button kind="quiet" onClick={() => props.onClear()}>
            Clear filters
          </Button>
        </Show>
      </div>
    </>
  );
}

interface FilterProps {
  readonly label: string;
  readonly value: string | undefined;
  readonly onChange: (value: string) => void;
}

/** A filter that takes a text; `among` are proposals. */
export function TextFilter(
  props: FilterProps & { readonly among?: readonly string[]; readonly placeholder?: string },
) {
  const listId = `among-${props.label.replace(/\W/g, "-").toLowerCase()}`;
  return (
    <>
      <TextField
        label={props.label}
        value={props.value ?? ""}
        placeholder={props.placeholder ?? "All"}
        list={props.among === undefined ? undefined : listId}
        autocomplete="off"
        spellcheck={false}
        onChange={(event) => props.onChange(event.currentTarget.value.trim())}
      />
      <Show when={props.among}>
        {(among) => (
          <datalist id={listId}>
            <For each={among()}>{(value) => <option value={value} />}</For>
          </datalist>
        )}
      </Show>
    </>
  );
}

/** A filter that takes one of a few values, or none. */
export function ChoiceFilter(
  props: FilterProps & { readonly among: readonly (readonly [value: string, name: string])[] },
) {
  return (
    <SelectField label={props.label} onChange={(event) => props.onChange(event.currentTarget.value)}>
      <option value="" selected={props.value === undefined}>
        All
      </option>
      <For each={props.among}>
        {([value, name]) => (
          <option value={value} selected={value === props.value}>
            {name}
          </option>
        )}
      </For>
      <Show when={props.value !== undefined && !props.among.some(([value]) => value === props.value)}>
        <option value={props.value} selected>
          {props.value}
        </option>
      </Show>
    </SelectField>
  );
}

/** Accounts to choose one from. An option says that it is chosen: options that are read anew keep the choice. */
export function AccountOptions(props: {
  readonly among: readonly { readonly id: string; readonly name: string }[];
  readonly chosen: string;
}) {
  return (
    <For each={props.among}>
      {({ id, name }) => (
        <option value={id} selected={id === props.chosen}>
          {name}
        </option>
      )}
    </For>
  );
}

/** Filters by account and key, by their names; a key's account decides which keys can be chosen. */
export function OwnerFilters(props: {
  readonly account: string | undefined;
  readonly accountKey: string | undefined;
  readonly onChange: (next: { account_id?: string; key_id?: string }) => void;
}) {
  const { accounts, keys } = useNames();
  const keysOfAccount = () =>
    keys().filter(({ account_id }) => props.account === undefined || account_id === props.account);
  return (
    <>
      <ChoiceFilter
        label="Account"
        value={props.account}
        among={accounts().map(({ id, name }) => [id, name])}
        onChange={(account_id) => props.onChange({ account_id, key_id: "" })}
      />
      <ChoiceFilter
        label="Key"
        value={props.accountKey}
        among={keysOfAccount().map(({ id, name, hint }) => [id, `${name} (${hint})`])}
        onChange={(key_id) => props.onChange({ key_id })}
      />
    </>
  );
}

/** The name of a key, cut where it is long, or the end of its id; its tooltip has all of both. */
export function OwnerName(props: { readonly id: string; readonly name: string | undefined }) {
  return (
    <span class={ui.name} title={props.name === undefined ? props.id : `${props.name} · ${props.id}`}>
      {props.name ?? shortId(props.id)}
    </span>
  );
}

/** The id of a model, in one line; cut where a table has no room for it, with all of it as its tooltip. */
export function ModelId(props: { readonly id: string }) {
  return (
    <span class={ui.modelId} title={props.id}>
      {props.id}
    </span>
  );
}

/** A value in a word; its sentence is the tooltip. */
export function WordBadge(props: { readonly words: Words }) {
  return (
    <span title={props.words.says}>
      <Badge tone={props.words.tone}>{props.words.name}</Badge>
    </span>
  );
}

/** The end of an id, with a button that copies all of it. */
export function ShortId(props: { readonly id: string; readonly what: string }) {
  return (
    <span class={ui.copyable}>
      <code title={props.id}>{shortId(props.id)}</code>
      <CopyButton text={props.id} what={props.what} />
    </span>
  );
}

/** An id that leads to its page, shortened, with a button that copies all of it. */
export function IdLink(props: {
  readonly id: string;
  readonly to: "/requests/$id" | "/tasks/$id";
  readonly what: string;
}) {
  return (
    <span class={ui.copyable}>
      <RowLink to={props.to} id={props.id} class={styles.id} title={props.id}>
        {shortId(props.id)}
      </RowLink>
      <CopyButton text={props.id} what={props.what} />
    </span>
  );
}

/** An account or a key: its name, which leads to its page where the reader may see it. */
export function OwnerLink(props: { readonly id: string; readonly to: "/accounts/$id" | "/keys/$id" }) {
  const { nameOf } = useNames();
  return <NamedLink id={props.id} to={props.to} name={nameOf(props.id)} />;
}

/** The same where the name is known: a table reads the names once, not in each of its rows. */
export function NamedLink(props: {
  readonly id: string;
  readonly to: "/accounts/$id" | "/keys/$id";
  readonly name: string | undefined;
}) {
  return (
    <Show
      when={props.name}
      fallback={
        <span class={styles.id} title={props.id}>
          {shortId(props.id)}
        </span>
      }
    >
      {(name) => (
        <RowLink to={props.to} id={props.id} class={ui.name} title={`${name()} · ${props.id}`}>
          {name()}
        </RowLink>
      )}
    </Show>
  );
}

/** The rows of a list; dimmed while they are still those of other filters. */
export function Rows(props: {
  readonly of: { readonly isPlaceholderData: boolean };
  readonly children: JSX.Element;
}) {
  return (
    <div
      classList={{ [styles.busy ?? ""]: props.of.isPlaceholderData }}
      aria-busy={props.of.isPlaceholderData}
    >
      {props.children}
    </div>
  );
}

/** Says that what is shown could not be read again. */
export function NotCurrent(props: { readonly of: { readonly isRefetchError: boolean } }) {
  return (
    <Show when={props.of.isRefetchError}>
      <Badge tone="warn">Not current: the last read failed</Badge>
    </Show>
  );
}

/** What a list says whose filters find nothing. Until all pages are read, one that is left may have what they look for. */
export function NoneLikeThat(props: {
  readonly noun: string;
  readonly of: { readonly hasNextPage: boolean; readonly isRefetchError: boolean; fetchNextPage(): unknown };
}) {
  return (
    <Show
      when={props.of.hasNextPage}
      fallback={
        <Empty title={`No ${props.noun} is like that`}>
          <p>Other filters may find it.</p>
        </Empty>
      }
    >
      <Empty title={`No ${props.noun} of those read so far is like that`}>
        <Button onClick={() => void props.of.fetchNextPage()}>Look on</Button>
      </Empty>
    </Show>
  );
}

/** What ends a list: how many rows are shown, in which order, and the way to more. */
export function ListEnd(props: {
  readonly shown: number;
  readonly of: {
    readonly hasNextPage: boolean;
    readonly isFetchingNextPage: boolean;
    readonly isRefetchError: boolean;
    fetchNextPage(): unknown;
  };
  readonly isOrdered: boolean;
  /** The order in which the gateway gives them. */
  readonly given?: string;
  /** What is listed: one, and many where that is not the same with an s. */
  readonly noun: readonly [one: string, many?: string];
}) {
  return (
    <div class={styles.note} role="status">
      <span>
        {counted(props.shown, ...props.noun)} shown
        {props.isOrdered ? ", in order among these" : `, ${props.given ?? "newest first"}`}
        {props.of.hasNextPage ? "; there are more" : ""}
      </span>
      <NotCurrent of={props.of} />
      <Show when={props.of.hasNextPage}>
        <Button disabled={props.of.isFetchingNextPage} onClick={() => void props.of.fetchNextPage()}>
          {props.of.isFetchingNextPage ? "Loading…" : "Load more"}
        </Button>
      </Show>
    </div>
  );
}
