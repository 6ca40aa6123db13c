import { json } from "@codemirror/lang-json";
import { foldGutter, HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { EditorState } from "@codemirror/state";
import { EditorView, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { createEffect, onCleanup, onMount } from "solid-js";
import styles from "./ui.module.css";

const COLOURS = HighlightStyle.define([
  { tag: tags.propertyName, color: "var(--accent)" },
  { tag: tags.string, color: "var(--ok)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--run)" },
]);

const LOOK = EditorView.theme({
  "&": { color: "var(--ink)", backgroundColor: "var(--ground)", fontSize: "12px", maxHeight: "60vh" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "18px", overflow: "auto" },
  ".cm-gutters": { color: "var(--ink-soft)", backgroundColor: "var(--ground)", border: "0" },
  "&.cm-focused": { outline: "2px solid var(--accent)" },
  ".cm-foldPlaceholder": { color: "var(--ink-soft)", backgroundColor: "var(--hover)", border: "0" },
});

/**
 * A text to read, with line numbers; JSON in colours, with parts that fold. It is large: load it lazily. It stands in a
 * shadow root, where its styles are sheets that the policy of the pages allows.
 */
export function CodeView(props: {
  readonly text: string;
  readonly label: string;
  readonly isJson?: boolean;
}) {
  let place = document.createElement("div");
  onMount(() => {
    const root = place.attachShadow({ mode: "open" });
    const view = new EditorView({ root, parent: root });
    createEffect(() =>
      view.setState(
        EditorState.create({
          doc: props.text,
          extensions: [
            EditorState.readOnly.of(true),
            EditorView.editable.of(false),
            EditorView.contentAttributes.of({ "aria-label": props.label, tabindex: "0" }),
            lineNumbers(),
            EditorView.lineWrapping,
            LOOK,
            ...(props.isJson === true ? [json(), foldGutter(), syntaxHighlighting(COLOURS)] : []),
          ],
        }),
      ),
    );
    onCleanup(() => view.destroy());
  });
  return <div class={styles.codeView} ref={(element) => (place = element)} />;
}
