import { Dialog } from "@kobalte/core/dialog";
import { useNavigate } from "@tanstack/solid-router";
import { createEffect, createSignal, For, onCleanup, onMount, Show } from "solid-js";
import { OverlayPortal } from "../design/dialog.tsx";
import { returnFocus } from "../design/focus.ts";
import ui from "../design/ui.module.css";
import styles from "./shell.module.css";

/** Something that the palette leads to. */
export interface Command {
  readonly name: string;
  readonly hint: string;
  readonly to: string;
}

/** Finds pages and things by typing: opened by ⌘K or Ctrl K. Text that looks like an id leads to what has it. */
export function Palette(props: {
  readonly open: boolean;
  readonly onOpen: (open: boolean) => void;
  readonly commands: readonly Command[];
}) {
  const navigate = useNavigate();
  const [text, setText] = createSignal("");
  const [at, setAt] = createSignal(0);
  /** Whether it has led to a page. */
  let isLeft = false;
  const found = (): readonly Command[] => {
    const words = text().toLowerCase().split(/\s+/);
    const byName = props.commands.filter(({ name, hint }) =>
      words.every((word) => `${name} ${hint}`.toLowerCase().includes(word)),
    );
    return [...leadsOf(text().trim()), ...byName].slice(0, 20);
  };
  const open = (command: Command | undefined): void => {
    if (command === undefined) return;
    isLeft = true;
    props.onOpen(false);
    void navigate({ to: command.to });
  };
  const onKey = (event: KeyboardEvent): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) {
      event.preventDefault();
      setAt((before) => Math.max(0, Math.min(found().length - 1, before + step)));
    } else if (event.key === "Enter") open(found()[at()]);
  };
  const onShortcut = (event: KeyboardEvent): void => {
    if (event.key.toLowerCase() !== "k" || !(event.metaKey || event.ctrlKey)) return;
    event.preventDefault();
    props.onOpen(!props.open);
  };
  onMount(() => document.addEventListener("keydown", onShortcut));
  onCleanup(() => document.removeEventListener("keydown", onShortcut));
  const giveBack = returnFocus(
    () => props.open,
    () => isLeft,
  );
  createEffect(() => {
    if (props.open) {
      setText("");
      isLeft = false;
    }
    setAt(0);
  });
  return (
    <Dialog open={props.open} onOpenChange={props.onOpen}>
      <OverlayPortal>
        <Dialog.Overlay class={ui.overlay} />
        <div class={styles.palettePlace}>
          <Dialog.Content class={styles.palette} aria-label="Go to" onCloseAutoFocus={giveBack}>
            <input
              class={styles.paletteInput}
              role="combobox"
              aria-expanded="true"
              aria-controls="palette-list"
              aria-activedescendant={`palette-${at()}`}
              aria-label="Go to a page, a model, or an id"
              placeholder="Go to a page, a model, or an id"
              value={text()}
              onInput={(event) => {
                setText(event.currentTarget.value);
                setAt(0);
              }}
              onKeyDown={onKey}
            />
            <div id="palette-list" class={styles.paletteList} role="listbox" aria-label="Places">
              <For each={found()}>
                {(command, i) => (
                  <button
                    type="button"
                    id={`palette-${i()}`}
                    class={styles.paletteItem}
                    role="option"
                    tabindex="-1"
                    aria-selected={i() === at()}
                    onClick={() => open(command)}
                  >
                    <span>{command.name}</span>
                    <span class={ui.soft}>{command.hint}</span>
                  </button>
                )}
              </For>
            </div>
            <Show when={found().length === 0}>
              <p class={styles.paletteNone} role="status">
                No page, model or id is called that.
              </p>
            </Show>
          </Dialog.Content>
        </div>
      </OverlayPortal>
    </Dialog>
  );
}

/** Pages of what an id names, by the prefix that ids of its kind have. */
const ID_PAGES = [
  { prefix: "req_", name: "Request", page: "/requests/" },
  { prefix: "img_", name: "Task", page: "/tasks/" },
  { prefix: "vid_", name: "Task", page: "/tasks/" },
  { prefix: "acct_", name: "Account", page: "/accounts/" },
  { prefix: "key_", name: "Key", page: "/keys/" },
] as const;

function leadsOf(text: string): readonly Command[] {
  return ID_PAGES.filter(({ prefix }) => text.startsWith(prefix)).map(({ name, page }) => ({
    name: `${name} ${text}`,
    hint: "by its id",
    to: `${page}${text}`,
  }));
}
