import Paperclip from "lucide-solid/icons/paperclip";
import X from "lucide-solid/icons/x";
import { createSignal, For, Show } from "solid-js";
import { Button } from "../../design/button.tsx";
import ui from "../../design/ui.module.css";
import { attach } from "./attachments.ts";
import { type Attachment, type Message, userMessage } from "./conversation.ts";
import styles from "./playground.module.css";

/** Where the reader writes: a text and files that go along, sent by Enter. */
export function Composer(props: {
  readonly isRunning: boolean;
  /** Whether the reader first has to choose something above. */
  readonly isHeld: boolean;
  /** Why nothing can be sent; absent: it can. */
  readonly blocked: string | undefined;
  readonly onSend: (message: Message) => void;
  readonly onStop: () => void;
}) {
  const [text, setText] = createSignal("");
  const [files, setFiles] = createSignal<readonly Attachment[]>([]);
  const [faults, setFaults] = createSignal<readonly string[]>([]);
  const [isOver, setOver] = createSignal(false);
  const canSend = (): boolean =>
    props.blocked === undefined && !props.isRunning && (text().trim() !== "" || files().length > 0);
  const submit = (): void => {
    if (!canSend()) return;
    props.onSend(userMessage(text(), files()));
    setText("");
    setFiles([]);
    setFaults([]);
  };
  const add = async (list: FileList | undefined | null): Promise<void> => {
    const read = await Promise.allSettled([...(list ?? [])].map(attach));
    setFiles((before) => [
      ...before,
      ...read.flatMap((each) => (each.status === "fulfilled" ? [each.value] : [])),
    ]);
    setFaults(read.flatMap((each) => (each.status === "rejected" ? [(each.reason as Error).message] : [])));
  };
  let picker: HTMLInputElement | undefined;
  return (
    <form
      class={styles.composer}
      data-over={isOver()}
      data-held={props.isHeld}
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setOver(false);
        void add(event.dataTransfer?.files);
      }}
    >
      <Show when={files().length > 0}>
        <ul class={styles.files} aria-label="Files that go along">
          <For each={files()}>
            {(file) => (
              <li class={styles.file}>
                {file.name}
                <button
                  type="button"
                  class={ui.copy}
                  aria-label={`Remove ${file.name}`}
                  onClick={() => setFiles((before) => before.filter((each) => each !== file))}
                >
                  <X size={14} />
                </button>
              </li>
            )}
          </For>
        </ul>
      </Show>
      <For each={faults()}>
        {(fault) => (
          <p class={ui.fault} role="alert">
            {fault}
          </p>
        )}
      </For>
      <textarea
        class={styles.say}
        aria-label="Message"
        placeholder="Say something. Enter sends, Shift+Enter begins a line."
        rows={2}
        value={text()}
        onInput={(event) => setText(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
          event.preventDefault();
          submit();
        }}
        onPaste={(event) => {
          if ((event.clipboardData?.files.length ?? 0) === 0) return;
          event.preventDefault();
          void add(event.clipboardData?.files);
        }}
      />
      <div class={styles.sendRow}>
        <Button kind="quiet" label="Attach files" onClick={() => picker?.click()}>
          <Paperclip size={16} />
        </Button>
        <input
          ref={(element) => (picker = element)}
          type="file"
          multiple
          hidden
          aria-label="Files"
          onChange={(event) => {
            void add(event.currentTarget.files);
            event.currentTarget.value = "";
          }}
        />
        <span class={ui.hint}>{props.blocked ?? "Images, PDFs and texts can be dropped here."}</span>
        <Show
          when={props.isRunning}
          fallback={
            <Button kind="primary" type="submit" disabled={!canSend()}>
              Send
            </Button>
          }
        >
          <Button onClick={() => props.onStop()}>Stop</Button>
        </Show>
      </div>
    </form>
  );
}
