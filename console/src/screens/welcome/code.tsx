import { CopyButton } from "../../design/copy.tsx";
import styles from "./welcome.module.css";

/** Lines to copy. */
export function Code(props: { readonly text: string; readonly what: string }) {
  return (
    <div class={styles.code}>
      <pre tabindex="0" role="region" aria-label={props.what}>
        <code>{props.text}</code>
      </pre>
      <CopyButton text={props.text} what={props.what} />
    </div>
  );
}
