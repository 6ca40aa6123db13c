import { Link } from "@tanstack/solid-router";
import { Dynamic } from "solid-js/web";
import type { Place } from "./places.ts";

/** A link to a place. The range of time goes along from page to page, and filters do not. */
export function PlaceLink(props: {
  readonly place: Place;
  readonly class: string | undefined;
  readonly onClick?: () => void;
}) {
  return (
    <Link
      to={props.place.to}
      class={props.class ?? ""}
      title={props.place.name}
      search={({ range, from, to }: Record<string, unknown>) => ({ range, from, to }) as object}
      onClick={() => props.onClick?.()}
    >
      <Dynamic component={props.place.icon} size={16} aria-hidden="true" />
      <span>{props.place.name}</span>
    </Link>
  );
}
