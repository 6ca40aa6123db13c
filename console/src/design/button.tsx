import { type ComponentProps, splitProps } from "solid-js";
import { classes } from "./classes.ts";
import styles from "./ui.module.css";

/** What a button looks like: the one action of a page, one that cannot be undone, or one that stands back. */
export type ButtonKind = "primary" | "danger" | "quiet";

/** A button; one with a `label` shows an icon alone, and the label is read out. */
export function Button(
  props: ComponentProps<"button"> & { readonly kind?: ButtonKind; readonly label?: string },
) {
  const [own, rest] = splitProps(props, ["kind", "label", "class"]);
  return (
    <button
      type="button"
      {...rest}
      aria-label={own.label}
      title={own.label}
      class={classes(buttonClass(own.kind), own.label !== undefined && styles.square, own.class)}
    />
  );
}

/** The class by which a link looks like a button. */
export function buttonClass(kind?: ButtonKind): string {
  return classes(styles.button, kind && styles[kind]);
}
