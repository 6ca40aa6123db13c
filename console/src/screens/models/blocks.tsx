import { For, Match, Switch } from "solid-js";
import { DataTable } from "../../design/table.tsx";
import { Code } from "../welcome/code.tsx";
import styles from "./models.module.css";
import type { Block } from "./page-text.ts";

/** Pieces of a model's page, as the gateway writes them. */
export function Blocks(props: { readonly blocks: readonly Block[]; readonly label: string }) {
  return (
    <For each={props.blocks}>
      {(block) => (
        <Switch>
          <Match when={block.kind === "text" && block}>
            {(text) => (
              <p class={styles.prose}>
                <Inline text={text().text} />
              </p>
            )}
          </Match>
          <Match when={block.kind === "list" && block}>
            {(list) => (
              <ul class={`${styles.list} ${styles.prose}`}>
                <For each={list().items}>
                  {(item) => (
                    <li>
                      <Inline text={item} />
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
                rows={table().rows}
                columns={table().head.map((title, at) => ({
                  title: title.replaceAll("`", ""),
                  isNumber: at > 0 && table().rows.every((row) => /^[\d.,]+$/.test(row[at] ?? "")),
                  cell: (row: readonly string[]) => (
                    <span class={styles.cell}>
                      <Inline text={row[at] ?? ""} />
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

/** A line of text in which backticks mark code. */
function Inline(props: { readonly text: string }) {
  return (
    <For each={props.text.split("`")}>
      {(part, at) => (at() % 2 === 1 ? <code>{part}</code> : <>{part}</>)}
    </For>
  );
}
