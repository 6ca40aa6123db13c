import Check from "lucide-solid/icons/check";
import Copy from "lucide-solid/icons/copy";
import X from "lucide-solid/icons/x";
import { createSignal, Match, onCleanup, Show, Switch } from "solid-js";
import { copyText } from "./clipboard.ts";
import styles from "./ui.module.css";

/** How long a button shows that it has copied, or that it could not. */
const SHOWN_MS = { copied: 1_500, failed: 6_000 } as const;

/** Copies `text`. `what` is read out: "Copy request id". Where the browser refuses, words beside it say so. */
export function CopyButton(props: { readonly text: string; readonly what: string }) {
  const [ended, setEnded] = createSignal<"copied" | "failed">();
  let timer: ReturnType<typeof setTimeout> | undefined;
  onCleanup(() => clearTimeout(timer));
  const end = (how: "copied" | "failed"): void => {
    setEnded(how);
    clearTimeout(timer);
    timer = setTimeout(() => setEnded(), SHOWN_MS[how]);
  };
  const copy = (): Promise<void> =>
    copyText(props.text).then(
      () => end("copied"),
      () => end("failed"),
    );
  return (
    <>
      <button
        type="button"
        class={styles.copy}
        data-ended={ended()}
        aria-label={ended() === "copied" ? "Copied" : `Copy ${props.what}`}
        title={`Copy ${props.what}`}
        onClick={() => void copy()}
      >
        <Switch fallback={<Copy size={14} />}>
          <Match when={ended() === "copied"}>
            <Check size={14} />
          </Match>
          <Match when={ended() === "failed"}>
            <X size={14} />
          </Match>
        </Switch>
      </button>
      <Show when={ended() === "failed"}>
        <span class={styles.fault} role="alert">
          Not copied: select the text and copy it by hand.
        </span>
      </Show>
    </>
  );
}

/** An id in the monospace face, with a button that copies it. */
export function CopyableId(props: { readonly id: string; readonly what: string }) {
  return (
    <span class={styles.copyable}>
      <code>{props.id}</code>
      <CopyButton text={props.id} what={props.what} />
    </span>
  );
}
