import { createMemo, createSignal, For, lazy, Show, Suspense } from "solid-js";
import { useQuery } from "../../api/query.ts";
import { sessionQuery } from "../../api/session.ts";
import { CopyButton } from "../../design/copy.tsx";
import { Dialog } from "../../design/dialog.tsx";
import { SelectField } from "../../design/field.tsx";
import { Skeleton } from "../../design/states.tsx";
import { Tabs } from "../../design/tabs.tsx";
import ui from "../../design/ui.module.css";
import { callOf, type FormatId, FORMATS, type Tongue } from "./code.ts";
import { shortened } from "./conversation.ts";
import type { Run } from "./lane.ts";
import styles from "./playground.module.css";

const CodeView = lazy(async () => ({ default: (await import("../../design/code-view.tsx")).CodeView }));

const TABS = [
  { value: "code", name: "Call it" },
  { value: "request", name: "Request" },
  { value: "response", name: "Response" },
];
const TONGUES = [
  ["curl", "curl"],
  ["typescript", "TypeScript"],
  ["python", "Python"],
] as const;

/** What went over the wire, and the same call from elsewhere. */
export function CallDialog(props: { readonly run: Run; readonly onClose: () => void }) {
  const [tab, setTab] = createSignal("code");
  return (
    <Dialog title="Request, response and code" open isWide onClose={() => props.onClose()}>
      <Tabs label="Parts" tabs={TABS} value={tab()} onChange={setTab}>
        <Show when={tab() === "code"}>
          <Code run={props.run} />
        </Show>
        <Show when={tab() === "request"}>
          <Wire
            what="request"
            text={JSON.stringify(props.run.request, null, 2)}
            shown={JSON.stringify(shortened(props.run.request), null, 2)}
            isJson
          />
        </Show>
        <Show when={tab() === "response"}>
          <Show when={props.run.raw !== ""} fallback={<p class={ui.soft}>No event of the answer arrived.</p>}>
            <Wire what="response" text={props.run.raw} shown={props.run.raw} />
          </Show>
        </Show>
      </Tabs>
    </Dialog>
  );
}

function Wire(props: {
  readonly what: string;
  readonly text: string;
  readonly shown: string;
  readonly isJson?: boolean;
}) {
  return (
    <div class={styles.wire}>
      <Suspense fallback={<Skeleton lines={8} />}>
        <CodeView text={props.shown} label={`Raw ${props.what}`} isJson={props.isJson === true} />
      </Suspense>
      <CopyButton text={props.text} what={props.what} />
    </div>
  );
}

function Code(props: { readonly run: Run }) {
  const session = useQuery(() => sessionQuery);
  const [format, setFormat] = createSignal<FormatId>("chat");
  const [tongue, setTongue] = createSignal<Tongue>("curl");
  const url = (): string => session.data?.public_url ?? location.origin;
  const call = createMemo(() => callOf(format(), tongue(), url(), props.run.request));
  const shown = createMemo(
    () => callOf(format(), tongue(), url(), shortened(props.run.request) as Run["request"]).code,
  );
  return (
    <>
      <div class={styles.pickers}>
        <SelectField
          label="Format"
          value={format()}
          onChange={(event) => setFormat(event.currentTarget.value as FormatId)}
        >
          <For each={FORMATS}>{({ id, name }) => <option value={id}>{name}</option>}</For>
        </SelectField>
        <SelectField
          label="Written in"
          value={tongue()}
          onChange={(event) => setTongue(event.currentTarget.value as Tongue)}
        >
          <For each={TONGUES}>{([id, name]) => <option value={id}>{name}</option>}</For>
        </SelectField>
      </div>
      <Show when={call().leftOut.length > 0}>
        <p class={ui.hint}>
          Left out, as the format has no such parameter: <code>{call().leftOut.join(", ")}</code>
        </p>
      </Show>
      <Show when={call().install}>
        {(install) => (
          <span class={ui.copyable}>
            <code>{install()}</code>
            <CopyButton text={install()} what="command" />
          </span>
        )}
      </Show>
      <div class={styles.wire}>
        <pre class={styles.program} tabindex="0" role="region" aria-label="The call">
          <code>{shown()}</code>
        </pre>
        <CopyButton text={call().code} what="call" />
      </div>
    </>
  );
}
