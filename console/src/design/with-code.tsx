import { For } from "solid-js";

/** A line of text in which backticks mark code. */
export function WithCode(props: { readonly text: string }) {
  return (
    <For each={props.text.split("`")}>
      {(part, at) => (at() % 2 === 1 ? <code>{part}</code> : <>{part}</>)}
    </For>
  );
}
