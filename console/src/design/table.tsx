import { createWindowVirtualizer } from "@tanstack/solid-virtual";
import { createEffect, createMemo, createSignal, For, type JSX, on, onCleanup, Show } from "solid-js";
import { widestCents } from "../format/money.ts";
import { classes } from "./classes.ts";
import { useFolding } from "./folding.ts";
import { ROW_PX, useGradual } from "./gradual.ts";
import styles from "./ui.module.css";
import { WidestUsd } from "./values.tsx";

/** A column of a table. */
export interface Column<Row> {
  readonly title: string;
  readonly cell: (row: Row) => JSX.Element;
  /** Right-aligned, with figures of one width. */
  readonly isNumber?: boolean;
  /** Amounts of credits, which `text` gives, with their dollars. */
  readonly isMoney?: boolean;
  /** What an export has in this column; absent: the column is not exported. */
  readonly text?: (row: Row) => string | number | null;
  /** By what its rows are ordered, where a reader may order them. */
  readonly order?: string;
  /** What stands for `text` in an order: letters of a date have none. */
  readonly rank?: (row: Row) => number | null;
  /** The turn in which it leaves a table that is too wide, 1 first; see `useFolding`. */
  readonly fold?: number;
}

/** The order of a table, as it stands in the address: a column's `order`, with `-` before it for the largest first. */
export interface Ordering {
  readonly by: string | undefined;
  change(by: string): void;
}

/** Longer tables draw the rows that can be seen, and some around them. */
const WHOLE = 150;
const OVERSCAN = 10;

interface TableProps<Row> {
  readonly label: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly ordering?: Ordering;
  /** Many columns, closer together. */
  readonly dense?: boolean;
  readonly empty?: JSX.Element;
}

/** Rows in columns, of which the least important fold where they have no room; on a narrow screen each row is a card. */
export function DataTable<Row>(props: TableProps<Row>) {
  return (
    <Show when={props.rows.length > 0} fallback={props.empty}>
      <Show when={props.ordering}>
        {(ordering) => <CardOrder columns={props.columns} ordering={ordering()} />}
      </Show>
      <Grid {...props} />
    </Show>
  );
}

function Grid<Row>(props: TableProps<Row>) {
  // A list that a page derives has new rows at each call, and none of them would be drawn already.
  const rows = createMemo(() => props.rows);
  // A page may derive its columns anew at each call, too.
  const columns = createMemo(() => props.columns);
  const { shown, folded, isTight, hold } = useFolding(columns, rows, () => props.ordering?.by);
  const widest = createMemo(() => {
    const amounts = columns().filter(({ isMoney }) => isMoney === true);
    const of = ({ text }: Column<Row>): string =>
      widestCents(rows().flatMap((row) => (text?.(row) ?? []) as number | []));
    return new Map(amounts.map((column) => [column, of(column)]));
  });
  return (
    <div ref={hold} class={styles.scroll} tabindex="0" role="region" aria-label={props.label}>
      <table
        class={classes(
          styles.table,
          styles.cards,
          props.dense === true && styles.dense,
          isTight() && styles.tight,
        )}
        aria-rowcount={rows().length + 1}
      >
        <Show when={folded().length > 0}>
          <caption class={styles.folded}>
            Not shown for lack of room:{" "}
            {folded()
              .map(({ title }) => title)
              .join(" · ")}
          </caption>
        </Show>
        <thead>
          <tr>
            <For each={shown()}>{(column) => <HeadCell column={column} ordering={props.ordering} />}</For>
          </tr>
        </thead>
        <Body rows={rows()} columns={shown()} widest={widest()} />
      </table>
    </div>
  );
}

interface Drawn<Row> {
  readonly columns: readonly Column<Row>[];
  /** The widest dollars of each column of amounts. */
  readonly widest: ReadonlyMap<Column<Row>, string>;
}

function Cells<Row>(props: Drawn<Row> & { readonly row: Row }) {
  return (
    <For each={props.columns}>
      {(column) => (
        <td class={classes(column.isNumber === true && styles.number)} data-label={column.title}>
          <Show when={props.widest.get(column)} fallback={column.cell(props.row)}>
            {(widest) => <WidestUsd.Provider value={widest}>{column.cell(props.row)}</WidestUsd.Provider>}
          </Show>
        </td>
      )}
    </For>
  );
}

/**
 * The rows of a short table, and of a longer one those around what the window shows. The others are one empty row each,
 * as high as they would be. A row that is drawn stays the element that it is when the table grows.
 */
function Body<Row>(props: Drawn<Row> & { readonly rows: readonly Row[] }) {
  let body: HTMLElement | undefined;
  const count = (): number => props.rows.length;
  const isLong = createMemo(() => count() > WHOLE);
  const view = createMemo(() => (isLong() ? createView(count, () => body) : undefined));
  const gradual = useGradual(() => (isLong() ? [] : props.rows));
  const first = (): number => view()?.span().first ?? 0;
  const drawn = createMemo(() => {
    const span = view()?.span();
    return span === undefined ? gradual() : props.rows.slice(span.first, span.end);
  });
  const below = (): number => view()?.span().below ?? (count() - drawn().length) * ROW_PX;
  return (
    <tbody ref={(made) => (body = made)}>
      <Gap px={view()?.span().above ?? 0} columns={props.columns.length} />
      <For each={drawn()}>
        {(row, at) => {
          let element: HTMLTableRowElement | undefined;
          const index = (): number => first() + at();
          createEffect(on([view, index], ([present]) => present?.measure(element)));
          return (
            <tr ref={(made) => (element = made)} data-index={index()} aria-rowindex={index() + 2}>
              <Cells row={row} columns={props.columns} widest={props.widest} />
            </tr>
          );
        }}
      </For>
      <Gap px={below()} columns={props.columns.length} />
    </tbody>
  );
}

/** Which of a long table's rows are around what the window shows, and how high those above and below them are. */
function createView(count: () => number, body: () => HTMLElement | undefined) {
  const [margin, setMargin] = createSignal(0);
  const place = (): number => setMargin((body()?.getBoundingClientRect().top ?? 0) + scrollY);
  place();
  const virtual = createWindowVirtualizer<HTMLTableRowElement>({
    get count() {
      return count();
    },
    get scrollMargin() {
      return margin();
    },
    estimateSize: () => ROW_PX,
    overscan: OVERSCAN,
    initialRect: { width: innerWidth, height: innerHeight },
  });
  // What stands above the table may still grow, and then the page does.
  const observer = new ResizeObserver(place);
  observer.observe(document.body);
  onCleanup(() => observer.disconnect());
  const span = createMemo(() => {
    const [items, px] = [virtual.getVirtualItems(), virtual.getTotalSize()];
    const [first, last] = [items[0], items.at(-1)];
    return first === undefined || last === undefined
      ? { first: 0, end: 0, above: 0, below: px }
      : {
          first: first.index,
          end: last.index + 1,
          above: first.start - margin(),
          below: px - (last.end - margin()),
        };
  });
  return {
    span,
    measure(row: HTMLTableRowElement | undefined): void {
      if (row?.isConnected === true) virtual.measureElement(row);
    },
  };
}

/** As high as the rows that stand in its place. */
function Gap(props: { readonly px: number; readonly columns: number }) {
  return (
    <Show when={props.px > 0}>
      <tr class={styles.gap} aria-hidden="true">
        <td colSpan={props.columns} style={{ height: `${props.px}px` }} />
      </tr>
    </Show>
  );
}

function HeadCell<Row>(props: { readonly column: Column<Row>; readonly ordering: Ordering | undefined }) {
  const isNumber = (): string => classes(props.column.isNumber === true && styles.number);
  return (
    <Show
      when={props.column.order}
      fallback={
        <th scope="col" class={isNumber()}>
          {props.column.title}
        </th>
      }
    >
      {(by) => {
        const direction = (): "ascending" | "descending" | undefined => {
          if (props.ordering?.by === by()) return "ascending";
          return props.ordering?.by === `-${by()}` ? "descending" : undefined;
        };
        const next = (): string => (direction() === "descending" ? by() : `-${by()}`);
        return (
          <th scope="col" class={isNumber()} aria-sort={direction()}>
            <button type="button" class={styles.sort} onClick={() => props.ordering?.change(next())}>
              {props.column.title} {direction() === undefined ? "" : direction() === "ascending" ? "↑" : "↓"}
            </button>
          </th>
        );
      }}
    </Show>
  );
}

/** The order of rows that are cards: these have no head. */
function CardOrder<Row>(props: { readonly columns: readonly Column<Row>[]; readonly ordering: Ordering }) {
  const orders = (): readonly { readonly by: string; readonly name: string }[] =>
    props.columns.flatMap(({ title, order }) =>
      order === undefined
        ? []
        : [
            { by: `-${order}`, name: `${title} ↓` },
            { by: order, name: `${title} ↑` },
          ],
    );
  return (
    <Show when={orders().length > 0}>
      <select
        class={classes(styles.input, styles.cardOrder)}
        aria-label="Order"
        onChange={(event) => props.ordering.change(event.currentTarget.value)}
      >
        <option value="" selected={props.ordering.by === undefined}>
          In the order of the list
        </option>
        <For each={orders()}>
          {({ by, name }) => (
            <option value={by} selected={by === props.ordering.by}>
              {name}
            </option>
          )}
        </For>
      </select>
    </Show>
  );
}
