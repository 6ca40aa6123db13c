import { useRouter } from "@tanstack/solid-router";
import type { JSX } from "solid-js";

interface RowLinkProps {
  readonly to:
    | "/requests/$id"
    | "/tasks/$id"
    | "/accounts/$id"
    | "/keys/$id"
    | "/models/$id"
    | "/accounts"
    | "/tasks";
  /** What stands for `$id`. */
  readonly id?: string;
  readonly search?: Readonly<Record<string, string>>;
  readonly class?: string | undefined;
  readonly title?: string;
  readonly children: JSX.Element;
}

/**
 * Leads from a row of a table to a page about it. The router's own link also watches where the reader is, to say whether
 * it leads there. That took half of the time in which the browser draws a long table, and no row shows it.
 */
export function RowLink(props: RowLinkProps) {
  const router = useRouter();
  const target = () => ({ to: props.to, params: { id: props.id ?? "" }, search: props.search ?? {} });
  const href = (): string =>
    router.basepath +
    props.to.replace("$id", encodeURIComponent(props.id ?? "")) +
    router.options.stringifySearch(props.search ?? {});
  const open = (event: MouseEvent): void => {
    const isForBrowser = event.ctrlKey || event.metaKey || event.shiftKey || event.altKey;
    if (event.button !== 0 || isForBrowser || event.defaultPrevented) return;
    event.preventDefault();
    void router.navigate(target());
  };
  return (
    <a
      href={href()}
      class={props.class}
      title={props.title}
      onClick={open}
      onPointerOver={() => void router.preloadRoute(target())}
    >
      {props.children}
    </a>
  );
}
