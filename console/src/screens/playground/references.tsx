import Upload from "lucide-solid/icons/upload";
import X from "lucide-solid/icons/x";
import { createSignal, createUniqueId, For, Show } from "solid-js";
import { Button, buttonClass } from "../../design/button.tsx";
import { TextField } from "../../design/field.tsx";
import ui from "../../design/ui.module.css";
import type { Reference, Slot } from "./media-job.ts";
import styles from "./media.module.css";

/** References of one kind: dropped, chosen, or given as links. */
export function ReferenceSlot(props: {
  readonly slot: Slot;
  readonly references: readonly Reference[];
  readonly onChange: (references: readonly Reference[]) => void;
  /** A link that is typed. */
  readonly link: string;
  readonly onLink: (link: string) => void;
}) {
  const id = createUniqueId();
  const [isOver, setOver] = createSignal(false);
  const [fault, setFault] = createSignal<string>();
  const slot = () => props.slot;
  const room = (): number => slot().most - props.references.length;

  const add = (more: readonly Reference[]): void => {
    const left = room();
    props.onChange([...props.references, ...more.slice(0, left)]);
    setFault(more.length > left ? `At most ${slot().most}. The others were left out.` : undefined);
  };
  const addFiles = async (files: readonly File[]): Promise<void> => {
    const fitting = files.filter(({ type }) => type.startsWith(`${slot().media}/`));
    if (fitting.length > 0) add(await Promise.all(fitting.map(readFile)));
    if (fitting.length < files.length) setFault(`This takes ${NAMES[slot().media]} files.`);
  };
  const addLink = (): void => {
    const value = props.link.trim();
    if (value === "") return;
    if (!/^https?:\/\/\S+$/.test(value)) return void setFault("A link begins with https:// or http://.");
    add([{ value, name: value }]);
    props.onLink("");
  };
  const drop = (event: DragEvent): void => {
    event.preventDefault();
    setOver(false);
    const { files } = event.dataTransfer ?? { files: [] };
    if (!slot().takesFiles) return void setFault("The model takes links alone.");
    if (room() > 0) void addFiles([...files]);
  };
  return (
    <fieldset
      class={styles.slot}
      data-over={isOver() ? "" : undefined}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={drop}
    >
      <legend>
        {slot().title}
        {slot().isRequired ? " (required)" : ""}
        <span class={ui.soft}>
          {" "}
          {props.references.length} of {slot().most}
        </span>
      </legend>
      <Show when={props.references.length > 0}>
        <ul class={styles.references}>
          <For each={props.references}>
            {(reference) => (
              <li>
                <Thumbnail reference={reference} media={slot().media} />
                <span class={styles.referenceName} title={reference.name}>
                  {reference.name}
                </span>
                <Button
                  kind="quiet"
                  label={`Remove ${reference.name}`}
                  onClick={() => props.onChange(props.references.filter((each) => each !== reference))}
                >
                  <X size={14} />
                </Button>
              </li>
            )}
          </For>
        </ul>
      </Show>
      <Show when={room() > 0}>
        <Show when={slot().takesFiles}>
          <div class={styles.drop}>
            <label class={buttonClass()} for={id}>
              <Upload size={14} aria-hidden="true" /> Choose {slot().most > 1 ? "files" : "a file"}
            </label>
            <input
              id={id}
              class="visually-hidden"
              type="file"
              accept={`${slot().media}/*`}
              multiple={slot().most > 1}
              onChange={(event) => {
                void addFiles([...(event.currentTarget.files ?? [])]);
                event.currentTarget.value = "";
              }}
            />
            <span class={ui.hint}>or drop {slot().most > 1 ? "them" : "it"} here</span>
          </div>
        </Show>
        <div class={styles.link}>
          <TextField
            label={slot().takesFiles ? "Or a link" : "A link"}
            placeholder="https://"
            type="url"
            value={props.link}
            onInput={(event) => props.onLink(event.currentTarget.value)}
            onKeyDown={(event) => {
              if (event.key !== "Enter") return;
              event.preventDefault();
              addLink();
            }}
          />
          <Button onClick={addLink} disabled={props.link.trim() === ""}>
            Add
          </Button>
        </div>
      </Show>
      <Show when={fault() ?? slot().hint}>
        {(note) => (
          <p
            class={fault() === undefined ? ui.hint : ui.fault}
            role={fault() === undefined ? undefined : "alert"}
          >
            {note()}
          </p>
        )}
      </Show>
    </fieldset>
  );
}

const NAMES = { image: "image", audio: "audio", video: "video" } as const;

/** A picture of what stands within the request. The policy of the pages loads none from elsewhere. */
function Thumbnail(props: { readonly reference: Reference; readonly media: Slot["media"] }) {
  return (
    <Show
      when={props.media === "image" && props.reference.value.startsWith("data:")}
      fallback={<span class={styles.noThumbnail} aria-hidden="true" />}
    >
      <img class={styles.thumbnail} src={props.reference.value} alt="" />
    </Show>
  );
}

function readFile(file: File): Promise<Reference> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.addEventListener("load", () => resolve({ value: reader.result as string, name: file.name }));
    reader.addEventListener("error", () => reject(reader.error ?? new Error("The file could not be read.")));
    reader.readAsDataURL(file);
  });
}
