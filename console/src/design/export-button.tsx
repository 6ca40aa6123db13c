import { createSignal, onCleanup, Show } from "solid-js";
import { count } from "../format/numbers.ts";
import { Button } from "./button.tsx";
import { csvOf, saveFile } from "./export.ts";
import type { Column } from "./table.tsx";
import styles from "./ui.module.css";

/** Rows of a list beside those that a table shows. */
export interface RestOfList<Row> {
  /** The most rows that are read. */
  readonly most: number;
  /** Whether the gateway has rows that were not read yet. */
  isLeft(): boolean;
  /** Reads all rows, up to the bound; `told` hears how many there are so far. */
  readAll(
    told: (rows: number) => void,
    signal: AbortSignal,
  ): Promise<{ readonly rows: readonly Row[]; readonly isWhole: boolean }>;
}

/**
 * Saves a table as a CSV file. The file has the rows that the table shows. Of a list it also has the rows that fit its
 * filters and are not shown yet.
 */
export function ExportButton<Row>(props: {
  readonly name: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  /** Whether the rows are still those of other filters. */
  readonly isBusy?: boolean;
  readonly rest?: RestOfList<Row>;
  /** The filters and the order of the page, for rows that were read for the file. */
  readonly arranged?: (rows: readonly Row[]) => readonly Row[];
}) {
  const [read, setRead] = createSignal<number>();
  const [note, setNote] = createSignal<string>();
  let stop: AbortController | undefined;
  onCleanup(() => stop?.abort());
  const saveRows = (rows: readonly Row[]): void => {
    const columns = props.columns.filter(({ text }) => text !== undefined);
    const lines = rows.map((row) => columns.map(({ text }) => text?.(row) ?? ""));
    saveFile(`${props.name}.csv`, "text/csv", csvOf([columns.map(({ title }) => title), ...lines]));
  };
  const saveAll = async (rest: RestOfList<Row>): Promise<void> => {
    const { signal } = (stop = new AbortController());
    setRead(0);
    try {
      const { rows, isWhole } = await rest.readAll(setRead, signal);
      saveRows(props.arranged?.(rows) ?? rows);
      if (!isWhole)
        setNote(`The list is longer: the file has what fits among its first ${count(rows.length)} rows.`);
    } catch (error) {
      if (!signal.aborted) setNote(`Not exported. ${error instanceof Error ? error.message : String(error)}`);
    } finally {
      setRead();
    }
  };
  const save = (): void => {
    setNote();
    if (props.rest?.isLeft() === true) void saveAll(props.rest);
    else saveRows(props.rows);
  };
  const told = (): string | undefined => {
    const rows = read();
    return rows === undefined
      ? note()
      : `${count(rows)} of at most ${count(props.rest?.most ?? 0)} rows read`;
  };
  return (
    <>
      <Show when={told()}>
        {(words) => (
          <span role="status" class={styles.hint}>
            {words()}
          </span>
        )}
      </Show>
      <Show
        when={read() === undefined}
        fallback={
          <Button kind="quiet" onClick={() => stop?.abort()}>
            Stop
          </Button>
        }
      >
        <Button kind="quiet" disabled={props.isBusy === true || props.rows.length === 0} onClick={save}>
          Export
        </Button>
      </Show>
    </>
  );
}
