import Check from "lucide-solid/icons/check";
import Copy from "lucide-solid/icons/copy";
import { createSignal, Show } from "solid-js";
import styles from "./ui.module.css";

/** How long a button shows that it has copied. */
const SHOWN_MS = 1_500;

/** Copies `text`. `what` is read out: "Copy request id". */
export function CopyButton(props: { readonly text: string; readonly what: string }) {
  const [isCopied, setCopied] = createSignal(false);
  const copy = async (): Promise<void> => {
    await navigator.clipboard.writeText(props.text);
    setCopied(true);
    setTimeout(() => setCopied(false), SHOWN_MS);
  };
  return (
    <button
      type="button"
      class={styles.copy}
      aria-label={isCopied() ? "Copied" : `Copy ${props.what}`}
      title={`Copy ${props.what}`}
      onClick={() => void copy()}
    >
      <Show when={isCopied()} fallback={<Copy size={14} />}>
        <Check size={14} />
      </Show>
    </button>
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
