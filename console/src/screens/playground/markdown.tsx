import { createDeferred, createMemo, For, type JSX, Match, Show, Switch } from "solid-js";
import { Dynamic } from "solid-js/web";
import { CopyButton } from "../../design/copy.tsx";
import styles from "./markdown.module.css";
import { type Block, createMarkdownReader, type Inline, type ListItem } from "./markdown-tree.ts";

/** An answer that grows is read anew this often at least. */
const LAG_MS = 120;

/** A text of a model, drawn from its Markdown. It never becomes HTML, and loads nothing from elsewhere. */
export function Markdown(props: { readonly text: string }) {
  const read = createMarkdownReader();
  const text = createDeferred(() => props.text, { timeoutMs: LAG_MS });
  const blocks = createMemo(() => read(text()));
  return (
    <div class={styles.markdown}>
      <Blocks of={blocks()} />
    </div>
  );
}

function Blocks(props: { readonly of: readonly Block[] }) {
  return <For each={props.of}>{(block) => drawn(block)}</For>;
}

/** A block never changes: it is another object then. */
function drawn(block: Block): JSX.Element {
  switch (block.kind) {
    case "paragraph":
      return (
        <p>
          <Inlines of={block.of} />
        </p>
      );
    case "heading":
      // The page's own headings are the first two levels.
      return (
        <Dynamic
          component={`h${Math.min(6, block.level + 2)}`}
          class={styles.heading}
          data-level={block.level}
        >
          <Inlines of={block.of} />
        </Dynamic>
      );
    case "code":
      return <CodeBlock language={block.language} text={block.text} />;
    case "quote":
      return (
        <blockquote>
          <Blocks of={block.of} />
        </blockquote>
      );
    case "list":
      return (
        <Show
          when={block.start !== undefined}
          fallback={
            <ul>
              <Items of={block.items} />
            </ul>
          }
        >
          <ol start={block.start}>
            <Items of={block.items} />
          </ol>
        </Show>
      );
    case "table":
      return <Table of={block} />;
    case "rule":
      return <hr />;
  }
}

function Items(props: { readonly of: readonly ListItem[] }) {
  return (
    <For each={props.of}>
      {(item) => (
        <li data-task={item.isChecked === undefined ? undefined : ""}>
          <Show when={item.isChecked !== undefined}>
            <input type="checkbox" checked={item.isChecked === true} disabled aria-label="Done" />
          </Show>
          <div>
            <Blocks of={item.of} />
          </div>
        </li>
      )}
    </For>
  );
}

function CodeBlock(props: { readonly language: string; readonly text: string }) {
  return (
    <div class={styles.code}>
      <div class={styles.codeHead}>
        <span>{props.language}</span>
        <CopyButton text={props.text} what="code" />
      </div>
      <pre tabindex="0" role="region" aria-label={props.language === "" ? "Code" : `Code, ${props.language}`}>
        <code>{props.text}</code>
      </pre>
    </div>
  );
}

function Table(props: { readonly of: Extract<Block, { kind: "table" }> }) {
  const side = (at: number): string | undefined => (props.of.isRight[at] === true ? styles.right : undefined);
  return (
    <div class={styles.scroll} tabindex="0" role="region" aria-label="Table">
      <table>
        <thead>
          <tr>
            <For each={props.of.head}>
              {(cell, at) => (
                <th scope="col" class={side(at())}>
                  <Inlines of={cell} />
                </th>
              )}
            </For>
          </tr>
        </thead>
        <tbody>
          <For each={props.of.rows}>
            {(row) => (
              <tr>
                <For each={row}>
                  {(cell, at) => (
                    <td class={side(at())}>
                      <Inlines of={cell} />
                    </td>
                  )}
                </For>
              </tr>
            )}
          </For>
        </tbody>
      </table>
    </div>
  );
}

function Inlines(props: { readonly of: readonly Inline[] }) {
  return (
    <For each={props.of}>
      {(part) => (
        <Switch>
          <Match when={part.kind === "text" && part}>{(text) => <>{text().text}</>}</Match>
          <Match when={part.kind === "code" && part}>{(code) => <code>{code().text}</code>}</Match>
          <Match when={part.kind === "break"}>
            <br />
          </Match>
          <Match when={part.kind === "link" && part}>
            {(link) => (
              <a href={link().href} target="_blank" rel="noopener noreferrer">
                <Inlines of={link().of} />
              </a>
            )}
          </Match>
          <Match when={part.kind === "image" && part}>
            {(image) => <img src={image().src} alt={image().text} />}
          </Match>
          <Match when={(part.kind === "strong" || part.kind === "em" || part.kind === "del") && part}>
            {(marked) => (
              <Dynamic component={marked().kind}>
                <Inlines of={marked().of} />
              </Dynamic>
            )}
          </Match>
        </Switch>
      )}
    </For>
  );
}
