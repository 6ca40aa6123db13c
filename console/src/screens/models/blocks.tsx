import { For, Match, Switch } from "solid-js";
import { DataTable } from "../../design/table.tsx";
import { WithCode } from "../../design/with-code.tsx";
import { Code } from "../welcome/code.tsx";
import styles from "./models.module.css";
import { type Block, isOfNumbers, withAlignedNumbers } from "./page-text.ts";

/** Pieces of a model's page, as the gateway writes them. */
export function Blocks(props: { readonly blocks: readonly Block[]; readonly label: string }) {
  return (
    <For each={props.blocks}>
      {(block) => (
        <Switch>
          <Match when={block.kind === "text" && block}>
            {(text) => (
              <p class={styles.prose}>
                <WithCode text={text().text} />
              </p>
            )}
          </Match>
          <Match when={block.kind === "list" && block}>
            {(list) => (
              <ul class={`${styles.list} ${styles.prose}`}>
                <For each={list().items}>
                  {(item) => (
                    <li>
                      <WithCode text={item} />
                    </li>
                  )}
                </For>
              </ul>
            )}
          </Match>
          <Match when={block.kind === "table" && block}>
            {(table) => (
              <DataTable
                label={props.label}
                rows={withAlignedNumbers(table().rows)}
                columns={table().head.map((title, at) => ({
                  title: title.replaceAll("`", ""),
                  isNumber: at > 0 && isOfNumbers(table().rows, at),
                  cell: (row: readonly string[]) => (
                    <span class={styles.cell}>
                      <WithCode text={row[at] ?? ""} />
                    </span>
                  ),
                }))}
              />
            )}
          </Match>
          <Match when={block.kind === "code" && block}>
            {(code) => (
              <Code text={code().text} what={code().language === "text" ? "what it prints" : "the call"} />
            )}
          </Match>
        </Switch>
      )}
    </For>
  );
}
