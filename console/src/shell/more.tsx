import { Dialog } from "@kobalte/core/dialog";
import { useLocation } from "@tanstack/solid-router";
import Ellipsis from "lucide-solid/icons/ellipsis";
import { createSignal, For } from "solid-js";
import { classes } from "../design/classes.ts";
import { OverlayPortal } from "../design/dialog.tsx";
import ui from "../design/ui.module.css";
import { PlaceLink } from "./place-link.tsx";
import type { Place } from "./places.ts";
import styles from "./shell.module.css";

/** The places that a phone's bar has no room for, in a sheet above it. */
export function More(props: { readonly places: readonly Place[] }) {
  const [isOpen, setOpen] = createSignal(false);
  const location = useLocation();
  const isHere = (): boolean => props.places.some(({ to }) => location().pathname.includes(to));
  return (
    <Dialog open={isOpen()} onOpenChange={setOpen}>
      <Dialog.Trigger
        class={classes(styles.place, styles.more)}
        data-status={isHere() ? "active" : undefined}
      >
        <Ellipsis size={16} aria-hidden="true" />
        <span>More</span>
      </Dialog.Trigger>
      <OverlayPortal>
        <Dialog.Overlay class={ui.overlay} />
        <Dialog.Content class={styles.sheet} aria-label="More places">
          <For each={props.places}>
            {(place) => <PlaceLink place={place} class={styles.place} onClick={() => setOpen(false)} />}
          </For>
        </Dialog.Content>
      </OverlayPortal>
    </Dialog>
  );
}
