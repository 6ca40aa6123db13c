import { Link } from "@tanstack/solid-router";
import ui from "../../design/ui.module.css";
import styles from "./media.module.css";

/** The pages of the playground. */
export function PlaygroundTabs() {
  return (
    <nav class={ui.tabList} aria-label="Playground">
      <Tab to="/playground" name="Text" />
      <Tab to="/playground/images" name="Images" />
      <Tab to="/playground/videos" name="Videos" />
    </nav>
  );
}

function Tab(props: {
  readonly to: "/playground" | "/playground/images" | "/playground/videos";
  readonly name: string;
}) {
  return (
    <Link
      to={props.to}
      class={`${ui.tab} ${styles.tab}`}
      activeOptions={{ exact: true, includeSearch: false }}
      activeProps={{ "data-selected": "" }}
    >
      {props.name}
    </Link>
  );
}
