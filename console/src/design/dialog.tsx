import { Dialog as Primitive } from "@kobalte/core/dialog";
import X from "lucide-solid/icons/x";
import { createContext, type JSX, useContext } from "solid-js";
import { Button } from "./button.tsx";
import { classes } from "./classes.ts";
import { beginAtField, returnFocus } from "./focus.ts";
import styles from "./ui.module.css";

const OverlayPlace = createContext<() => HTMLElement>(() => document.body);

/** Draws the overlays of its children in its own element, so that they come and go with the pages. */
export function Overlays(props: { readonly children: JSX.Element }) {
  const place = document.createElement("div");
  return (
    <OverlayPlace.Provider value={() => place}>
      {props.children}
      {place}
    </OverlayPlace.Provider>
  );
}

/** Draws what is over the page among the overlays. */
export function OverlayPortal(props: { readonly children: JSX.Element }) {
  const place = useContext(OverlayPlace);
  return <Primitive.Portal mount={place()}>{props.children}</Primitive.Portal>;
}

/** A dialog over the page. It closes by Escape, by its button and by a click beside it. */
export function Dialog(props: {
  readonly title: string;
  readonly open: boolean;
  readonly onClose: () => void;
  /** For code and tables. */
  readonly isWide?: boolean;
  readonly children: JSX.Element;
}) {
  const giveBack = returnFocus(() => props.open);
  return (
    <Primitive open={props.open} onOpenChange={(open) => !open && props.onClose()}>
      <OverlayPortal>
        <Primitive.Overlay class={styles.overlay} />
        <div class={styles.dialogPlace}>
          <Primitive.Content
            class={classes(styles.dialog, props.isWide === true && styles.wideDialog)}
            onOpenAutoFocus={beginAtField}
            onCloseAutoFocus={giveBack}
          >
            <header class={styles.dialogHead}>
              <Primitive.Title as="h2">{props.title}</Primitive.Title>
              <Button kind="quiet" label="Close" onClick={() => props.onClose()}>
                <X size={16} />
              </Button>
            </header>
            <div class={styles.dialogBody}>{props.children}</div>
          </Primitive.Content>
        </div>
      </OverlayPortal>
    </Primitive>
  );
}

/** The actions at the end of a dialog. */
export function DialogActions(props: { readonly children: JSX.Element }) {
  return <div class={styles.dialogFoot}>{props.children}</div>;
}
