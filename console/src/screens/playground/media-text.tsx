import { createMemo, createSignal, lazy, Show, Suspense } from "solid-js";
import { CopyButton } from "../../design/copy.tsx";
import { Skeleton } from "../../design/states.tsx";
import { readable } from "./media-job.ts";
import styles from "./media.module.css";

const CodeView = lazy(async () => ({ default: (await import("../../design/code-view.tsx")).CodeView }));

/**
 * A text to unfold and to copy. JSON is laid out, and its longest texts are shortened: the copy has them whole. The text is
 * drawn once it is unfolded.
 */
export function MediaText(props: {
  readonly title: string;
  readonly text: string;
  /** What stands on the page where that is not the text itself, laid out. */
  readonly shown?: string;
}) {
  const [isShown, setShown] = createSignal(false);
  const shown = createMemo(() => (isShown() ? (props.shown ?? readable(props.text)) : ""));
  return (
    <div class={styles.rawPart}>
      <details onToggle={(event) => setShown(event.currentTarget.open)}>
        <summary>{props.title}</summary>
        <Show when={isShown()}>
          <Suspense fallback={<Skeleton lines={4} />}>
            <CodeView text={shown()} label={props.title} isJson={props.shown === undefined} />
          </Suspense>
        </Show>
      </details>
      <CopyButton text={props.text} what={props.title} />
    </div>
  );
}
